"""Parses the records of stored answers, and attributes the errors in each. This module does not import OpenCompass."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from opencompass_tooleval.core.calls.answer import CUT, Answer
from opencompass_tooleval.core.calls.observed import Observed, read_observed
from opencompass_tooleval.core.calls.tool_calls import ToolCall, read_calls
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.calls.written.formats import FORMATS
from opencompass_tooleval.extras.attribution.causes import (
    ERROR,
    NONE,
    UNKNOWN,
    Attribution,
    RawText,
    bounded_raw,
    read_attribution,
)
from opencompass_tooleval.extras.attribution.comparing import Asked, attribute

_PARSE_HINTS = ('parse', 'parsing', 'jsondecode', 'tool call')
"""llama.cpp reports "Failed to parse input at pos 12"; vLLM and SGLang name the tool parser."""
_READ_CHARS = 10_000
"""Maximum number of characters of an error to search for its cause."""
_MOST_WORDS = 1_000
"""Maximum number of stop words, and of special tokens, to use from a record."""


def attribution_of(one: Observed) -> Attribution | None:
    """Returns the attribution of an answer; None for an error of another kind, ``UNKNOWN`` if the record is damaged."""
    try:
        return read_attribution(one.earlier) if one.earlier is not None else _attribution(one)
    except (ValueError, RecursionError):
        return Attribution(UNKNOWN)


def attribution_of_all(records: Sequence[Observed]) -> Attribution | None:
    """Returns the attribution of an answer, or of a dialogue; None without a record.

    The attribution of a dialogue is the server's first error, or else that of the first answer. It stores no
    answer as written, since with another answer the rest of the dialogue would differ.
    """
    found = [one for one in map(attribution_of, records) if one]
    first = next((one for one in found if one.cause not in (NONE, UNKNOWN)), next(iter(found), None))
    is_dialogue = any(one.number for one in records)
    return replace(first, written=None) if first and is_dialogue else first


def attribution_of_row(row: Mapping[str, Any] | None) -> Attribution | None:
    """Returns the attribution of a row of predictions; None if the server was not observed."""
    records = observations_of(row or {})
    return Attribution(UNKNOWN) if records is None else attribution_of_all(records)


def observations_of(row: Mapping[str, Any]) -> Sequence[Observed] | None:
    """Returns the records of a row of predictions; None if they are damaged."""
    try:
        return read_observed(row, str(row.get('prediction') or ''))
    except ValueError:
        return None


def _attribution(one: Observed) -> Attribution | None:
    if one.error:
        words = one.error[:_READ_CHARS]
        is_parser = any(hint in words.lower() for hint in _PARSE_HINTS)
        return Attribution(ERROR, words, bounded_raw(one.raw), one.source) if is_parser else None
    if one.format_name not in FORMATS:
        raise ValueError(f'unknown format {one.format_name!r}')
    tools = _tool_set(json.dumps(one.tools)) if one.tools else None
    asked = Asked(
        one.format_name,
        tools,
        one.tool_choice,
        one.is_single,
        one.opened_thoughts,
        one.lost[:_MOST_WORDS],
        one.special_tokens[:_MOST_WORDS],
        one.stop_words[:_MOST_WORDS],
    )
    served = Answer(one.text or '', finish_reason=CUT if one.is_cut else None, calls=_as_sent(one))
    found = attribute(served, RawText(one.raw, one.source) if one.raw else None, asked, one.is_call_for_text)
    if not found.written or not one.originals:
        return found
    calls = (replace(call, name=one.originals.get(call.name, call.name)) for call in found.written.calls)
    return replace(found, written=replace(found.written, calls=tuple(calls)))


def _as_sent(one: Observed) -> tuple[ToolCall, ...]:
    """Returns the served calls with the names as the server sent them."""
    calls = read_calls(one.calls)
    if len(calls) != len(one.names):
        raise ValueError('the number of names differs from the number of calls')
    return tuple(replace(call, name=name) for call, name in zip(calls, one.names, strict=True))


@lru_cache(maxsize=64)
def _tool_set(text: str) -> ToolSet:
    """Returns the offered tools, with the names under which they were sent.

    Raises:
        ValueError: A tool lacks its name or its parameters.
    """
    tools = []
    for tool in json.loads(text):
        function = tool.get('function')
        name, parameters = (function.get(key) if isinstance(function, dict) else None for key in ('name', 'parameters'))
        if not isinstance(name, str) or not isinstance(parameters, dict):
            raise ValueError('a tool has no name or no parameters')
        tools.append(ToolSchema(name, '', parameters))
    return ToolSet(tools)
