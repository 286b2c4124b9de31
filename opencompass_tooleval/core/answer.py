"""Extracts the scored text from a model's answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.core.bounds import MAX_CHARS
from opencompass_tooleval.core.harmony import is_harmony, read_harmony
from opencompass_tooleval.core.tool_calls import ToolCall, read_calls, written_payload
from opencompass_tooleval.core.usage import Usage, read_usage

TRUNCATED_REASONING = 'answer:truncated_reasoning'
EMPTY = 'answer:empty'
TOO_LONG = 'answer:too_long'

CUT = 'length'
"""Finish reason of an answer that was truncated at the limit of tokens."""

# Not re.IGNORECASE: with it 'i' is also the Turkish dotless one, and 'k' the Kelvin sign.
_THOUGHT = re.compile(r'<(?P<close>/?)[Tt][Hh][Ii][Nn][Kk](?:[Ii][Nn][Gg])?>')


@dataclass(frozen=True)
class Answer:
    """What a model answered: its text, why that is empty or ends where it does, its calls and what it cost.

    It is no text: OpenCompass is given :attr:`text`, and only where it takes nothing else.

    Attributes:
        text: What it said; ``''`` where there is no answer.
        reason: Why there is no answer; None if there is.
        finish_reason: ``stop``, :data:`CUT`, or another word of the server's; None where nobody says.
        recorded_shape: Of a recorded answer: the published shape of its row (``gpt``, ``open``), or None.
        calls: Calls of the tools that were offered natively.
        usage: What it cost; None where nobody says.
        has_content: Whether the server sent a content beside the calls, be it empty: ToolBench's loops count that as a
            thought, and none where the content is null.
    """

    text: str
    reason: str | None = None
    finish_reason: str | None = None
    recorded_shape: str | None = None
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    has_content: bool = False

    def __str__(self) -> str:
        raise TypeError('an Answer is no text: take its attribute text')


def as_answer(text: Answer | str) -> Answer:
    """A text as an answer of which nothing else is known; an answer stays as it is."""
    return text if isinstance(text, Answer) else Answer(text)


CALLS, USAGE, HAS_CONTENT = 'calls', 'usage', 'has_content'


def extras(answer: Answer) -> dict[str, Any]:
    """What a row on disk says of an answer beside its text: calls and usage, where there are some."""
    rows: dict[str, Any] = {CALLS: written_payload(answer.calls)} if answer.calls else {}
    if answer.calls and answer.has_content and not visible_text(answer).text:  # else the text says it
        rows[HAS_CONTENT] = True
    return {**rows, USAGE: answer.usage.to_payload()} if answer.usage else rows


def with_extras(answer: Answer, row: Mapping[str, Any]) -> Answer:
    """The inverse of :func:`extras`.

    Raises:
        ValueError: The calls cannot be read.
    """
    has_content = row.get(HAS_CONTENT) is True
    return replace(answer, calls=read_calls(row.get(CALLS)), usage=read_usage(row.get(USAGE)), has_content=has_content)


def strip_reasoning(text: str) -> Answer:
    """Removes a reasoning model's thoughts: in ``<think>`` or ``<thinking>``, in any case, or in channels of harmony.

    Args:
        text: Raw model output.

    Returns:
        The text before the first ``<think>`` and the text after the last ``</think>``. A closing tag that comes first
        ends thoughts that the prompt began (chat templates do so), and all text before it is removed. For channels,
        the result of :func:`~opencompass_tooleval.core.harmony.read_harmony`. Unfinished thoughts are removed; if
        nothing else is left, the answer is empty, with reason ``answer:truncated_reasoning``.
    """
    unfinished = False
    if is_harmony(text):
        harmony = read_harmony(text)
        text, unfinished = harmony.answer, harmony.unfinished
    marks = list(_THOUGHT.finditer(text))
    # By hand: the pattern '<think>.*?</think>' leaves 'c</think>d' of '<think>a<think>b</think>c</think>d'.
    closes = [number for number, mark in enumerate(marks) if mark['close']]
    if closes:
        last = closes[-1]
        before = '' if closes[0] == 0 else text[: marks[0].start()]
        start, marks = marks[last].end(), marks[last + 1 :]
    else:
        before, start = '', 0
    unfinished = unfinished or bool(marks)
    answer = before + text[start : marks[0].start() if marks else len(text)]
    return Answer('', TRUNCATED_REASONING) if unfinished and not answer.strip() else Answer(answer)


def clean(answer: Answer) -> Answer:
    """An answer without a reasoning model's thoughts, and without calls; one with a reason to be empty stays."""
    return answer if answer.reason else strip_reasoning(answer.text)


def why_unread(answer: Answer) -> str:
    """Why there is nothing to read in an answer: it failed, is too long or empty; ``''`` if there is."""
    if answer.reason:
        return answer.reason
    return TOO_LONG if len(answer.text) > MAX_CHARS else '' if answer.text.strip() else EMPTY


def visible_text(answer: Answer) -> Answer:
    """What of an answer is read: all but thoughts. Where that is nothing, its ``reason`` says why."""
    is_too_long = len(answer.text) > MAX_CHARS
    visible = answer if is_too_long else clean(answer)
    reason = TOO_LONG if is_too_long else why_unread(visible)
    return Answer('', reason) if reason else Answer(visible.text)


def cut_at(text: str, marks: tuple[str, ...]) -> str:
    """Returns ``text`` up to the first occurrence of any of ``marks``."""
    for mark in marks:
        text = text.partition(mark)[0]
    return text


# '```jsonl' is no json followed by an l; '```[1]```' names no language.
_FENCE = re.compile(r'```(?:json\b\n?|[\w+-]*\n)?')


def unfence(text: str) -> str:
    """Returns the content of the first fenced block, or ``text`` without one; an unclosed fence ends with the text."""
    opening = _FENCE.search(text)
    if opening is None:
        return text
    return text[opening.end() :].partition('```')[0]
