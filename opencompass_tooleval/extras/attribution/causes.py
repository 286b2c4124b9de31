"""Causes of errors in served answers that the server is responsible for, and the raw text as evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import ToolCall, read_calls
from opencompass_tooleval.core.text.jsonable import clean_text

SERVING = 'serving'
"""Key in results and their samples for the errors of servers."""

PARSER = 'serving:parser'
"""The model wrote calls or text that the server lost or changed, or the server made up calls."""
ORDER = 'serving:order'
"""The server returned the calls in another order."""
REASONING = 'serving:reasoning'
"""The server put a call or the answer into the thoughts, or thoughts into the answer."""
ERROR = 'serving:error'
"""The server returned an error, since it could not parse the model's text."""
TEMPLATE = 'serving:template'
"""The prompt that the server used lacks tools, system text, earlier calls or the generation prompt."""
LIMIT = 'serving:limit'
"""The answer was cut at the token limit."""
NONE = 'serving:none'
"""The server made no error."""
UNKNOWN = 'serving:unknown'
"""The server does not return the raw text, or its format of calls is unknown."""

CAUSES = (PARSER, ORDER, REASONING, ERROR, TEMPLATE, LIMIT, NONE, UNKNOWN)
COUNTED_IN_POINTS = (PARSER, ORDER, REASONING)
"""Causes whose cost can be scored, since the model's own text has the answer as it wrote it."""

NAMES = 'the names of all calls'
"""Beginning of a note on names of calls that have the same text before or after the names of the offered tools."""

MAX_RAW_CHARS = 20_000
"""Maximum number of characters of a raw text to store."""


@dataclass(frozen=True)
class RawText:
    """A model's text before the server parsed it.

    Attributes:
        text: The text with its special tokens.
        source: How the server returns it, a name of :mod:`~opencompass_tooleval.models.api.raw_text`.
    """

    text: str
    source: str


@dataclass(frozen=True)
class Written:
    """An answer as the model wrote it.

    Attributes:
        text: Text of the answer, with thoughts in ``<think>``.
        calls: The calls in the answer.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True)
class Attribution:
    """The cause of an error in an answer, if not the model.

    Attributes:
        cause: One of :data:`CAUSES`.
        note: What happened, in a few words; '' without an error.
        raw: The raw text, at most :data:`MAX_RAW_CHARS`; '' without one.
        source: How the server returns the raw text; '' without one.
        written: The answer as the model wrote it, if it differs from the served answer.
    """

    cause: str
    note: str = ''
    raw: str = ''
    source: str = ''
    written: Written | None = None


def read_attribution(value: Any) -> Attribution | None:
    """Parses ``serving`` in rows of earlier versions; returns None for None.

    Raises:
        ValueError: The value has no known cause, or a member has another type.
    """
    if value is None:
        return None
    if not isinstance(value, Mapping) or value.get('cause') not in CAUSES:
        raise ValueError("'serving' has no known cause")
    texts = {name: value.get(name) or '' for name in ('note', 'raw', 'source')}
    written = value.get('written')
    if not all(isinstance(text, str) for text in texts.values()) or not isinstance(written, (Mapping, type(None))):
        raise ValueError("'serving' has a member of another type")
    read = Written(str(written.get('text') or ''), read_calls(written.get('calls'))) if written else None
    return Attribution(value['cause'], texts['note'], texts['raw'][:MAX_RAW_CHARS], texts['source'], read)


def bounded_raw(text: str) -> str:
    """Cuts the middle out of a raw text longer than :data:`MAX_RAW_CHARS`, and cleans the text for files."""
    half = MAX_RAW_CHARS // 2 - 10
    return clean_text(text if len(text) <= MAX_RAW_CHARS else f'{text[:half]}\n[...]\n{text[-half:]}')
