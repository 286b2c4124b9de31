"""Parses the text of an answer as a plan or list of items, by the rules of the protocol."""

from __future__ import annotations

import json
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.protocol import Protocol
from opencompass_tooleval.benchmarks.ultratool.reading_official import read_official
from opencompass_tooleval.benchmarks.ultratool.reading_strict import read_strict
from opencompass_tooleval.core.calls.answer import Answer, as_answer, clean, unfence
from opencompass_tooleval.core.text.bounds import MAX_CHARS, TOO_LONG
from opencompass_tooleval.core.text.reading import READ_ERRORS, Parsed, unread

_FIRST_STEP = '1. '
_DIGITS = '0123456789'
# Complete marks first, since the short ones would leave their '>'.
_MARKS = ('<|im_start|>', '<|im_end|>', '<|im_start|', '<|im_end|')


def _cut_plan(text: str) -> str:
    """Cuts a plan as the published evaluation does for the judge, unless it begins with ``1. ``.

    The plan starts at the first ``1. ``, if any; the last of several paragraphs is removed, unless it begins with a
    digit. Paragraphs are split from the left: after ``1. a`` and three line breaks, the third is a last paragraph. A
    refusal in one paragraph stays, since a published judgement quotes one (GPT-3.5, Chinese, row 958).
    """
    if text.strip().startswith(_FIRST_STEP):
        return text
    position = text.find(_FIRST_STEP)
    paragraphs = text[max(0, position) :].split('\n\n')
    if len(paragraphs) > 1 and paragraphs[-1] and paragraphs[-1][0] not in _DIGITS:
        del paragraphs[-1]
    return '\n\n'.join(paragraphs)


def _cut_plan_strictly(text: str) -> str:
    """Cuts the text from the first ``1. `` on, without a closing remark; a text without ``1. `` stays."""
    position = text.find(_FIRST_STEP)
    if position <= 0:
        return text
    plan, blank, last = text[position:].rpartition('\n\n')
    return plan if blank and not last[:1].isdigit() else text[position:]


def read_plan(answer: Any, protocol: Protocol) -> Parsed:
    """Cuts a plan to the part that the judge sees.

    Parse methods: ``text`` (the complete text, except marks of a chat template), ``cut``.
    """
    if not isinstance(answer, str):
        return unread('parse:not_text')
    if len(answer) > MAX_CHARS:
        return unread(TOO_LONG)
    for mark in _MARKS:
        answer = answer.replace(mark, '')
    plan = _cut_plan_strictly(answer) if protocol.strict else _cut_plan(answer)
    return Parsed(plan, 'text' if plan == answer else 'cut')


def without_thoughts(answer: Any) -> Any:
    """Returns an answer without thoughts; a parsed list stays."""
    return clean(as_answer(answer)) if isinstance(answer, (Answer, str)) else answer


def read(answer: Any, reading: str, protocol: Protocol) -> Parsed:
    """Parses an answer; never raises.

    Args:
        answer: An :class:`~opencompass_tooleval.core.calls.answer.Answer` or its text, or a parsed list.
        reading: ``plan``, ``items``, ``names``, ``calls`` or ``tools``.
        protocol: The rules.
    """
    answer = answer.text if isinstance(answer, Answer) else answer
    if isinstance(answer, list) and answer and isinstance(answer[0], str):
        answer = answer[0]  # the authors' files of open models store each answer as the first item of a list
    if reading == 'plan':
        return read_plan(answer, protocol)
    return read_strict(answer) if protocol.strict else read_official(answer, reading, protocol.list_choice)


def is_json(answer: Any) -> bool:
    """Tests if an answer is a JSON list without repairs, except for spaces and one fence around it."""
    answer = answer.text if isinstance(answer, Answer) else answer
    if not isinstance(answer, str) or len(answer) > MAX_CHARS:
        return isinstance(answer, list)
    text = answer.strip()
    try:
        return isinstance(json.loads(unfence(text) if text.startswith('```') else text), list)
    except READ_ERRORS:
        return False
