"""Scores the choice of a tool: one choice and one answer in, one score out (EasyTool, Section 5.1, Figure 3)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.answers import read_value
from opencompass_tooleval.core.calls.answer import Answer, as_answer, strip_reasoning, unfence
from opencompass_tooleval.core.calls.literal_reply import last_block, read_literal
from opencompass_tooleval.core.calls.one_call import UNKNOWN_TOOL
from opencompass_tooleval.core.scoring.refusal import with_refusal
from opencompass_tooleval.core.scoring.result import OK, SampleScore
from opencompass_tooleval.core.text.jsonable import bounded_text, to_jsonable

NO_CHOICE = 'parse:no_choice'
NO_ID = 'id:missing'
WRONG_TOOL = 'name:wrong'

_KEYS = ('tool', 'tool_name', 'name')

_MARKS = '\'"`*. \n'

MAX_NAME_CHARS = 500
"""Maximum number of characters of a tool's name."""


@dataclass(frozen=True)
class Choice:
    """One request and its candidate tools.

    Attributes:
        id: Record id.
        query: The request.
        gold: The gold tool.
        candidates: Names of all candidates, in the order of the prompt.
        ids: Numbers of the candidates, if answers choose by number; otherwise empty.
    """

    id: str
    query: str
    gold: str
    candidates: tuple[str, ...]
    ids: tuple[int | str, ...] = ()

    def to_payload(self) -> str:
        """Converts the choice to JSON text for :func:`parse_choice`."""
        return json.dumps(asdict(self))


def parse_choice(payload: str) -> Choice:
    """Parses the text of :meth:`Choice.to_payload`."""
    raw: dict[str, Any] = json.loads(payload)
    return Choice(**{**raw, 'candidates': tuple(raw['candidates']), 'ids': tuple(raw['ids'])})


def gold_answer(choice: Choice) -> str:
    """Returns the gold answer."""
    if choice.ids:
        return json.dumps({'ID': choice.ids[choice.candidates.index(choice.gold)]}, ensure_ascii=False)
    return json.dumps({'tool': choice.gold}, ensure_ascii=False)


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


def _named_tool(answer: Any, candidates: Mapping[str, str]) -> tuple[str | None, str, str]:
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


def _chosen(answer: Any, numbers: Mapping[str, str]) -> tuple[str | None, str, str]:
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


def score_choice(choice: Choice, answer: Any) -> SampleScore:
    """Scores one answer.

    Returns:
        ``accuracy``: 1 if the answer names the gold tool. ``tool_name_error_rate``: 1 if it names a tool that is not a
        candidate (lower is better). An unreadable answer scores 0 in both. If the choice has ``ids``, the answer is a
        number.
    """
    tool_named = {plain(candidate): candidate for candidate in choice.candidates}
    if choice.ids:
        name, parse_method, reason = _chosen(answer, dict(zip(map(str, choice.ids), choice.candidates, strict=True)))
    else:
        name, parse_method, reason = _named_tool(answer, tool_named)
    tool = tool_named.get(plain(name)) if name is not None else None
    right, unknown = tool == choice.gold, name is not None and tool is None
    if not reason:
        reason = OK if right else UNKNOWN_TOOL if unknown else WRONG_TOOL
    score = SampleScore(
        id=choice.id,
        values={'accuracy': float(right), 'tool_name_error_rate': float(unknown)},
        reason=reason,
        parsed=tool or name,
        parse_method=parse_method,
        gold=choice.gold,
    )
    return with_refusal(score, answer) if isinstance(answer, (Answer, str)) else score


def score_choices(choices: Sequence[Choice], answers: Sequence[Any]) -> list[SampleScore]:
    """Scores a subset: one score per choice, in the same order.

    Raises:
        ValueError: The numbers of choices and answers differ.
    """
    return [score_choice(choice, answer) for choice, answer in zip(choices, answers, strict=True)]
