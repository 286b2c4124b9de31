"""Parses the path from an answer that chooses tools by number, as EasyTool's script does.

The answer is a list of ``{"Task": text, "ID": number}``. The script takes the text before the first blank line, which
must be a Python literal; otherwise it repeats the request. If an answer makes the script stop with an error, the answer
is wrong here: it has a reason and no path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.benchmarks.restbench.answers import MAX_STEPS
from opencompass_tooleval.core.calls.literal_reply import first_block, read_literal
from opencompass_tooleval.core.text.jsonable import bounded_text

NO_TOOL = -1

NOT_A_LIST = 'parse:not_a_list'
TOO_MANY = 'parse:too_many_calls'
NO_ID = 'id:missing'
NOT_A_NUMBER = 'id:not_a_number'
QUOTED = 'id:quoted'
UNKNOWN_IN_LIST = 'id:unknown_in_list'

_MOST_SHOWN = 200


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


def _whole(value: Any) -> int | None:
    """Converts with Python's ``int`` (15 from ``15.0`` and ``'15'``, 1 from ``True``); returns None if that raises."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _shown(value: Any) -> str:
    return bounded_text(value, _MOST_SHOWN)


def _listed(number: Any, tools: Mapping[int, str]) -> str:
    """Returns the tool of a number in a list; the number must be a key without conversion."""
    if isinstance(number, (int, float)) and number in tools:
        return tools[int(number)]
    # The published script stops here: '15' is not a key if 15 is one.
    if _whole(number) in tools:
        raise _Stop(QUOTED)
    raise _Stop(UNKNOWN_IN_LIST, _shown(number))


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
                raise _Stop(NO_ID)
            chosen = step['ID']
            if isinstance(chosen, list):
                rules['list'] = None
                path += [_listed(number, tools) for number in chosen[: MAX_STEPS + 1]]
                continue
            number = _whole(chosen)
            if number is None:
                raise _Stop(NOT_A_NUMBER)
            if number == NO_TOOL:
                rules['no_tool'] = None
            elif number not in tools:
                rules['skipped'] = None
                unknown.append(_shown(chosen))
            else:
                path.append(_listed(chosen, tools))
        if len(path) > MAX_STEPS:
            raise _Stop(TOO_MANY)
    except _Stop as stop:
        blamed = (stop.unknown,) if stop.unknown else ()
        return ChosenPath(unknown=(*unknown, *blamed), rules=tuple(rules), reason=stop.reason)
    return ChosenPath(tuple(path), tuple(unknown), tuple(rules))
