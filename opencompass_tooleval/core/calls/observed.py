"""Records of how an answer was made, stored with the answer. Causes of errors are computed from them after the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

OBSERVED = 'observed'
_EARLIER = 'serving'
_TOOLS, _SAME = 'tools', 'same'
"""Member with the offered tools, and its value if they equal those of the answer before."""


@dataclass(frozen=True)
class Observed:
    """The raw text of an answer, and the parts of its request that affect how the text is parsed.

    Attributes:
        raw: The model's text before the server parsed it, with special tokens; '' if unknown.
        source: How the server returned the raw text; '' if it did not.
        format_name: Format of the model's calls, a name of :data:`~.written.formats.FORMATS`.
        opened_thoughts: True if the prompt ends within thoughts.
        lost: Parts of the request that are missing in the server's prompt, from :func:`~.prompt_parts.lost_parts`.
        tool_choice: ``tool_choice`` of the request.
        is_single: True if the request allows only one call.
        stop_words: ``stop`` of the request.
        special_tokens: Tokens in the raw text that servers remove from texts, in addition to ``<|...|>``.
        is_cut: True if the server says that the answer was cut.
        is_call_for_text: True if the server sent a call without text although no tools were offered.
        names: Names of the calls, as the server sent them.
        originals: Sent name of a tool -> its name in the benchmark, if they differ.
        error: The server's error in place of an answer; '' if there was an answer.
        number: Number of the answer in its dialogue, from 1; 0 for a single answer.
        text: The text that the server returned; for a single answer, the text of its row.
        calls: JSON values of the calls that the server returned; for a single answer, those of its row.
        tools: The offered tools, as in a request; for a single answer, those of its row.
        earlier: The finding that an earlier version stored instead of this record.
    """

    raw: str = ''
    source: str = ''
    format_name: str = 'none'
    opened_thoughts: bool = False
    lost: Sequence[str] = ()
    tool_choice: Any = 'auto'
    is_single: bool = False
    stop_words: Sequence[str] = ()
    special_tokens: Sequence[str] = ()
    is_cut: bool = False
    is_call_for_text: bool = False
    names: Sequence[str] = ()
    originals: Mapping[str, str] | None = None
    error: str = ''
    number: int = 0
    text: str | None = None
    calls: Sequence[Any] = ()
    tools: Sequence[Any] = ()
    earlier: Any = None


_DEFAULTS = {field.name: field.default for field in fields(Observed)}
_ANY = ('tool_choice', 'earlier')


def observed_payload(answers: Sequence[Observed]) -> list[dict[str, Any]]:
    """Converts the records of one row to JSON values. Omits empty members and repeated tools."""
    rows: list[dict[str, Any]] = []
    for place, one in enumerate(answers):
        members = {name: value for name, value in vars(one).items() if value != _DEFAULTS[name]}
        row = {name: value for name, value in members.items() if value or _DEFAULTS[name] != ()}
        if place and one.tools and one.tools == answers[place - 1].tools:
            row[_TOOLS] = _SAME
        rows.append(row)
    return rows


def read_observed(row: Mapping[str, Any], text: str) -> tuple[Observed, ...]:
    """Reads the records of a stored row: one for an answer, several for a dialogue, none if none are stored.

    Args:
        row: The row.
        text: The text of its answer.

    Raises:
        ValueError: A record has a member of another type.
    """
    earlier, records = row.get(_EARLIER), row.get(OBSERVED)
    if records is None:
        return () if earlier is None else (Observed(earlier=earlier),)
    if not isinstance(records, list) or not all(isinstance(record, Mapping) for record in records):
        raise ValueError(f'{OBSERVED!r} is not a list of objects')
    found: list[Observed] = []
    single = {'text': text, 'calls': row.get('calls') or (), _TOOLS: row.get(_TOOLS) or ()}
    for record in records:
        whole = record if record.get('number') else {**single, **record}
        values = {name: value for name, value in whole.items() if name in _DEFAULTS}
        if values.get(_TOOLS) == _SAME:
            values[_TOOLS] = found[-1].tools if found else ()
        if bad := [name for name, value in values.items() if not _is_kind(value, name)]:
            raise ValueError(f'{bad[0]!r} of {OBSERVED!r} has another type')
        found.append(Observed(**values))
    return tuple(found)


def with_tools(row: Mapping[str, Any]) -> Any:
    """Returns the stored records of a row, with the row's tools added; None if there are no records."""
    records, tools = row.get(OBSERVED), row.get(_TOOLS)
    if not tools or not isinstance(records, list) or len(records) != 1 or not isinstance(records[0], dict):
        return records
    return [{_TOOLS: tools, **records[0]}]


def _is_kind(value: Any, name: str) -> bool:
    """Tests if a member has the type of its default, and items of the right type."""
    is_list, item = isinstance(_DEFAULTS[name], tuple), Mapping if name in ('calls', _TOOLS) else str
    if is_list or name == 'originals':
        items = value.values() if isinstance(value, Mapping) else value
        return isinstance(value, (list, tuple) if is_list else Mapping) and all(isinstance(one, item) for one in items)
    return name in _ANY or type(value) is (str if name == 'text' else type(_DEFAULTS[name]))
