"""The gold of a task: the state that its solution leaves, and the comparison of an agent's state with it. Pure.

A gold is made of the differences that two runs of the solution left. Per part of the state it has the difference of the
first run (:func:`~opencompass_tooleval.extras.tasks.differences.changes`) and, as ``free``, what the second run left
different: for a value as :func:`~opencompass_tooleval.extras.tasks.leaves.free_of`, for each new row path -> the same.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from opencompass_tooleval.agents.scoring.matching import largest_matching
from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.extras.tasks.differences import CHANGED, NEW, number_columns, read_difference, with_numbers
from opencompass_tooleval.extras.tasks.leaves import (
    WORDS,
    Given,
    fits,
    free_of,
    key_of,
    kind_of,
    leaves,
    shown,
)
from opencompass_tooleval.extras.tasks.state import ANY, Items, State

Gold = dict[str, dict[str, Any]]
"""Part of the state -> its difference from the start, and what of it is free."""

_GENERATED = re.compile(r'(?:.*[_-])?(?:id|uuid|guid)|.*[a-z]Id|next(?:_?id)?|seq|sequence', re.DOTALL)
_NEXT = re.compile(r'(?:.*[._-])?(?:next(?:_?id|Id)?|seq|sequence)', re.DOTALL)
_INDEX = re.compile(r'\[\d+\]')
_SCHEMA = re.compile(r'[^:]*:(?:table|index|view|trigger) .*', re.DOTALL)
_INDEX_NAME = re.compile(r'(create(?: unique)? index )\S+', re.IGNORECASE)
_SPACES = re.compile(r'\s{0,20}([(),=])\s{0,20}')
_OPTIONAL = re.compile(r' (?:if not exists|not null|autoincrement)\b')
_TRUE, _FALSE = ('true', 'yes', 'on'), ('false', 'no', 'off')
_CLOCK = re.compile(r'\d?\d:\d\d(?::\d\d)?')
_SETTINGS = ('.ini', '.cfg', '.conf', '.toml', '.properties', '.env')
_MOST_PAIRED, _MAX_PATTERN, _MOST_WORDS, _SHOWN = 300, 1_000, 3, 160


def make_gold(
    start: State, first: Mapping[str, str], second: Mapping[str, str], given: Given | None, free: Sequence[str] = ()
) -> Gold:
    """Makes the gold of two runs of a solution.

    Args:
        start: The state at the start.
        first: The difference after the solution.
        second: The difference after the same calls, from the same start, more than a second later.
        given: What the request and the solution give. None to leave only free what differs between the runs.
        free: What the owner leaves to the agent: ``notes/*.txt:`` (all lines), ``shop.db:mail.body`` (a column),
            ``graph.jsonl:.tags[]`` (the order of a list in rows).

    Raises:
        ValueError: The runs differ in more than values, or too much differs to be compared.
    """
    return _Maker(start, second, given, free).gold(first)


class _Maker:
    def __init__(self, start: State, second: Mapping[str, str], given: Given | None, free: Sequence[str]) -> None:
        self._start, self._given, self._free = start, given, free
        self._again = {name: read_difference(text) for name, text in second.items()}
        self._used: set[str] = set()
        self._known: set[str] | None = None
        self._maxima: dict[tuple[str, str], float] = {}
        self._rows_added = 0

    def gold(self, first: Mapping[str, str]) -> Gold:
        files = self._paired_files([_file_of(name) for name in first])
        gold: Gold = {}
        for name, text in first.items():
            file = _file_of(name)
            other, tokens_ = files.get(file, (file, None))
            again = self._again.pop(other + name[len(file) :], None)
            if again is None:
                raise ValueError(_differs(name))
            gold[name] = self._part(name, read_difference(text), again) | ({'name': tokens_} if tokens_ else {})
        if self._again:
            raise ValueError(_differs(next(iter(self._again))))
        if unused := [pattern for pattern in self._free if pattern not in self._used]:
            raise ValueError(f'free has {unused[0]}, which its solution does not change')
        return gold

    def _paired_files(self, files: Sequence[str]) -> dict[str, tuple[str, dict[str, str] | None]]:
        """Returns new file of the first run -> file of the second, and the free tokens of its name."""
        left = dict.fromkeys(_file_of(name) for name in self._again)
        paired: dict[str, tuple[str, dict[str, str] | None]] = {}
        for file in dict.fromkeys(files):
            if file in self._start:
                continue
            other = file if file in left else ''
            for name in left if not other else ():
                is_other = name not in files and name not in self._start
                if is_other and 'at' in (free_of(file, name, self._given) or {}):
                    other = name
                    break
            if other:
                paired[file] = other, (free_of(file, other, self._given) or {}).get('at')
                del left[other]
        return paired

    def _part(self, name: str, found: Mapping[str, Any], again: Mapping[str, Any]) -> dict[str, Any]:
        if self._is_free(name) and not found.get('gone'):
            return {**found, 'free': WORDS}
        if 'to' in found and 'to' in again:
            return {**found, **self._value(name, found['to'], again['to'])}
        if 'removed' in found and 'removed' in again:
            is_same = all(len(found[side]) == len(again[side]) for side in ('removed', 'added'))
            is_same &= Counter(map(key_of, found['removed'])) == Counter(map(key_of, again['removed']))
            if is_same and found.get('at') == again.get('at') and found.get('rest') == again.get('rest'):
                return {**found, **self._rows(name, found, again['added'])}
        elif found == again and ('more' not in found or 'digest' in found):
            return dict(found)
        elif 'more' in found:
            raise ValueError(f'{name} changes too much to compare values that differ between two runs: add to ignore')
        raise ValueError(_differs(name))

    def _value(self, name: str, value: Any, again: Any) -> dict[str, Any]:
        was = {'was': self._start[name]} if name in self._start and not isinstance(self._start[name], Items) else {}
        free = None if _SCHEMA.fullmatch(name) else free_of(value, again, self._given)
        key = name.partition(':')[2]
        if free is None and self._given and _NEXT.fullmatch(key) and not self._given.names(value, key):
            free = {'kind': kind_of(value)}
        is_asked = self._given is not None and name.rpartition(':index ')[2] in self._given.request
        return {**was, **({'free': {**free, **was}} if free else {}), **({'asked': True} if is_asked else {})}

    def _rows(self, name: str, found: Mapping[str, Any], again: Sequence[Any]) -> dict[str, Any]:
        rows = [leaves(one) for one in found['added']]
        self._rows_added = len(rows)
        others = [leaves(one) for one in again]
        olds = [leaves(one) for one in found['removed']]
        free = []
        for row, other in zip(rows, _paired(rows, others, 'at' in found), strict=True):
            old = _nearest(row, olds)
            free.append(self._free_leaves(name, row, other, old))
        numbers = number_columns(self._start.get(name))
        return ({'free': free} if any(free) else {}) | ({'numbers': list(numbers)} if numbers else {})

    def _free_leaves(
        self, name: str, row: Mapping[str, Any], other: Mapping[str, Any], old: Mapping[str, Any]
    ) -> dict[str, Any]:
        free: dict[str, Any] = {}
        for path, value in row.items():
            was = {'was': old[path]} if path in old else {}
            plain = _INDEX.sub('', path)
            if path and self._is_free(f'{name}.{plain}'):
                found: dict[str, Any] | None = {'kind': WORDS}
            elif plain != path and self._is_free(f'{name}.{plain}[]'):
                free[plain] = {'order': True}
                continue
            else:
                found = free_of(value, other.get(path), self._given)
            if found is None and not old and self._is_generated(name, path, value, row):
                found = {'kind': kind_of(value)}
            if found is not None and not (was and key_of(value) == key_of(old[path])):
                free[path] = {**found, **was}
        return free

    def _is_free(self, place: str) -> bool:
        found = [one for one in self._free if one == place or (place[-2:] != '[]' and fnmatchcase(place, one))]
        self._used.update(found)
        return bool(found)

    def _is_generated(self, name: str, path: str, value: Any, row: Mapping[str, Any]) -> bool:
        """Tests if a value of a new row is an id or a number that the server counts."""
        if self._given is None or not isinstance(value, str | int) or isinstance(value, bool):
            return False
        start, column = self._start.get(name), path.rpartition('.')[2]
        is_filled = isinstance(start, Items) and (start.fills or {}).get(path) == ANY
        is_id = _GENERATED.fullmatch(column) is not None
        if not is_id and not (isinstance(value, int) and 0 < value - self._largest(name, path) <= self._rows_added):
            return False
        siblings = {} if not is_filled else {key: value for key, _ in self._given.arguments}
        if self._given.names(value, path, {**row, **siblings}):
            return False
        return not is_id or is_filled or column in ('id', 'uuid', 'guid') or str(value) not in self._ids()

    def _largest(self, name: str, path: str) -> float:
        """Returns the largest whole number of a column at the start; infinity if there is none."""
        if (name, path) not in self._maxima:
            start = self._start.get(name)
            items = start.items if isinstance(start, Items) else []
            known = [one[path] for one in items if isinstance(one, dict) and type(one.get(path)) is int]
            self._maxima[name, path] = max(known, default=math.inf)
        return self._maxima[name, path]

    def _ids(self) -> set[str]:
        """Returns the ids at the start: a new value that is one of them refers to an item, and counts."""
        if self._known is None:
            self._known = {
                str(value)
                for part in self._start.values()
                if isinstance(part, Items)
                for item in part.items
                if isinstance(item, dict)
                for column, value in item.items()
                if _GENERATED.fullmatch(column)
            }
        return self._known


def _differs(name: str) -> str:
    return f'{name} differs in more than values between two runs of its solution; add it to ignore if it may'


def _file_of(name: str) -> str:
    return name.partition(':')[0]


def _paired(rows: Sequence[dict[str, Any]], others: Sequence[dict[str, Any]], by_place: bool) -> list[dict[str, Any]]:
    """Returns for each row of the first run that of the second: by place, or the one with the most equal values."""
    if by_place or len(rows) > _MOST_PAIRED:
        return list(others)
    left, paired = list(others), []
    for row in rows:
        paired.append(max(left, key=lambda other: _equal(row, other)))
        left.remove(paired[-1])
    return paired


def _equal(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    return sum(path in other and key_of(other[path]) == key_of(value) for path, value in one.items())


def _nearest(row: Mapping[str, Any], olds: Sequence[dict[str, Any]]) -> Mapping[str, Any]:
    """Returns the row at the start that became ``row``: the one with the most equal values, at least a third."""
    old = max(olds[:_MOST_PAIRED], key=lambda one: _equal(row, one), default={})
    return old if 3 * _equal(row, old) >= len(row) > 0 else {}


# --- comparison -------------------------------------------------------------------------------------------------------


def wrong_state(golds: Sequence[Gold], made: Mapping[str, str]) -> dict[str, str]:
    """Compares the state that an agent left with golds, of which any is right.

    Args:
        golds: The golds of a task, at least one.
        made: The differences that the agent made, which may come from an untrusted run.

    Returns:
        Part -> description of the error, for the gold with the fewest; empty if the state is right.
    """
    return min((_wrong(gold, made) for gold in golds), key=len)


def _wrong(gold: Gold, made: Mapping[str, str]) -> dict[str, str]:
    left = {name: read_difference(text) for name, text in made.items()}
    names = _names(gold, left)
    wrong = {}
    for name, want in gold.items():
        there = names.get(name, name)
        if words := _wrong_part(name, want, left.pop(there, None)):
            wrong[there] = words
    return wrong | {name: f'changed: {_told(found)}' for name, found in left.items()}


def _names(gold: Gold, made: Mapping[str, Any]) -> dict[str, str]:
    """Returns part of the gold -> part of the agent's state, where names of files are free."""
    files, taken = {_file_of(name): want['name'] for name, want in gold.items() if 'name' in want}, set()
    names: dict[str, str] = {}
    known = {_file_of(name) for name in gold}
    for file, at in files.items():
        parts = [name for name in gold if _file_of(name) == file]
        near = [one for one in made if ':' not in one and one not in taken and one not in known - {file}]
        near = [one for one in near if fits(file, one, {'at': at})]
        near.sort(key=lambda one: sum(bool(_at(one, name, file, gold, made)) for name in parts))
        if near:
            taken.add(near[0])
            names |= {name: near[0] + name[len(file) :] for name in parts}
    indexes = {_sql(str(made[name].get('to')), True): name for name in made if ':index ' in name and name not in gold}
    for name, want in gold.items():
        other = indexes.get(_sql(str(want.get('to')), True), '') if ':index ' in name and name not in made else ''
        if other and 'asked' not in want:
            names[name] = other
    return names


def _at(other: str, name: str, file: str, gold: Gold, made: Mapping[str, Any]) -> str:
    return _wrong_part(name, gold[name], made.get(other + name[len(file) :]))


def _wrong_part(name: str, want: Mapping[str, Any], found: Mapping[str, Any] | None) -> str:
    """Returns the first errors of a part; ``''`` if it is right."""
    if found is None:
        return 'not changed'
    free = want.get('free')
    if free == WORDS:
        is_right = not found.get('gone') and any(str(one).strip() for one in found.get('added', [found.get('to', '')]))
        is_right &= bool(want.get('removed')) or not found.get('removed')
        return '' if is_right else _told(found)
    if 'to' in want:
        is_right = 'to' in found and _is_value(name, want, found['to'])
        return '' if is_right else f'is {_told(found)}, not {shown(want["to"])}'
    if 'removed' in want and 'removed' in found:
        return '; '.join(shorten(words, _SHOWN) for words in _wrong_items(name, want, found))
    is_right = all(want.get(key) == found.get(key) for key in ('gone', 'is', 'digest', 'removed'))
    return '' if is_right else _told(found)


def _is_value(name: str, want: Mapping[str, Any], value: Any) -> bool:
    wanted = want['to']
    if _SCHEMA.fullmatch(name) and isinstance(wanted, str) and isinstance(value, str):
        return _sql(wanted, ':index ' in name) == _sql(value, ':index ' in name)
    words = [str(one).lower() for one in (want.get('was'), wanted, value)]
    is_yaml = _file_of(name).endswith(('.yaml', '.yml'))
    if is_yaml and all(one in (*_TRUE, *_FALSE) for one in words):
        return (words[1] in _TRUE) == (words[2] in _TRUE)
    if is_yaml and all(isinstance(one, str) and _CLOCK.fullmatch(one) for one in (wanted, value)):
        wanted, value = str(wanted).removeprefix('0'), str(value).removeprefix('0')
    return fits(wanted, value, want.get('free'))


def _sql(text: str, without_name: bool = False) -> str:
    """Writes a statement of a schema so that equal ones are equal: case outside of quotes, spaces and marks."""
    parts = re.split(r"('[^']*')", ' '.join(text.split())[:100_000])
    plain = ''.join(part if part[:1] == "'" else re.sub(r'["`\[\]]', '', part.lower()) for part in parts)
    plain = _OPTIONAL.sub('', _SPACES.sub(r'\1', plain))
    return _INDEX_NAME.sub(r'\1', plain) if without_name else plain


def _wrong_items(name: str, want: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    removed, lacking = (
        Counter(map(key_of, one)) - Counter(map(key_of, other))
        for one, other in ((found['removed'], want['removed']), (want['removed'], found['removed']))
    )
    words = [f'removed {key}' for key in removed] + [f'not removed {key}' for key in lacking]
    free = want.get('free') or [{}] * len(want['added'])
    wanted, added = ([with_numbers(item, want.get('numbers', ())) for item in one['added']] for one in (want, found))
    pairs: dict[int, int] = {}
    for group, others in _groups(want, found):
        fitting = fitting_items(name, [(wanted[one], free[one]) for one in group], [added[one] for one in others])
        pairs |= {others[there]: group[here] for here, there in largest_matching(fitting, len(group)).items()}
    words += [f'added {key_of(item)}' for place, item in enumerate(added) if place not in pairs]
    used = set(pairs.values())
    words += [f'not added {key_of(item)}' for place, item in enumerate(wanted) if place not in used]
    is_placed = [want.get(key) == found.get(key) for key in (('rest', 'at') if 'rest' in want else ('moved',))]
    if not words and not all(is_placed):
        words.append('in another place or order')
    return words[:_MOST_WORDS]


def _groups(want: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[tuple[list[int], list[int]]]:
    """Yields indices of wanted and of found new items that may be paired.

    Without an order that are all. With an order they are items in the same place, or new objects that follow one
    another, whose order among themselves does not count: calls may create them in any order.
    """
    places, others = want.get('at'), found.get('at')
    if want.get('in_order'):
        yield from (([number], [number]) for number in range(min(len(want['added']), len(found['added']))))
        return
    if places is None or not isinstance(others, list) or places != others:
        yield list(range(len(want['added']))), list(range(len(found['added'])))
        return
    group: list[int] = []
    for number, place in enumerate(places):
        is_next = group and place == places[number - 1] + 1
        if group and not (is_next and all(isinstance(want['added'][one], dict) for one in (group[-1], number))):
            yield group, group
            group = []
        group = [*group, number]
    if group:
        yield group, group


def fitting_items(name: str, wanted: Sequence[tuple[Any, Mapping[str, Any]]], items: Sequence[Any]) -> list[set[int]]:
    """Returns for each found item the indices of the wanted ones that it fits; compares only those with equal rests.

    Args:
        name: The part of the state.
        wanted: Items, each with what is free: leaf -> in what way.
        items: The found items.
    """
    is_settings = _file_of(name).endswith(_SETTINGS)
    found: list[set[int]] = [set() for _ in items]
    tables: dict[tuple[tuple[str, ...], ...], dict[str, list[int]]] = {}
    for number, (want, free) in enumerate(wanted):
        order, anything = (tuple(path for path, one in free.items() if key in one) for key in ('order', 'any'))
        paths = tuple(path for path in free if path not in (*order, *anything))
        key = order, anything, paths
        if key not in tables:
            table = tables.setdefault(key, {})
            for place, item in enumerate(items):
                table.setdefault(_beside(item, *key, is_settings), []).append(place)
        values = leaves(want, order)
        for place in tables[key].get(_beside(want, *key, is_settings), ()):
            others = leaves(items[place], order)
            if all(fits(values[path], others.get(path), free[path]) for path in paths):
                found[place].add(number)
    return found


def _beside(item: Any, order: Sequence[str], anything: Sequence[str], paths: Sequence[str], is_settings: bool) -> str:
    """Returns an item without its free values, as a text."""
    if anything and isinstance(item, dict):
        item = {name: value for name, value in item.items() if name not in anything}
    if is_settings and isinstance(item, str):
        item = _SPACES.sub(r'\1', item.strip(), count=1) if not item.lstrip().startswith('#') else item
    values = leaves(item, order)
    return key_of({**values, **dict.fromkeys(paths)} if '' not in paths else None)


def _told(found: Mapping[str, Any]) -> str:
    told = {name: value for name, value in found.items() if name not in ('at', 'rest', 'digest')}
    return shorten(key_of(told.get('to', told)), _SHOWN)


# --- in words ---------------------------------------------------------------------------------------------------------


def gold_lines(gold: Gold) -> Iterator[str]:
    """Yields what of a gold is compared, in words: a line for each value, row or line that has to be there or gone."""
    for name, want in gold.items():
        file = name + (' (a name of this kind)' if want.get('name') else '')
        if want.get('free') == WORDS:
            yield f'{file}: any text'
        elif 'removed' in want:
            yield from (f'{file}: gone: {shorten(key_of(item), _SHOWN)}' for item in want['removed'])
            free = want.get('free') or [{}] * len(want['added'])
            for item, spec in zip(want['added'], free, strict=True):
                yield f'{file}: new: {shorten(key_of(item), _SHOWN)}{_free_words(spec)}'
            if not want['removed'] and not want['added']:
                yield f'{file}: another order'
        elif 'to' in want:
            free = {'': want['free']} if 'free' in want else {}
            yield f'{file}: {shorten(key_of(want["to"]), _SHOWN)}{_free_words(free)}'
        else:
            yield f'{file}: {"gone" if want.get("gone") else want.get("is", NEW if "digest" not in want else CHANGED)}'


def free_parts(gold: Gold) -> Iterator[str]:
    """Yields the parts of a gold in which something is free, each with what is free there."""
    for name, want in gold.items():
        free = want.get('free') or {}
        specs = free if isinstance(free, list) else [{'': free}] if isinstance(free, dict) and free else []
        found = dict.fromkeys(words for spec in specs if (words := _free_words(spec)))
        yield from (f'{name}{words.removeprefix(";").replace(" free:", "", 1)}' for words in found)


def _free_words(free: Mapping[str, Any]) -> str:
    names = [
        f'{path or "value"} (any {first_of(sorted({*spec.get("at", {}).values(), *filter(None, [spec.get("kind")])}))})'
        if not spec.get('order')
        else f'{path} (any order)'
        for path, spec in free.items()
    ]
    return f'; free: {", ".join(names)}' if names else ''
