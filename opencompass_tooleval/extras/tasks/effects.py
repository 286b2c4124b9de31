"""Makes the gold of a task from the effects that its owner lists. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.extras.tasks.differences import GONE, MAX_ITEMS, changes, read_difference
from opencompass_tooleval.extras.tasks.gold import Gold, fitting_items
from opencompass_tooleval.extras.tasks.leaves import ANYTHING, MEANT, holds, key_of, leaves, means
from opencompass_tooleval.extras.tasks.state import ANY, Items, State

TARGETS = ('table', 'file', 'at', 'part')
ACTIONS: Mapping[str, Any] = {
    'insert': dict | str, 'delete': dict | str, 'where': dict, 'set': dict | list | str, 'unset': list,
    'add': list, 'remove': list, 'text': list | str, 'is': str, 'same_as': str,
}  # fmt: skip
"""Action of an effect -> the type of its value."""
KINDS: Mapping[str, Any] = {**dict.fromkeys(TARGETS, str), **ACTIONS, 'free': tuple}
_SHOWN = 160


def effects_gold(effects: Iterable[Mapping[str, Any]], start: State) -> Gold:
    """Makes the gold of effects: the differences that they make to a state, with scalars as texts.

    Raises:
        ValueError: An effect names something that the state does not have, or its keys do not go together.
    """
    applied = _AppliedEffects(start)
    for effect in effects:
        applied.apply(effect)
    return applied.gold()


@dataclass
class _Row:
    """A row or line at the end: a new one, or one from the start with changed columns.

    Attributes:
        item: The row at the start; None if it is new.
        like: Column -> wanted value as text, or the whole wanted value; None if nothing changes.
        free: Columns that may have any value.
    """

    item: Any
    like: Any = None
    free: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        return self.like is not None or bool(self.free)

    @property
    def wanted(self) -> Any:
        """The row with the wanted values, which are texts."""
        if isinstance(self.like, Mapping):
            return {**(self.item or {}), **self.like}
        return self.item if self.like is None else self.like

    @property
    def free_leaves(self) -> dict[str, Any]:
        """Leaf -> in what way it may differ."""
        words = {} if self.like is None else dict.fromkeys(leaves(self.like), MEANT)
        return words | dict.fromkeys(self.free, ANYTHING)


class _AppliedEffects:
    """Applies the effects of a task to the state at the start."""

    def __init__(self, start: State) -> None:
        self._start = start
        self._after: State = dict(start)  # without the rows and values in the next two
        self._rows: dict[str, list[_Row]] = {}
        self._values: Gold = {}
        self._in_order: set[str] = set()

    def apply(self, effect: Mapping[str, Any]) -> None:
        """Applies an effect.

        Raises:
            ValueError: The effect names something that the state does not have, or its keys do not go together.
        """
        part, file = self._part(effect)
        given = [action for action in ACTIONS if action in effect]
        free = tuple(effect.get('free', ()))
        if given == ['is']:
            if effect['is'] != GONE:
                raise ValueError(f'is: {effect["is"]}; it is {GONE}. What is new is given by a solution, and by free')
            name = part.replace(':', ':table ', 1) if 'table' in effect else file or part
            below = (f'{name}:', f'{name.rstrip("/")}/')
            self._remove(name, [one for one in self._after if one in (name, part) or one.startswith(below)])
        elif given == ['same_as']:
            self._copy(effect['same_as'], file or part)
        elif given == ['insert']:
            self._rows_of(part).append(self._new_row(part, effect['insert'], free))
        elif given == ['delete']:
            gone = {id(row) for row in self._matching(part, effect['delete'])}
            self._rows[part] = [row for row in self._rows[part] if id(row) not in gone]
        elif given == ['where', 'set'] and isinstance(effect['set'], Mapping):
            for row in self._matching(part, effect['where']):
                if unknown := [name for name in effect['set'] if name not in row.wanted]:
                    self._check_column(part, unknown[0])
                row.like, row.free = {**(row.like or {}), **effect['set']}, (*row.free, *free)
        elif given == ['set'] and file and isinstance(effect['set'], Mapping):
            for path, value in effect['set'].items():
                self._value(f'{file}:{path}', value)
        elif given == ['set'] and not file:
            self._value(part, effect['set'])
        elif given == ['unset'] and file:
            for path in effect['unset']:
                names = [one for one in self._after if f'{one}.'.startswith(f'{file}:{path}.')]
                self._remove(f'{file}:{path}', names)
        elif given == ['text']:
            text = effect['text']
            lines = list(text) if isinstance(text, list) else text.splitlines()
            self._after |= {file: 'text'} | {part: Items(lines, not file.endswith('.env'))}
        elif given and set(given) <= {'add', 'remove'}:
            rows = self._rows_of(part)
            for value in effect.get('remove', ()):
                rows.remove(self._matching(part, value)[0])
            rows += [_Row(None, value) for value in effect.get('add', ())]
        else:
            raise ValueError(f'an effect has one of {", ".join(ACTIONS)}, not {" and ".join(given) or "none"}')
        if file and file not in self._start and given != ['is']:
            self._create(file)

    def _part(self, effect: Mapping[str, Any]) -> tuple[str, str]:
        """Returns the names of an effect's part and file; the file is ``''`` for a table or a named part."""
        if 'part' in effect:
            return str(effect['part']), ''
        file = str(effect.get('file', ''))
        if 'table' in effect:
            files = [file] if file else [name for name, kind in self._start.items() if kind in ('database', 'workbook')]
            if len(files) > 1:
                files = [one for one in files if f'{one}:{effect["table"]}' in self._start]
            if len(files) != 1:
                raise ValueError(f'the table {effect["table"]} is in {len(files)} files: name its file')
            part = f'{files[0]}:{effect["table"]}'
            if part not in self._start:
                raise ValueError(f'{files[0]} has no table {effect["table"]}; a new one is given by a solution')
            return part, ''
        if not file:
            raise ValueError(f'an effect names one of {", ".join(TARGETS)}')
        return f'{file}:{effect.get("at", "")}', file

    def _items(self, state: State, part: str) -> Sequence[Any]:
        items = state.get(part)
        return items.items if isinstance(items, Items) else []

    def _rows_of(self, part: str) -> list[_Row]:
        return self._rows.setdefault(part, [_Row(item) for item in self._items(self._after, part)])

    def _fills(self, part: str) -> Mapping[str, Any] | None:
        before = self._start.get(part)
        return before.fills if isinstance(before, Items) else None

    def _matching(self, part: str, where: Any) -> list[_Row]:
        rows = self._rows_of(part)
        if isinstance(where, Mapping):
            for name in where:
                self._check_column(part, name)
            found = [row for row in rows if isinstance(row.wanted, dict) and holds(where, row.wanted)]
        else:
            found = [row for row in rows if row.item is not None and means(where, row.item)]
        if not found:
            raise ValueError(f'{part} has no row or line {shorten(str(where), _SHOWN)}')
        return found

    def _check_column(self, part: str, name: str) -> None:
        fills = self._fills(part)
        if fills is not None and name not in fills:
            raise ValueError(f'{part} has no column {name}; it has {first_of(list(fills))}')

    def _new_row(self, part: str, given: Any, free: tuple[str, ...]) -> _Row:
        if not isinstance(given, Mapping):
            return _Row(None, given)
        for name in given:
            self._check_column(part, name)
        fills = self._fills(part) or {}
        defaults = {name: 'null' if value is None else str(value) for name, value in fills.items() if value != ANY}
        like = {name: value for name, value in {**defaults, **given}.items() if name not in free}
        return _Row(None, like, (*free, *(name for name, value in fills.items() if value == ANY and name not in given)))

    def _value(self, part: str, value: Any) -> None:
        if isinstance(value, Mapping) and value:
            for name, one in value.items():
                self._value(f'{part}.{name}' if not part.endswith(':') else f'{part}{name}', one)
        elif isinstance(value, list):
            self._rows[part] = [_Row(None, one) for one in value]
            self._in_order.add(part)
        elif part not in self._start or not means(value, self._start[part]):
            self._values[part] = {'to': value, 'free': MEANT}

    def _remove(self, name: str, parts: Sequence[str]) -> None:
        if not parts:
            raise ValueError(f'{name} is not there at the start')
        for part in parts:
            del self._after[part]

    def _copy(self, source: str, target: str) -> None:
        if source not in self._start:
            raise ValueError(f'{source} is not there at the start')
        parts = [name for name in self._start if name == source or name.startswith(f'{source}:')]
        self._after |= {target + name.removeprefix(source): self._start[name] for name in parts}

    def _create(self, file: str) -> None:
        if file not in self._after:
            self._values[file] = {'to': 'text', 'free': ANYTHING}
        for parent in PurePosixPath(file).parents:
            if str(parent) != '.':
                self._after.setdefault(f'{parent}/', 'folder')

    def gold(self) -> Gold:
        """Returns part -> wanted difference.

        Raises:
            ValueError: Too many rows change.
        """
        made = {name: read_difference(text) for name, text in changes(self._start, self._after).items()}
        rows = {part: self._difference(part, rows) for part, rows in self._rows.items()}
        made = {name: difference for name, difference in made.items() if name not in rows}
        return {**made, **self._values, **{part: found for part, found in rows.items() if found}}

    def _difference(self, part: str, rows: Sequence[_Row]) -> dict[str, Any]:
        same = Counter(key_of(row.item) for row in rows if not row.is_changed)
        left = [item for item in self._items(self._start, part) if not _use(same, item)]
        changed = [row for row in rows if row.is_changed or _use(same, row.item)]
        if max(len(left), len(changed)) > MAX_ITEMS:
            raise ValueError(f'the effects on {part} change more than {MAX_ITEMS:,} rows')
        places: dict[int, int] = {}  # a wanted row that is there at the start is no change
        may_stay = [number for number, row in enumerate(changed) if row.item is None or not row.free]
        for place, group in enumerate(fitting_items(part, [(row.wanted, row.free_leaves) for row in changed], left)):
            if fitting := [number for number in may_stay if number in group and number not in places.values()]:
                places[place] = fitting[0]
        removed = [item for place, item in enumerate(left) if place not in places]
        added = [row for number, row in enumerate(changed) if number not in places.values()]
        if not removed and not added:
            return {}
        found = {'removed': removed, 'added': [row.wanted for row in added], 'free': [row.free_leaves for row in added]}
        return found | ({'in_order': True} if part in self._in_order else {})


def _use(counts: Counter[str], item: Any) -> bool:
    """Uses up one of the counted items; returns False if none is left."""
    key = key_of(item)
    counts[key] -= 1
    return counts[key] >= 0
