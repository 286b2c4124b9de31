"""Computes the differences of two states, and compares them with the differences that a task wants. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

from rapidfuzz.distance import LCSseq

from opencompass_tooleval.agents.scoring.matching import largest_matching
from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.extras.tasks.leaves import key_of
from opencompass_tooleval.extras.tasks.state import ANY, Items, State

NEW, GONE, CHANGED = 'new', 'gone', 'changed'
TARGETS = ('table', 'file', 'at', 'part')
ACTIONS: Mapping[str, Any] = {
    'insert': dict | str, 'delete': dict | str, 'where': dict, 'set': dict | list | str, 'unset': list,
    'add': list, 'remove': list, 'text': list | str, 'is': str, 'same_as': str,
}  # fmt: skip
"""Action of an effect -> the type of its value."""
KINDS: Mapping[str, Any] = {**dict.fromkeys(TARGETS, str), **ACTIONS, 'free': tuple}

MAX_ITEMS = 2_000
"""Maximum number of rows or lines that differ; more are compared by a digest."""
_MAX_PARTS, _MAX_TEXT = 2_000, 4_000_000
_MAX_NUMBER = 40
_DECIMAL = re.compile(r'-?\d{1,30}(?:\.\d{1,30})?')
_SHOWN = 160
_BELOW = (':', '/')


def changes(before: State, after: State) -> dict[str, str]:
    """Returns the parts that differ -> their difference as JSON text.

    A difference has ``removed``, ``added`` and ``moved`` for items, ``to`` for a new value, ``gone`` for a removed one,
    ``is`` for new or removed empty items. Items with an order also have a digest of those that stay (``rest``) and,
    except for rows of CSV, the places of the added ones (``at``). If it is too large, it has the number of further
    changes as ``more``, and a ``digest`` of all items or of the difference.
    """
    found: dict[str, str] = {}
    left = _MAX_TEXT
    for name in dict.fromkeys([*before, *after]):
        difference = _difference(before.get(name, _MISSING), after.get(name, _MISSING))
        if difference:
            text = json.dumps(difference, ensure_ascii=False)
            left -= len(text)
            found[name] = text if left >= 0 else json.dumps({'more': len(text), 'digest': _digest(text)})
        if len(found) > _MAX_PARTS:
            return {'more parts than can be shown': json.dumps({'more': _MAX_PARTS})}
    return found


_MISSING = object()


def _difference(old: Any, new: Any) -> dict[str, Any]:
    listed = [one for one in (old, new) if isinstance(one, Items)]
    if listed and all(isinstance(one, Items) or one is _MISSING for one in (old, new)):
        items = [one.items if isinstance(one, Items) else [] for one in (old, new)]
        numbers = number_columns(old)
        before, after = ([key_of(with_numbers(item, numbers)) for item in one] for one in items)
        removed, added = Counter(before) - Counter(after), Counter(after) - Counter(before)
        is_ordered = listed[-1].is_ordered
        if (most := max(removed.total(), added.total())) > MAX_ITEMS:
            return {'more': most, 'digest': _digest(*(after if is_ordered else sorted(after)))}
        kept = len(before) - removed.total()
        moved = is_ordered and LCSseq.similarity(before, after, score_cutoff=kept) < kept
        is_changed = bool(removed or added or moved)  # before ``_taken`` uses up the counts
        gone, places = _taken(before, removed), _taken(after, added)
        difference: dict[str, Any] = {
            'removed': [items[0][place] for place in gone],
            'added': [items[1][place] for place in places],
        }
        if is_ordered:
            new_ones = {*places}
            rest = _digest(*(key for place, key in enumerate(after) if place not in new_ones))
            difference |= {'rest': rest} if listed[-1].fills else {'at': places, 'rest': rest}
        if is_changed:
            return difference | ({'moved': True} if moved else {})
        return {} if old is not _MISSING and new is not _MISSING else {'is': NEW if old is _MISSING else GONE}
    old, new = (one.items if isinstance(one, Items) else one for one in (old, new))
    if new is _MISSING:
        return {'gone': True}
    return {} if old is not _MISSING and key_of(old) == key_of(new) else {'to': new}


def number_columns(part: Any) -> tuple[str, ...]:
    """Returns the columns of a CSV whose values are all numbers, some with a point: ``2.50`` is 2.5 there."""
    if not isinstance(part, Items) or not part.is_ordered or not part.fills or not part.items:
        return ()
    columns = {column: [str(item.get(column, '')) for item in part.items] for column in part.fills}
    return tuple(
        column for column, texts in columns.items() if all(map(_DECIMAL.fullmatch, texts)) and '.' in ''.join(texts)
    )


def with_numbers(item: Any, columns: Sequence[str]) -> Any:
    """Converts the texts in some columns of a row to numbers."""
    if not columns or not isinstance(item, dict):
        return item
    return {
        name: float(value) if name in columns and _DECIMAL.fullmatch(str(value)) else value
        for name, value in item.items()
    }


def _digest(*texts: str) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for text in texts:
        digest.update(text.encode('utf-8', 'backslashreplace') + b'\n')
    return digest.hexdigest()


def _taken(keys: Sequence[str], counts: Counter[str]) -> list[int]:
    """Returns the places of each key, as often as counted, in order: its last ones. Uses up the counts."""
    taken = []
    for place in range(len(keys) - 1, -1, -1):
        if counts[keys[place]] > 0:
            counts[keys[place]] -= 1
            taken.append(place)
    return taken[::-1]


# --- wanted differences -----------------------------------------------------------------------------------------------


@dataclass
class _Row:
    """A wanted row at the end: a new one, or an item from the start with some changed values.

    Attributes:
        item: The item at the start; an empty object or None for a new row.
        like: Column -> wanted value as text, or the whole wanted value; None for an unchanged item.
        free: Columns that may have any value.
        origin: Index of the item at the start; None for a new row.
    """

    item: Any
    like: Any = None
    free: tuple[str, ...] = ()
    origin: int | None = None

    @property
    def shown(self) -> Any:
        """The row, with wanted values as texts."""
        if isinstance(self.item, dict):
            return {**self.item, **(self.like or {})}
        return self.item if self.like is None else self.like

    def pattern(self) -> dict[str, Any]:
        return {'item': self.item, 'like': self.like, 'free': list(self.free)}


@dataclass
class _AppliedEffects:
    """Applies the effects of a task to the state at the start."""

    start: State
    rows: dict[str, list[_Row]] = field(default_factory=dict)
    parts: dict[str, dict[str, Any]] = field(default_factory=dict)
    in_order: set[str] = field(default_factory=set)

    def rows_of(self, part: str) -> list[_Row]:
        if part not in self.rows:
            self.rows[part] = [_Row(item, origin=number) for number, item in enumerate(self._items(part))]
        return self.rows[part]

    def _items(self, part: str) -> Sequence[Any]:
        before = self.start.get(part)
        return before.items if isinstance(before, Items) else []

    def _fills(self, part: str) -> Mapping[str, Any] | None:
        before = self.start.get(part)
        return before.fills if isinstance(before, Items) else None

    def apply(self, effect: Mapping[str, Any]) -> None:
        """Applies an effect.

        Raises:
            ValueError: The effect names something that the state does not have, or its keys do not go together.
        """
        part, file = self._part(effect)
        given = [action for action in ACTIONS if action in effect]
        free = tuple(effect.get('free', ()))
        if given == ['is']:
            self._whole(part, file, effect)
        elif given == ['same_as']:
            self._copy(effect['same_as'], file or part)
        elif given == ['insert']:
            self.rows_of(part).append(self._new_row(part, effect['insert'], free))
        elif given == ['delete']:
            gone = {id(row) for row in self._matching(part, effect['delete'])}
            self.rows[part] = [row for row in self.rows[part] if id(row) not in gone]
        elif given == ['where', 'set'] and isinstance(effect['set'], Mapping):
            for row in self._matching(part, effect['where']):
                if unknown := [name for name in effect['set'] if name not in row.shown]:
                    self._check_column(part, unknown[0])
                row.like, row.free = {**(row.like or {}), **effect['set']}, (*row.free, *free)
        elif given == ['set'] and file and isinstance(effect['set'], Mapping):
            for path, value in effect['set'].items():
                self._value(f'{file}:{path}', value)
        elif given == ['set'] and not file:
            self._value(part, effect['set'])
        elif given == ['unset'] and file:
            for path in effect['unset']:
                names = [name for name in self.start if f'{name}.'.startswith(f'{file}:{path}.')]
                if not names:
                    raise ValueError(f'{file} has no value {path}')
                self.parts |= {name: {'gone': True} for name in names}
        elif given == ['text']:
            self._list(part, effect['text'] if isinstance(effect['text'], list) else effect['text'].splitlines())
        elif given and set(given) <= {'add', 'remove'}:
            rows = self.rows_of(part)
            for value in effect.get('remove', ()):
                rows.remove(self._matching(part, value)[0])
            rows += [_Row(None, value) for value in effect.get('add', ())]
        else:
            raise ValueError(f'an effect has one of {", ".join(ACTIONS)}, not {" and ".join(given) or "none"}')
        if file and given != ['is'] and file not in self.start:
            self._create(file)

    def _part(self, effect: Mapping[str, Any]) -> tuple[str, str]:
        """Returns the names of an effect's part and file; the file is ``''`` for a table or a named part."""
        if 'part' in effect:
            return str(effect['part']), ''
        file = str(effect.get('file', ''))
        if 'table' in effect:
            files = [file] if file else [name for name, kind in self.start.items() if kind in ('database', 'workbook')]
            if len(files) > 1:
                files = [one for one in files if f'{one}:{effect["table"]}' in self.start]
            if len(files) != 1:
                raise ValueError(f'the table {effect["table"]} is in {len(files)} files: name its file')
            part = f'{files[0]}:{effect["table"]}'
            if part not in self.start and effect.get('is') != NEW and part not in self.parts:
                raise ValueError(f'{files[0]} has no table {effect["table"]}; a new one begins with is: {NEW}')
            return part, ''
        if not file:
            raise ValueError(f'an effect names one of {", ".join(TARGETS)}')
        return f'{file}:{effect.get("at", "")}', file

    def _matching(self, part: str, where: Any) -> list[_Row]:
        rows = self.rows_of(part)
        if isinstance(where, Mapping):
            for name in where:
                self._check_column(part, name)
            found = [row for row in rows if isinstance(row.shown, dict) and holds(where, row.shown)]
        else:
            found = [row for row in rows if row.origin is not None and means(where, row.item)]
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
        return _Row({}, like, (*free, *(name for name, value in fills.items() if value == ANY and name not in given)))

    def _value(self, part: str, value: Any) -> None:
        if isinstance(value, Mapping) and value:
            for name, one in value.items():
                self._value(f'{part}.{name}' if not part.endswith(':') else f'{part}{name}', one)
        elif isinstance(value, list):
            self._list(part, value)
        elif part not in self.start or not means(value, self.start[part]):
            self.parts[part] = {'like': value}

    def _list(self, part: str, values: Sequence[Any]) -> None:
        self.rows[part] = [_Row({}, one) if isinstance(one, Mapping) else _Row(None, one) for one in values]
        self.in_order.add(part)

    def _whole(self, part: str, file: str, effect: Mapping[str, Any]) -> None:
        name, state = file or part, effect['is']
        if state not in (NEW, GONE, CHANGED):
            raise ValueError(f'is: {state}; it is one of {NEW}, {GONE}, {CHANGED}')
        if 'table' in effect:
            head, _, table = part.partition(':')
            name = f'{head}:table {table}'
            self.parts[part] = {'may': True}
        if f'{name}/' in self.start or name.endswith('/'):  # a folder
            name = name.rstrip('/')
            self.parts[f'{name}/'] = {'gone': True, 'below': True} if state == GONE else {'any': True}
            return
        if ((name in self.start) == (state == NEW)) and not ('*' in name and state == NEW):
            raise ValueError(f'{name} is {"there" if state == NEW else "not there"} at the start')
        self.parts[name] = {'gone': True, 'below': True} if state == GONE else {'any': True, 'below': True}
        if state == NEW and file:
            self._create(file, {'any': True, 'below': True})

    def _create(self, file: str, wanted: Mapping[str, Any] | None = None) -> None:
        self.parts[file] = dict(wanted or {'any': True})
        for parent in PurePosixPath(file).parents:
            if str(parent) != '.' and f'{parent}/' not in self.start:
                self.parts.setdefault(f'{parent}/', {'may': True})

    def _copy(self, source: str, file: str) -> None:
        if source not in self.start:
            raise ValueError(f'{source} is not there at the start')
        for name, part in self.start.items():
            if name == source or name.startswith(f'{source}:'):
                target = file + name.removeprefix(source)
                if isinstance(part, Items):
                    self.rows[target] = [_Row(item) for item in part.items]
                else:
                    self.parts[target] = {'to': part}

    def expected(self) -> dict[str, Any]:
        """Returns part -> wanted difference."""
        differences: dict[str, Any] = {}
        for part, rows in self.rows.items():
            items = self._items(part)
            kept = {row.origin for row in rows if row.origin is not None and row.like is None and not row.free}
            numbers = [number for number in range(len(items)) if number not in kept]
            left = {*numbers}
            if max(len(left), len(rows) - len(kept)) > MAX_ITEMS:
                raise ValueError(f'the effects on {part} change more than {MAX_ITEMS:,} rows')
            changed = [row for row in rows if row.origin is None or row.origin not in kept]
            patterns, added = [row.pattern() for row in changed], []
            fitting = _fitting(patterns, [items[number] for number in numbers])
            for row, pattern, places in zip(changed, patterns, fitting, strict=True):
                same = min(left & {numbers[place] for place in places}, default=None)
                if same is None or (row.origin is not None and row.free):
                    added.append(pattern)
                else:
                    left.discard(same)
            difference: dict[str, Any] = {'removed': [items[number] for number in sorted(left)], 'added': added}
            difference |= {'in_order': True} if part in self.in_order else {}
            if left or added:
                differences[part] = difference
            elif part not in self.start:
                differences[part] = {'may': True}
        others = {part: difference for part, difference in self.parts.items() if part not in differences}
        return {**others, **differences}


def expected_changes(effects: Iterable[Mapping[str, Any]], start: State) -> dict[str, Any]:
    """Returns the differences that effects make to a state, for :func:`wrong_changes`.

    Raises:
        ValueError: An effect names something that the state does not have, or its keys do not go together.
    """
    applied = _AppliedEffects(start)
    for effect in effects:
        applied.apply(effect)
    return applied.expected()


# --- comparison -------------------------------------------------------------------------------------------------------


def means(words: Any, value: Any) -> bool:
    """Tests if a value equals ``words``, whose scalars are all texts: ``42`` is the number 42 or the text 42."""
    if isinstance(words, Mapping):
        return isinstance(value, Mapping) and words.keys() == value.keys() and holds(words, value)
    if isinstance(words, list):
        return isinstance(value, list) and len(words) == len(value) and all(map(means, words, value))
    text = str(words)
    if value is None:
        return text in ('', 'null')
    if isinstance(value, bool):
        return text.lower() == str(value).lower() or text == str(int(value))
    if isinstance(value, int | float):
        one, other = _number(text), _number(str(value))
        return (
            one is not None
            and other is not None
            and (one == other or (isinstance(value, float) and _is_near(one, other)))
        )
    return text == str(value)


def _is_near(one: Fraction, other: Fraction) -> bool:
    return abs(one - other) * 10**9 <= max(abs(one), abs(other))


def _number(text: str) -> Fraction | None:
    try:
        return Fraction(text) if len(text) <= _MAX_NUMBER and '/' not in text and 'e' not in text.lower()[:-5] else None
    except (ValueError, ZeroDivisionError):
        return None


def holds(words: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Tests if an object has all values of ``words``; it may have others too."""
    return all(name in row and means(value, row[name]) for name, value in words.items())


def fits(pattern: Mapping[str, Any], item: Any) -> bool:
    """Tests if an item fits the pattern of a wanted row."""
    like, free, exact = pattern['like'], pattern['free'], pattern['item']
    if like is None and not free:
        return bool(key_of(exact) == key_of(item))
    if not isinstance(like, Mapping) and like is not None:
        return means(like, item)
    if not isinstance(item, Mapping):
        return False
    words, rest = like or {}, {name: value for name, value in (exact or {}).items() if name not in (like or {})}
    return (
        all(name in words or name in rest or name in free for name in item)
        and holds({name: value for name, value in words.items() if name not in free}, item)
        and all(name in free or (name in item and key_of(item[name]) == key_of(value)) for name, value in rest.items())
    )


def _fitting(patterns: Sequence[Mapping[str, Any]], items: Sequence[Any]) -> list[set[int]]:
    """Returns for each pattern the indices of the items that fit it.

    For speed, compares only items whose values outside the pattern's wanted and free columns are equal.
    """
    tables: dict[frozenset[str], dict[str, list[int]]] = {}
    found = []
    for pattern in patterns:
        like, exact = pattern['like'], pattern['item']
        columns = frozenset((*(like if isinstance(like, Mapping) else ()), *pattern['free']))
        if columns not in tables:
            tables[columns] = {}
            for place, item in enumerate(items):
                tables[columns].setdefault(_beside(columns, item), []).append(place)
        near = _beside(columns, exact if like is None or isinstance(like, Mapping) else like)
        places = (*tables[columns].get(near, ()), *tables[columns].get('', ()))
        found.append({place for place in places if fits(pattern, items[place])})
    return found


def _beside(columns: Collection[str], value: Any) -> str:
    """Returns an object without ``columns`` as JSON text, a text unchanged, and ``''`` for other values."""
    if isinstance(value, Mapping):
        return key_of({name: one for name, one in value.items() if name not in columns})
    return value if isinstance(value, str) else ''


def wrong_changes(wanted: Mapping[str, Any], made: Mapping[str, str]) -> dict[str, str]:
    """Compares the wanted differences with those that an agent made.

    Returns:
        Part -> description of the error; empty if all differences are right.
    """
    left = {name: read_difference(text) for name, text in made.items()}
    wrong: dict[str, str] = {}
    covered: set[str] = set()
    for pattern, want in wanted.items():
        name = _resolved(pattern, left, wanted)
        found = left.get(name)
        covered.add(name)
        if want.get('below'):
            below = [other for other in left if other.startswith(tuple(name.rstrip('/') + mark for mark in _BELOW))]
            covered |= {*below}
            found = found or (left[below[0]] if below and not want.get('gone') else None)
        if not want.get('may') and (words := _wrong(want, found)):
            wrong[name] = words
    wrong |= {name: f'changed: {_shown(found)}' for name, found in left.items() if name not in covered}
    return wrong


def read_difference(text: str) -> dict[str, Any]:
    """Parses a difference; it may come from an untrusted run."""
    found = load_json(text, bounded=True)
    if not isinstance(found, dict) or not all(isinstance(found.get(name, []), list) for name in ('removed', 'added')):
        return {'more': 0}
    return {'removed': [], 'added': [], **found} if 'removed' in found else found


def _resolved(pattern: str, made: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Returns the first other part that matches a name with ``*``; the name itself if there is none."""
    if '*' not in pattern or pattern in made:
        return pattern
    return next((name for name in made if name not in wanted and fnmatchcase(name, pattern)), pattern)


def _wrong(want: Mapping[str, Any], found: Mapping[str, Any] | None) -> str:
    if found is None:
        return 'not changed'
    if want.get('any'):
        return 'gone' if found.get('gone') else ''
    if want.get('gone'):
        return '' if found.get('gone') or found.get('is') == GONE else 'not gone'
    if 'to' in want:
        return '' if key_of(found.get('to')) == key_of(want['to']) and 'to' in found else f'is {_shown(found)}'
    if 'like' in want:
        is_same = 'to' in found and means(want['like'], found['to'])
        return '' if is_same else f'is {_shown(found)}, not {want["like"]}'
    if 'removed' not in found:
        return _shown(found)
    removed, added, patterns = found['removed'], found['added'], want['added']
    extra, lacking = (
        Counter(map(key_of, one)) - Counter(map(key_of, other))
        for one, other in ((removed, want['removed']), (want['removed'], removed))
    )
    fitting = _fitting(patterns, added)
    if want.get('in_order'):
        fitting = [places & {number} for number, places in enumerate(fitting)]
    partner = largest_matching(fitting, len(added))
    words = [f'removed {key}' for key in extra.elements()] + [f'not removed {key}' for key in lacking.elements()]
    used = set(partner.values())
    words += [f'added {key_of(item)}' for place, item in enumerate(added) if place not in partner]
    missing = [pattern for number, pattern in enumerate(patterns) if number not in used]
    words += [f'not added {key_of(_Row(one["item"], one["like"]).shown)}' for one in missing]
    if found.get('moved') and not words:
        words.append('in another order')
    return '; '.join(shorten(word, _SHOWN) for word in words[:4])


def _shown(found: Mapping[str, Any]) -> str:
    told = {name: value for name, value in found.items() if name not in ('at', 'rest', 'digest')}
    return shorten(json.dumps(told, ensure_ascii=False), _SHOWN)
