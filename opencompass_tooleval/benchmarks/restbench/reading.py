"""Parses the path in an answer: names of tools, native calls, or numbers. The size of the text is limited.

An answer to EasyTool's prompt chooses tools by number: a list of ``{"Task": text, "ID": number}``. EasyTool's script
takes the text before the first blank line, which must be a Python literal; otherwise it repeats the request. If an
answer makes the script stop with an error, the answer is wrong here: it has a reason and no path.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.benchmarks.restbench.data import normalise
from opencompass_tooleval.core.calls.answer import Answer, as_answer, unfence, visible_text
from opencompass_tooleval.core.calls.literal_reply import first_block, read_literal
from opencompass_tooleval.core.calls.one_call import why_no_call
from opencompass_tooleval.core.text.fullwidth import read_either, tidy
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.core.text.reading import (
    NO_BRACKETS,
    NOT_JSON,
    Parsed,
    bounded,
    json_values,
    parse_literal,
    unread,
)

MAX_STEPS = 100
"""Maximum number of steps. The longest gold path has four; repeating the whole list of tools is not a path."""

MAX_LISTS = 32
"""Maximum number of opening brackets to try in prose."""

NOT_A_LIST = 'parse:not_a_list'
TOO_MANY = 'parse:too_many_calls'

_MOST_SHOWN = 200

_BULLET = re.compile(r'(?:[-*•]|\(?\d{1,3}[.):]|step \d{1,3}[.):])\s+', re.IGNORECASE)
_ARROW = re.compile(r'->|→|=>')


def _whole(text: str) -> Parsed:
    """Parses an answer that is a list, as a Python literal or JSON, perhaps in a code fence."""
    inside = tidy(unfence(text))
    parsed = read_either(inside, parse_literal)
    if parsed.ok and inside != text:
        return Parsed(parsed.value, 'fence')
    return parsed


def _prose(text: str) -> Parsed:
    """Parses the last list of texts in prose; without one, the text from the first bracket to the last."""
    lists = json_values(text, '[', MAX_LISTS)
    paths = [value for value in lists if value and all(isinstance(item, str) for item in value)]
    if paths:
        return Parsed(paths[-1], 'prose')
    span = text[text.find('[') : text.rfind(']') + 1] if '[' in text else ''
    parsed = parse_literal(span) if span else unread(NOT_JSON)
    return Parsed(parsed.value, 'prose') if isinstance(parsed.value, list) else unread(NOT_JSON)


def _arrows(text: str) -> Parsed:
    """Parses the last line of the form ``GET /a -> GET /b``."""
    for line in reversed(text.splitlines()):
        steps = [step.strip() for step in _ARROW.split(line)]
        if len(steps) > 1 and normalise(steps[-1]).path:
            return Parsed([_unbulleted(steps[0]), *steps[1:]], 'arrows')
    return unread(NOT_JSON)


def _unbulleted(line: str) -> str:
    line = line.strip()
    bullet = _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def _lines(text: str) -> Parsed:
    """Parses lines that begin with a step, perhaps after a number or a bullet; skips other lines."""
    steps = [line for line in map(_unbulleted, text.splitlines()) if normalise(line).path]
    return Parsed(steps, 'lines') if steps else unread(NOT_JSON)


_PARSE_METHODS: tuple[Callable[[str], Parsed], ...] = (_whole, _prose, _arrows, _lines)


def _as_path(parsed: Parsed) -> Parsed:
    """Checks that the parsed value is a path."""
    if not isinstance(parsed.value, list):
        return unread(NOT_A_LIST)
    if len(parsed.value) > MAX_STEPS:
        return unread(TOO_MANY)
    if not all(isinstance(item, str) for item in parsed.value):
        return unread('parse:not_text')
    return parsed


def read_calls(answer: Answer) -> Parsed:
    """Returns the names of an answer's native calls, in order (parse method ``calls``). Its text is ignored.

    Reasons: ``call:none``, ``parse:too_many_calls``, ``answer:truncated_reasoning``, and ``infra:`` reasons.
    """
    names = [call.name for call in answer.calls]
    return _as_path(Parsed(names, 'calls')) if names else unread(why_no_call(answer))


def read_path(answer: Any) -> Parsed:
    """Parses the ordered list of tools in an answer; never raises.

    Args:
        answer: The answer's text; a parsed list is used unchanged (parse method ``value``).

    Returns:
        The list of texts, not yet normalised. Parse methods: ``literal``, ``json``, ``quotes`` (see
        :func:`~opencompass_tooleval.core.text.reading.parse_literal`), ``fence``, ``prose``, ``arrows``, ``lines``;
        full-width punctuation is treated like ASCII (``fullwidth``). Reasons: ``answer:empty``, ``answer:too_long``,
        ``answer:truncated_reasoning``, ``parse:no_brackets``, ``parse:not_json``, ``parse:not_a_list``,
        ``parse:not_text``, ``parse:too_many_calls``, ``parse:too_deep``, and ``infra:`` reasons.
    """
    if not isinstance(answer, (Answer, str)):
        parsed = bounded(answer, 'value')
        return _as_path(parsed) if parsed.ok else parsed
    visible = visible_text(as_answer(answer))
    if visible.reason:
        return unread(visible.reason)
    why = ''
    for read in _PARSE_METHODS:
        parsed = read(tidy(visible.text))
        if isinstance(parsed.value, list):
            return _as_path(parsed)
        reason = NOT_A_LIST if parsed.ok else parsed.reason
        why = why or (reason if reason != NOT_JSON else '')
    return unread(why or (NOT_JSON if '[' in visible.text else NO_BRACKETS))


@dataclass(frozen=True)
class ChosenPath:
    """The choices of an answer.

    Attributes:
        path: Names of the tools, in order; empty if ``reason`` is set.
        unknown: Unknown numbers, as text. A -1 outside of lists means that no tool is needed, and is not included.
        rules: ``no_tool`` (a step of -1), ``list`` (several tools in one step), ``skipped`` (an unknown number).
        parse_method: ``literal``, or ``none``.
        reason: Why the path is missing; ``''`` if it is not.
    """

    path: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    parse_method: str = 'literal'
    reason: str = ''


class _Stop(ValueError):
    """An error that stops the published script: a reason, and the unknown number that caused it, if any."""

    def __init__(self, reason: str, unknown: str = '') -> None:
        super().__init__(reason)
        self.reason = reason
        self.unknown = unknown


def _integer(value: Any) -> int | None:
    """Converts with Python's ``int`` (15 from ``15.0`` and ``'15'``, 1 from ``True``); returns None if that raises."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _listed(number: Any, tools: Mapping[int, str]) -> str:
    """Returns the tool of a number in a list; the number must be a key without conversion."""
    if isinstance(number, (int, float)) and number in tools:
        return tools[int(number)]
    # The published script stops here: '15' is not a key if 15 is one.
    if _integer(number) in tools:
        raise _Stop('id:quoted')
    raise _Stop('id:unknown_in_list', bounded_text(number, _MOST_SHOWN))


def _steps(value: Any) -> Iterable[Any]:
    if isinstance(value, (str, bytes, dict)) and not value:  # the published script reads its items, and finds none
        return ()
    if not isinstance(value, (list, tuple)):
        raise _Stop(NOT_A_LIST)
    if len(value) > MAX_STEPS:
        raise _Stop(TOO_MANY)
    return value


def read_choices(answer: Any, tools: Mapping[int, str]) -> ChosenPath:
    """Parses the path that an answer chooses; never raises.

    Args:
        answer: The answer's text.
        tools: Number -> name, for every tool.
    """
    parsed = read_literal(answer, first_block)
    if not parsed.ok:
        return ChosenPath(parse_method='none', reason=parsed.reason)
    path: list[str] = []
    unknown: list[str] = []
    rules: dict[str, None] = {}
    try:
        for step in _steps(parsed.value):
            if not isinstance(step, dict) or 'ID' not in step:
                raise _Stop('id:missing')
            chosen = step['ID']
            if isinstance(chosen, list):
                rules['list'] = None
                path += [_listed(number, tools) for number in chosen[: MAX_STEPS + 1]]
                continue
            number = _integer(chosen)
            if number is None:
                raise _Stop('id:not_a_number')
            if number == -1:
                rules['no_tool'] = None
            elif number not in tools:
                rules['skipped'] = None
                unknown.append(bounded_text(chosen, _MOST_SHOWN))
            else:
                path.append(_listed(chosen, tools))
        if len(path) > MAX_STEPS:
            raise _Stop(TOO_MANY)
    except _Stop as stop:
        blamed = (stop.unknown,) if stop.unknown else ()
        return ChosenPath(unknown=(*unknown, *blamed), rules=tuple(rules), reason=stop.reason)
    return ChosenPath(tuple(path), tuple(unknown), tuple(rules))
