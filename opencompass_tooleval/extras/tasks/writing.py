"""Writes calls as the solution of a task, and results, in editable YAML. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.text.reading import parse_literal
from opencompass_tooleval.extras.typed_result import DATE, NUMBER, SET, TEXT, read_result

_PLAIN = re.compile(r'[A-Za-z0-9_/](?:[\w /.@%+-]*[\w/.@%+-])?')
_MAX_TEXT, _MAX_ITEMS = 120, 200


def words(value: Any) -> Any:
    """Converts all scalars of a value to texts."""
    if isinstance(value, dict):
        return {key: words(one) for key, one in value.items()}
    if isinstance(value, list):
        return [words(one) for one in value]
    return 'null' if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def guess_result(text: str, texts: int = 1) -> tuple[str, str]:
    """Returns type and YAML value of a tool's answer that is a single value or a list; otherwise ``('', '')``.

    Args:
        text: The answer.
        texts: Number of texts in it, each a line, if a function returned a list.
    """
    lines = text.splitlines()
    if 1 < texts == len(lines) <= _MAX_ITEMS and all(0 < len(line.strip()) <= _MAX_TEXT for line in lines):
        return SET, flow(lines)
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
    calls: Sequence[tuple[str, Any]],
    result: tuple[str, str] = ('', ''),
    last: str = '',
) -> list[str]:
    """Returns the lines of a task.

    Args:
        name: Id of the task.
        request: The request.
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
