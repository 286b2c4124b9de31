"""Parses answers, which are only data and of limited size; checks values of parameters; and classifies errors of calls.

The kinds of errors in responses (of ToolBench's server, RapidAPI and the APIs) are ours. Only the first ``MAX_HEAD``
characters of a response are searched, since an API reports errors first. An error in other words is not detected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer, as_answer, strip_reasoning, unfence, visible_text
from opencompass_tooleval.core.calls.literal_reply import last_block, read_literal
from opencompass_tooleval.core.text.fullwidth import read_either, tidy
from opencompass_tooleval.core.text.jsonable import bounded_text, to_jsonable
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


# Choices of a tool

NO_CHOICE = 'parse:no_choice'
NO_ID = 'id:missing'

_KEYS = ('tool', 'tool_name', 'name')

_MARKS = '\'"`*. \n'

MAX_NAME_CHARS = 500
"""Maximum number of characters of a tool's name."""


def plain(name: str) -> str:
    """Returns a name without spaces around it and with single spaces inside; some names in ToolBench have more."""
    return ' '.join(name.split())


def _name(value: Any) -> str | None:
    """Returns the tool in a value: a text, an object with one of ``_KEYS``, or a list of one of these; else None."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        value = next((value[key] for key in _KEYS if key in value), None)
    return value if isinstance(value, str) and value.strip() and len(value) <= MAX_NAME_CHARS else None


def named_tool(answer: Any, candidates: Mapping[str, str]) -> tuple[str | None, str, str]:
    """Returns the tool's name in an answer, the parse method, and the reason for a missing name.

    The name of a candidate needs no JSON around it.
    """
    read = read_value(answer, lambda value: _name(value) is not None, NO_CHOICE)
    if read.ok:
        return _name(read.value), read.parse_method, ''
    if read.reason == NO_CHOICE and isinstance(answer, (Answer, str)):
        bare = plain(unfence(strip_reasoning(as_answer(answer).text).text).strip(_MARKS))
        if bare in candidates:
            return bare, 'bare', ''
    return None, 'none', read.reason


def chosen_tool(answer: Any, numbers: Mapping[str, str]) -> tuple[str | None, str, str]:
    """Returns the tool that an answer chooses by number (or the unknown number), the parse method, and the reason.

    The answer is parsed as EasyTool's script does: after the last blank line, ``{"ID": 3}`` or ``{"ID": "3"}``.
    """
    read = read_literal(answer, last_block)
    if not read.ok:
        return None, 'none', read.reason
    if not isinstance(read.value, dict) or 'ID' not in read.value:
        return None, 'none', NO_ID
    number = bounded_text(str(to_jsonable(read.value['ID'])), MAX_NAME_CHARS)
    return numbers.get(number, f'ID {number}'), read.parse_method, ''


# Errors in responses

MAX_HEAD = 300

EMPTY = 'empty'
SERVER = 'server'

_ENVELOPE = '{"error": "'
"""ToolBench's server wraps responses: ``{"error": TEXT, "response": TEXT}``, truncated at the end if it is long."""

KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ('unknown_function', ('no such function name', 'no function named')),
    ('wrong_arguments', ('function executing from', 'missing required parameter', 'tool input parse error')),
    ('timeout', ('timeout error', 'timed out', 'gateway time-out', 'gateway timeout')),
    ('rate_limit', ('rate limit', 'monthly quota', 'daily quota', 'too many requests')),
    ('not_subscribed', ('unsubscribed error', 'not subscribed', 'disabled for your subscription')),
    ('unauthorized', ('unauthorized', 'blocked error', 'forbidden', 'api key', 'apikey', 'access_key', 'access_token')),
    ('unauthorized', ('authorization token', 'consumer key')),
    ('not_found', ('does not exist', 'not found')),
    ('bad_request', ('bad request', 'invalid request')),
    (SERVER, ('status_code=500', 'api not working', 'internal server error', 'server returned non-200')),
    (SERVER, ('message error...', 'no respond due to error')),
)
"""Kind -> words that indicate it; the first match counts. A kind may have several lines."""

_STATUS = re.compile(r"""['"](?:code|status|statuscode)\\?['"]: ?['"]?([45]\d\d)\b""")
_KIND_OF_STATUS = {
    '401': 'unauthorized',
    '403': 'unauthorized',
    '404': 'not_found',
    '408': 'timeout',
    '429': 'rate_limit',
    '504': 'timeout',
}


def _by_words(text: str) -> str:
    head = text[:MAX_HEAD].casefold()
    for kind, words in KINDS:
        if any(word in head for word in words):
            return kind
    status = _STATUS.search(head)
    if status is None:
        return ''
    return _KIND_OF_STATUS.get(status[1], 'bad_request' if status[1].startswith('4') else SERVER)


def _unwrapped(response: str) -> tuple[str, str]:
    """Returns the server's error and the API's text in a wrapped response; otherwise ``''`` and the response."""
    if not response.startswith(_ENVELOPE):
        return '', response
    try:
        error, end = json.JSONDecoder().raw_decode(response[: 20 * MAX_HEAD], len(_ENVELOPE) - 1)
    except (ValueError, RecursionError):
        return response[len(_ENVELOPE) :], ''
    rest = response[end:].partition(':')[2].lstrip()
    return error, rest.removesuffix('}').strip().strip('"')


def error_kind(response: str) -> str:
    """Returns the error of a call: one of ``KINDS`` or ``empty``; ``''`` without a known error.

    Args:
        response: The response, of any length.
    """
    error, content = _unwrapped(response[: 40 * MAX_HEAD].strip())
    kind = _by_words(error) or (SERVER if error else _by_words(content))
    return kind or ('' if content.strip() else EMPTY)
