"""Writes observed differences as effects, and calls as a solution, in editable YAML. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from opencompass_tooleval.core.text.reading import parse_literal
from opencompass_tooleval.extras.tasks.effects import CHANGED, GONE, NEW
from opencompass_tooleval.extras.tasks.state import ANY, Items, State
from opencompass_tooleval.extras.typed_result import DATE, NUMBER, SET, TEXT, read_result

_PLAIN = re.compile(r'[A-Za-z0-9_/](?:[\w /.@%+-]*[\w/.@%+-])?')
_MAX_TEXT = 120
_DIGITS = re.compile(r'\d{1,40}\Z')
_TABLE = 'table '
_SCHEMA = re.compile(r'(?:table|index|view|trigger) .')


def observed_effects(before: State, first: Mapping[str, str], second: Mapping[str, str]) -> list[dict[str, Any]]:
    """Returns the effects that describe the difference that calls made.

    Args:
        before: The state at the start.
        first: The difference after the calls.
        second: The difference after the same calls from the same start. The effects leave free the values in which it
            differs from ``first``.
    """
    made, again = ({name: json.loads(text) for name, text in each.items()} for each in (first, second))
    observed = _Observed(before, made, again)
    return [effect for name in made for effect in observed.effects(name)]


class _Observed:
    def __init__(self, before: State, made: Mapping[str, Any], again: Mapping[str, Any]) -> None:
        self._before, self._made, self._again = before, made, again
        self._databases = [name for name, kind in before.items() if kind in ('database', 'workbook')]
        self._whole: set[str] = set()

    def effects(self, name: str) -> Iterator[dict[str, Any]]:
        found = self._made[name]
        file, colon, inner = name.partition(':')
        if name.endswith('/') and not colon:
            if found.get('gone') or not any(other.startswith(name) and other != name for other in self._made):
                yield {'file': name, 'is': GONE if found.get('gone') else NEW}
        elif not colon:
            yield from self._of_file(name, found)
        elif file in self._whole or self._made.get(file, {}).get('gone') or self._is_in_whole_table(file, inner, found):
            return
        elif name not in self._again or 'more' in found or found.get('moved') or 'is' in found:
            yield {'part': name, 'is': found.get('is', CHANGED if name in self._before else NEW)}
        elif 'removed' not in found:
            yield from self._of_value(name, found)
        elif any(isinstance(item, dict) for item in [*found['removed'], *found['added']]):
            yield from self._of_rows(name, found)
        elif found == self._again[name]:
            both = {'add': found['added'], 'remove': found['removed']}
            at = {'at': inner} if inner else {}
            yield {'file': file, **at, **{key: list(map(words, value)) for key, value in both.items() if value}}
        else:
            yield {'part': name, 'is': CHANGED}

    def _is_in_whole_table(self, file: str, inner: str, found: Mapping[str, Any]) -> bool:
        schema = self._made.get(f'{file}:{_TABLE}{inner}', {})
        return bool(schema.get('gone')) or (bool(schema) and 'is' in found)

    def _of_file(self, name: str, found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        kind, lines = found.get('to'), self._made.get(f'{name}:', {})
        if found.get('gone'):
            yield {'file': name, 'is': GONE}
        elif name in self._before:
            yield {'file': name, 'is': CHANGED}
        elif name not in self._again:
            yield {'file': self._pattern(name), 'is': NEW}
        elif source := self._source(name):
            yield {'file': name, 'same_as': source}
        elif kind == 'text' and lines and lines == self._again.get(f'{name}:'):
            yield {'file': name, 'text': lines['added']}
        elif kind in ('values', 'database'):
            return
        else:
            yield {'file': name, 'is': NEW}
        self._whole.add(name)

    def _pattern(self, name: str) -> str:
        """Returns a pattern for the name of a new file that differs between the two runs."""
        others = [one for one in self._again if one not in self._made and ':' not in one] or [name]
        start = _DIGITS.sub('', _beginning(name, others[0]))
        end = _DIGITS.sub('', _beginning(name[::-1], others[0][::-1]))[::-1]
        return f'{start}*{end}' if others[0] != name else name

    @cached_property
    def _files(self) -> dict[str, dict[str, Any]]:
        """File at the start -> its parts, in the form of the difference that a copy of the file makes."""
        files: dict[str, dict[str, Any]] = {}
        for name, value in self._before.items():
            file, colon, inner = name.partition(':')
            files.setdefault(file, {})[colon + inner] = _as_new(value)
        return files

    def _source(self, name: str) -> str:
        """Returns the file at the start that has the content of a new file; ``''`` if none has, or if it is empty."""
        made = {
            part.removeprefix(name): found for part, found in self._made.items() if f'{part}:'.startswith(f'{name}:')
        }
        is_empty = len(made) == 1 and not str(made['']['to']).startswith('bytes')
        return '' if is_empty else next((file for file, parts in self._files.items() if parts == made), '')

    def _of_value(self, name: str, found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        file, _, inner = name.partition(':')
        is_values = self._before.get(file, self._made.get(file, {}).get('to')) == 'values'
        if _SCHEMA.match(inner) and not is_values:
            state = GONE if found.get('gone') else CHANGED if name in self._before else NEW
            is_whole = inner.startswith(_TABLE) and state != CHANGED
            yield {
                **(self._target(f'{file}:{inner.removeprefix(_TABLE)}') if is_whole else {'part': name}),
                'is': state,
            }
        elif found.get('gone'):
            yield {'file': file, 'unset': [inner]} if is_values else {'part': name, 'is': GONE}
        elif found != self._again[name]:
            yield {'part': name, 'is': CHANGED if name in self._before else NEW}
        else:
            yield (
                {'file': file, 'set': {inner: words(found['to'])}}
                if is_values
                else {'part': name, 'set': words(found['to'])}
            )

    def _of_rows(self, name: str, found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        target, start = self._target(name), self._before.get(name)
        items, fills = (start.items, start.fills or {}) if isinstance(start, Items) else ([], {})
        again = self._again[name].get('added', [])
        if '.git:' in name and start is None:  # a new branch or tag that equals an existing one
            source = next(
                (part for part, value in self._before.items() if '.git:' in part and _as_new(value) == found), ''
            )
            if source:
                yield {**target, 'same_as': source}
                return
        if len(again) != len(found['added']):
            yield {'part': name, 'is': CHANGED}
            return
        key, added = _key_column(items), list(zip(found['added'], again, strict=True))
        for row in found['removed']:
            where = {key: words(row[key])} if key else words(row)
            pair = next(
                (pair for pair in added if key and pair[0].keys() == row.keys() and pair[0][key] == row[key]), None
            )
            if pair is None:
                yield {**target, 'delete': where}
            else:
                added.remove(pair)
                same = [column for column in row if pair[0][column] == row[column]]
                yield {**target, 'where': where, **_given('set', *pair, same)}
        for new, other in added:
            filled = [column for column in new if fills.get(column) == ANY]
            yield {**target, **_given('insert', new, other, filled)}

    def _target(self, name: str) -> dict[str, Any]:
        file, _, inner = name.partition(':')
        if self._before.get(file, self._made.get(file, {}).get('to')) in ('database', 'workbook'):
            return {'table': inner} if len(self._databases) == 1 else {'file': file, 'table': inner}
        if '.git' in file:
            return {'part': name}
        return {'file': file, 'at': inner} if inner else {'file': file}


def _as_new(part: Any) -> dict[str, Any]:
    return {'removed': [], 'added': part.items} if isinstance(part, Items) else {'to': part}


def _given(action: str, new: Mapping[str, Any], other: Mapping[str, Any], left_out: Sequence[str]) -> dict[str, Any]:
    """Returns the values of a row; columns that differ in the second run are free."""
    free = [column for column in new if new[column] != other.get(column) and column not in left_out]
    values = {column: words(new[column]) for column in new if column not in (*left_out, *free)}
    return {action: values} | ({'free': free} if free else {})


def _beginning(one: str, other: str) -> str:
    pairs = enumerate(zip(one, other, strict=False))
    return one[: next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))]


def _key_column(items: Sequence[Any]) -> str:
    """Returns the first column whose values are all different; ``''`` if there is none."""
    for column in items[0] if items and isinstance(items[0], dict) else ():
        values = [json.dumps(item.get(column)) for item in items if isinstance(item, dict)]
        if len(set(values)) == len(items):
            return str(column)
    return ''


def words(value: Any) -> Any:
    """Converts all scalars of a value to texts."""
    if isinstance(value, dict):
        return {key: words(one) for key, one in value.items()}
    if isinstance(value, list):
        return [words(one) for one in value]
    return 'null' if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def guess_result(text: str) -> tuple[str, str]:
    """Returns type and YAML value of a tool's answer that is a single value or a list; otherwise ``('', '')``."""
    read = parse_literal(text)
    value = read.value if read.ok else text
    while isinstance(value, dict | list) and len(value) == 1:
        (value,) = value.values() if isinstance(value, dict) else value
    if isinstance(value, list) and value and all(isinstance(one, dict) and len(one) == 1 for one in value):
        value = [next(iter(one.values())) for one in value]
    if isinstance(value, list) and value and all(isinstance(one, str | int | float) for one in value):
        return SET, flow([str(one) for one in value])
    shown = '' if isinstance(value, dict | list) else str(value).strip()
    if not shown or len(shown) > _MAX_TEXT or '\n' in shown:
        return '', ''
    form = next((form for form in (NUMBER, DATE) if read_result(form, shown) is not None), TEXT)
    return form, flow(shown)


def task_lines(
    name: str,
    request: str,
    effects: Sequence[Mapping[str, Any]],
    calls: Sequence[tuple[str, Any]],
    result: tuple[str, str] = ('', ''),
    last: str = '',
) -> list[str]:
    """Returns the lines of a task.

    Args:
        name: Id of the task.
        request: The request.
        effects: The effects.
        calls: The calls of the solution, from :func:`written_call`.
        result: Type and YAML value of the result; ``''`` without one.
        last: The answer to the last call, written as a comment if there is no result.
    """
    form, value = result
    lines = [f'  - id: {flow(name)}', f'    request: {flow(request)}']
    if form:
        lines.append(
            f'    result: {{type: {form}, value: {value}}}  # as the last call answered: accept, edit or remove it'
        )
    elif last:
        lines.append(f'    # the last call answered: {json.dumps(last[:_MAX_TEXT], ensure_ascii=False)}')
    if effects:
        lines += ['    effects:', *(f'      - {flow(effect)}' for effect in effects)]
    if calls:
        lines += [
            '    solution:',
            *(f'      - {flow(name)}' + (f': {flow(given)}' if given else '') for name, given in calls),
        ]
    return lines


def written_call(name: str, arguments: Mapping[str, Any], reads_back: Callable[[str, Any], Any]) -> tuple[str, Any]:
    """Returns a call as written in a solution: scalars as texts if they can be read back, otherwise JSON text.

    Args:
        name: The tool.
        arguments: JSON values.
        reads_back: Converts arguments whose scalars are texts to typed arguments.
    """
    texts = words(arguments)
    is_same = reads_back(name, texts) == arguments
    return name, texts if is_same else json.dumps(arguments, ensure_ascii=False)


def flow(value: Any) -> str:
    """Writes texts, lists and objects of texts as YAML on one line, so that each scalar is read back unchanged."""
    if isinstance(value, Mapping):
        return '{' + ', '.join(f'{flow(str(key))}: {flow(one)}' for key, one in value.items()) + '}'
    if isinstance(value, list | tuple):
        return '[' + ', '.join(map(flow, value)) + ']'
    text = str(value)
    return text if len(text) <= _MAX_TEXT and _PLAIN.fullmatch(text) else json.dumps(text, ensure_ascii=False)
