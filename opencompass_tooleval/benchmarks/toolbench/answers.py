"""Parses the value in an answer, which is only data and of limited size, and checks values of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer, as_answer, unfence, visible_text
from opencompass_tooleval.core.text.fullwidth import read_either, tidy
from opencompass_tooleval.core.text.reading import Parsed, bounded, json_values, parse_literal, unread
from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter
from opencompass_tooleval.tool_docs.value_types import expected, from_text

MAX_VALUES = 64
"""Maximum number of opening brackets to try in prose."""

MAX_BACKTRACK = 20_000
"""Number of characters at the end of prose to search, since the answer comes last."""


def read_value(answer: Any, accept: Callable[[Any], bool], missing: str) -> Parsed:
    """Parses the value in an answer; never raises.

    Args:
        answer: The answer's text; a parsed value is used unchanged (parse method ``value``).
        accept: Tests if a value is of the requested kind.
        missing: The reason if no such value is found, as ``parse:code``.

    Returns:
        The complete answer if it is such a value (parse methods of ``parse_literal``, ``fullwidth`` or ``fence``), else
        the last one in its prose (``prose``). Reasons: ``answer:empty``, ``answer:too_long``,
        ``answer:truncated_reasoning``, ``parse:...``, and ``infra:`` reasons.
    """
    if not isinstance(answer, (Answer, str)):
        parsed = bounded(answer, 'value')
        return parsed if not parsed.ok or accept(answer) else unread(missing)
    visible = visible_text(as_answer(answer))
    if visible.reason:
        return unread(visible.reason)
    text = visible.text
    inside = tidy(unfence(text))
    whole = read_either(inside, parse_literal)
    if whole.ok and accept(whole.value):
        return Parsed(whole.value, 'fence' if inside != tidy(text) else whole.parse_method)
    if whole.reason in ('parse:too_deep', 'parse:huge_number'):
        return whole
    accepted = [value for value in json_values(text[-MAX_BACKTRACK:], '[{', MAX_VALUES) if accept(value)]
    return bounded(accepted[-1], 'prose') if accepted else unread(missing)


def unfit(parameter: Parameter, value: Any) -> str:
    """Returns the expected type of ``value`` in words; ``''`` for a valid value.

    A number or a boolean may also be text: it is sent as text, and ToolBench's defaults are texts.
    """
    if value is ABSENT:
        return ''
    problem = expected(parameter.type, value)
    if problem and isinstance(value, str) and not expected(parameter.type, from_text(parameter.type, value.strip())):
        return ''
    return problem
