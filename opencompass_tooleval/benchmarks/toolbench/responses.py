"""Classifies the error of a call by the words in its response (ToolBench's server, RapidAPI and the APIs).

Only the first ``MAX_HEAD`` characters of a response are searched, since an API reports errors first. The kinds are
ours. An error in other words is not detected.
"""

from __future__ import annotations

import json
import re

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
