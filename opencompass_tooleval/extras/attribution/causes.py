"""The part of a served answer that a server is to blame for, and the raw text that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.calls.tool_calls import ToolCall, read_calls
from opencompass_tooleval.core.text.jsonable import clean_text

SERVING = 'serving'
"""Member of results and their samples with what servers are to blame for."""

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
"""The answer was cut at the limit of tokens."""
NONE = 'serving:none'
"""The server is not to blame."""
UNKNOWN = 'serving:unknown'
"""The server returns no raw text, or its format of calls is unknown."""

CAUSES = (PARSER, ORDER, REASONING, ERROR, TEMPLATE, LIMIT, NONE, UNKNOWN)
COUNTED_IN_POINTS = (PARSER, ORDER, REASONING)
"""Causes with a second reading: the model's text has the answer as it wrote it."""

NAMES = 'the names of all calls'
"""Beginning of a note on names with the same text before or after those of the offered tools."""

MAX_RAW_CHARS = 20_000
"""Maximum number of characters of a raw text that is stored."""


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
        text: Its text, with thoughts in ``<think>``.
        calls: Its calls.
    """

    text: str
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True)
class Attribution:
    """Whose fault an answer is, apart from the model's.

    Attributes:
        cause: One of :data:`CAUSES`.
        note: What happened, in a few words; '' for no fault.
        raw: The raw text, at most :data:`MAX_RAW_CHARS`; '' without one.
        source: Its source; '' without one.
        written: The answer as written, where it differs from the served one.
    """

    cause: str
    note: str = ''
    raw: str = ''
    source: str = ''
    written: Written | None = None


def read_attribution(value: Any) -> Attribution | None:
    """Reads what rows of earlier versions have as ``serving``; None for no value.

    Raises:
        ValueError: It has no known cause, or a member of another type.
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
    """Cuts a raw text in its middle to :data:`MAX_RAW_CHARS`, and cleans it for files."""
    half = MAX_RAW_CHARS // 2 - 10
    return clean_text(text if len(text) <= MAX_RAW_CHARS else f'{text[:half]}\n[...]\n{text[-half:]}')
