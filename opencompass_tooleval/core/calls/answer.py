"""Extracts the scored text from a model's answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.core.calls.harmony import is_harmony, read_harmony
from opencompass_tooleval.core.calls.observed import OBSERVED, Observed, observed_payload, read_observed
from opencompass_tooleval.core.calls.tool_calls import ToolCall, read_calls, written_payload
from opencompass_tooleval.core.scoring.usage import Usage, read_usage
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, TOO_LONG

TRUNCATED_REASONING = 'answer:truncated_reasoning'
EMPTY = 'answer:empty'

_MOST_STORED = 5 * MAX_CHARS
CUT = 'length'
"""Finish reason of an answer that was cut at the token limit."""
STOP = 'stop'
"""Finish reason of an answer that the model ended."""
ENDINGS = 'endings'
"""Key of a result with notes on how its answers ended (:class:`~opencompass_tooleval.tasks.ToolEvalEvalTask`)."""
ONLY_THOUGHTS = 'Start the server without --reasoning-parser, or let the model think'
"""Advice if the member for thoughts contains the whole text of an answer."""

# Not re.IGNORECASE: with it 'i' also matches the Turkish dotless i, and 'k' the Kelvin sign.
_THOUGHT = re.compile(r'<(?P<close>/?)[Tt][Hh][Ii][Nn][Kk](?:[Ii][Nn][Gg])?>')

LEADING_MARKS = {
    '[THINK]': '[/THINK]',  # Mistral
    '<mm:think>': '</mm:think>',  # MiniMax M3
    '<seed:think>': '</seed:think>',
    '<|channel>thought': '<channel|>',  # Gemma 4
    '<|inner_prefix|>': '<|inner_suffix|>',  # Apertus
    '<|START_THINKING|>': '<|END_THINKING|>',  # Cohere
    '<|open|>think<|sep|>': '<|close|>think<|sep|>',  # Kimi K3
}
"""Mark before thoughts -> mark after them, removed only if an answer begins with thoughts."""
_LEADING = re.compile(rf'\s*(?:(?P<open>{"|".join(map(re.escape, LEADING_MARKS))})|<think:(?P<word>[\w-]{{1,32}})>)')
_RESPONSES = {
    '<|START_RESPONSE|>': '<|END_RESPONSE|>',
    '<|START_TEXT|>': '<|END_TEXT|>',
    '<|open|>response<|sep|>': '<|close|>response<|sep|>',
}
"""Marks around the answer, used by families that mark thoughts in the same way."""


@dataclass(frozen=True)
class Answer:
    """A model's answer: its text, why a text is missing, how it ended, its calls and its usage.

    It is not a string: OpenCompass gets :attr:`text` where it accepts nothing else. ``str`` shows all values.

    Attributes:
        text: The text; ``''`` if the answer is missing.
        reason: Why the answer is missing; None if it is not.
        finish_reason: ``stop``, :data:`CUT`, or another value from the server; None if unknown.
        recorded_shape: Published format of a recorded answer's row (``gpt``, ``open``), or None.
        calls: Native calls of offered tools.
        usage: Tokens, seconds and requests; None if unknown.
        has_content: True if the server sent content with the calls, even if empty, which ToolBench's loops count as a
            thought; False if the content is null.
        observed: Records of how the server made the answer: one, or those of a dialogue; empty if not requested.
        server_words: The server's error message if the answer is missing; ``''`` without one.
        sent: Members of the server's message for the next request of a dialogue, from
            :func:`~opencompass_tooleval.core.calls.sent.sent_of`; None if there are none.
    """

    text: str
    reason: str | None = None
    finish_reason: str | None = None
    recorded_shape: str | None = None
    calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    has_content: bool = False
    observed: tuple[Observed, ...] = ()
    server_words: str = ''
    sent: Mapping[str, Any] | None = None


def as_answer(text: Answer | str) -> Answer:
    """Converts a text to an answer without other values; returns an answer unchanged."""
    return text if isinstance(text, Answer) else Answer(text)


CALLS, USAGE, HAS_CONTENT = 'calls', 'usage', 'has_content'
SERVER_WORDS, SENT = 'server_words', 'sent'


def bounded(answer: Answer) -> Answer:
    """Cuts a text longer than any real answer with thoughts: a server may send 32 MB, and each answer is stored."""
    return answer if len(answer.text) <= _MOST_STORED else replace(answer, text=answer.text[:_MOST_STORED])


def extras(answer: Answer) -> dict[str, Any]:
    """Returns the values of an answer to store in a row, except its text and unknown values."""
    rows: dict[str, Any] = {CALLS: written_payload(answer.calls)} if answer.calls else {}
    if answer.calls and answer.has_content and not visible_text(answer).text:  # otherwise the text shows it
        rows[HAS_CONTENT] = True
    rows |= {USAGE: answer.usage.to_payload()} if answer.usage else {}
    rows |= {OBSERVED: observed_payload(answer.observed)} if answer.observed else {}
    return {**rows, SERVER_WORDS: answer.server_words} if answer.server_words else rows


def step_payloads(answer: Answer) -> dict[str, Any]:
    """Returns an answer's usage, the number of its record, and the server's members as JSON values, if known."""
    usage = {USAGE: answer.usage.to_payload()} if answer.usage else {}
    place = {OBSERVED: answer.observed[-1].number} if answer.observed else {}
    return {**usage, **place, **({SENT: answer.sent} if answer.sent else {})}


def with_extras(answer: Answer, row: Mapping[str, Any]) -> Answer:
    """Adds the values that :func:`extras` stored in a row to an answer.

    Raises:
        ValueError: The calls or the records cannot be read.
    """
    sent = row.get(SENT)
    return replace(
        answer,
        calls=read_calls(row.get(CALLS)),
        usage=read_usage(row.get(USAGE)),
        has_content=row.get(HAS_CONTENT) is True,
        observed=read_observed(row, answer.text),
        sent=sent or None if isinstance(sent, dict) else None,
    )


def strip_reasoning(text: str) -> Answer:
    """Removes thoughts: in ``<think>`` or ``<thinking>`` (in any case), or in channels of harmony.

    Thoughts in :data:`LEADING_MARKS` or ``<think:word>`` are removed only at the beginning. Elsewhere these marks are
    text, since an answer may quote them.

    Args:
        text: Raw model output.

    Returns:
        The text before the first ``<think>`` and after the last ``</think>``. If the first tag is a closing one, the
        thoughts began in the prompt (as in some chat templates), and all text before it is removed. For channels,
        the result of :func:`~opencompass_tooleval.core.calls.harmony.read_harmony`. Unfinished thoughts are removed; if
        nothing else is left, the answer is empty, with reason ``answer:truncated_reasoning``.
    """
    text, unfinished = _without_leading(text)
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


def _without_leading(text: str) -> tuple[str, bool]:
    """Returns the text without leading thoughts, and True if they are unfinished."""
    position = 0
    while mark := _LEADING.match(text, position):
        close = LEADING_MARKS[mark['open']] if mark['open'] else f'</think:{mark["word"]}>'
        end = text.find(close, mark.end())
        if end < 0:
            return '', True
        position = end + len(close)
    if not position:
        position = _end_of_opened(text)
    if not position:
        return text, False
    rest = text[position:]
    for begin, close in _RESPONSES.items():
        if rest.lstrip().startswith(begin):
            return rest.lstrip()[len(begin) :].partition(close)[0], False
    return rest, False


def _end_of_opened(text: str) -> int:
    """Returns the end position of thoughts that the prompt began; 0 if there are none.

    The closing mark must end a line, or be followed by another mark. Within a sentence (``[/THINK]`` ends thoughts) it
    is text.
    """
    for mark, close in LEADING_MARKS.items():
        place = text.find(close)
        after = text[place + len(close) :]
        if place >= 0 and mark not in text[:place] and (not after or after[0] == '\n' or after.startswith('<|')):
            return place + len(close)
    return 0


def clean(answer: Answer) -> Answer:
    """Removes thoughts and calls; returns an answer with a reason unchanged."""
    return answer if answer.reason else strip_reasoning(answer.text)


def postprocessed(answers: Sequence[Any], postprocess: Callable[[list[str]], Iterable[str]]) -> list[Any]:
    """Extracts the scored parts of answers. An answer with only thoughts gets the reason for its missing text.

    Args:
        answers: Answers of a model, or recorded ones. A value that is already parsed, such as a list, stays unchanged.
        postprocess: Extracts a part from each text.
    """
    read = [answer for answer in answers if isinstance(answer, Answer)]
    texts = ['' if answer.reason else answer.text for answer in read]
    parts = iter(
        Answer('', answer.reason, calls=answer.calls)
        if answer.reason
        else Answer(part, None if part else strip_reasoning(text).reason, calls=answer.calls)
        for answer, text, part in zip(read, texts, postprocess(texts), strict=True)
    )
    return [next(parts) if isinstance(answer, Answer) else answer for answer in answers]


def why_unread(answer: Answer) -> str:
    """Returns why an answer cannot be read (a failure, too long, or empty); ``''`` if it can."""
    if answer.reason:
        return answer.reason
    return TOO_LONG if len(answer.text) > MAX_CHARS else '' if answer.text.strip() else EMPTY


def visible_text(answer: Answer) -> Answer:
    """Returns the answer's text without thoughts, or the reason why it is missing."""
    is_too_long = len(answer.text) > MAX_CHARS
    visible = answer if is_too_long else clean(answer)
    reason = TOO_LONG if is_too_long else why_unread(visible)
    return Answer('', reason) if reason else Answer(visible.text)


def cut_at(text: str, marks: tuple[str, ...]) -> str:
    """Returns ``text`` up to the first occurrence of any of ``marks``."""
    for mark in marks:
        text = text.partition(mark)[0]
    return text


# '```jsonl' is not json followed by an l; '```[1]```' names no language.
_FENCE = re.compile(r'```(?:json\b\n?|[\w+-]*\n)?')


def unfence(text: str) -> str:
    """Returns the content of the first fenced block, or ``text`` if there is none. A fence need not be closed."""
    opening = _FENCE.search(text)
    if opening is None:
        return text
    return text[opening.end() :].partition('```')[0]
