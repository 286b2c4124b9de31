"""Text of an answer -> plan or list of items, by the rules of the protocol."""

from __future__ import annotations

import json
from typing import Any

from opencompass_tooleval.core.answer import MAX_CHARS, strip_reasoning, unfence
from opencompass_tooleval.core.parse import Parsed
from opencompass_tooleval.ultratool.protocol import Protocol
from opencompass_tooleval.ultratool.reading_official import read_official
from opencompass_tooleval.ultratool.reading_strict import read_strict
from opencompass_tooleval.ultratool.reading_tries import READ_ERRORS

_MARKS = ('<|im_start|>', '<|im_end|>', '<|im_start|', '<|im_end|')


def read_plan(answer: Any) -> Parsed:
    """Cuts a plan to what the judge is shown: from its first ``1. `` on, without a closing remark.

    Rungs: ``text`` (it begins with ``1. ``, or has none), ``cut``.
    """
    if not isinstance(answer, str):
        return Parsed(None, 'none', 'parse:not_text')
    if len(answer) > MAX_CHARS:
        return Parsed(None, 'none', 'parse:too_long')
    for mark in _MARKS:
        answer = answer.replace(mark, '')
    place = answer.find('1. ')
    if place <= 0:
        return Parsed(answer, 'text')
    plan, blank, last = answer[place:].rpartition('\n\n')
    if blank and not last[:1].isdigit():
        return Parsed(plan, 'cut')
    return Parsed(answer[place:], 'cut')


def clean(answer: Any) -> Any:
    """An answer without a reasoning model's thoughts; a list, and an answer that has a reason to be empty, stay."""
    if not isinstance(answer, str) or getattr(answer, 'reason', None):
        return answer
    return strip_reasoning(answer)


def read(answer: Any, reading: str, protocol: Protocol) -> Parsed:
    """Reads an answer; never raises, whatever it holds.

    Args:
        answer: Its text, or a list that has been read already.
        reading: ``plan``, ``items``, ``calls`` or ``tools``.
        protocol: The rules.
    """
    if reading == 'plan':
        return read_plan(answer)
    return read_strict(answer) if protocol.strict else read_official(answer, reading, protocol.lists)


def is_json(answer: Any) -> bool:
    """Whether an answer is a JSON list as it stands, blanks and one fence around it aside."""
    if not isinstance(answer, str) or len(answer) > MAX_CHARS:
        return isinstance(answer, list)
    text = answer.strip()
    try:
        return isinstance(json.loads(unfence(text) if text.startswith('```') else text), list)
    except READ_ERRORS:
        return False
