"""Parses a judge's reply to a question of ToolBench's evaluator: an opinion, or why it is unreadable."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from opencompass_tooleval.agents.toolbench.judge_prompts import INDEX, JudgeQuestion
from opencompass_tooleval.core.calls.answer import strip_reasoning, unfence
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, bounded_text
from opencompass_tooleval.core.text.reading import READ_ERRORS, parse_enclosed
from opencompass_tooleval.judging.judgement import UNREAD, Opinion, Unread, unread_reply

_WRAPPERS = ('arguments', 'parameters', 'function', 'function_call')
"""Keys that hold the arguments of a call in text."""


def no_opinion(unread: Unread, by: str) -> Opinion:
    """Returns the opinion for a reply that could not be parsed."""
    return Opinion('', by, fault=unread.why or UNREAD)


def coin(*what: object) -> bool:
    """Flips a coin; the same ``what`` gives the same result in every process."""
    return hashlib.blake2b('/'.join(map(str, what)).encode('utf-8', 'backslashreplace')).digest()[0] % 2 == 1


def reader(question: JudgeQuestion) -> Callable[[str], Opinion | Unread]:
    """Returns the parser of replies to a question; the parser never raises.

    It looks for the question's key in the reply's JSON object, in a call written as text, or in invalid JSON if all
    occurrences agree; or it accepts the complete reply if it is one of the options. Any other reply gives no opinion:
    never a zero, and never a value quoted from the judged answer.
    """
    return partial(_read, question)


def _read(question: JudgeQuestion, reply: str) -> Opinion | Unread:
    if len(reply) > MAX_CHARS:
        return Unread('too_long')
    text = unfence(strip_reasoning(reply).text).strip()
    bare = _option(question, text)
    if bare:
        return Opinion(bare, question.name)
    parsed = parse_enclosed(text, '{', '}').value
    if isinstance(parsed, dict):
        fields = _fields(question.key, parsed)
        value = _option(question, fields.get(question.key)) if fields else ''
        if not fields or not value or _takes_back(question, text, value):
            return Unread(UNREAD)
        return Opinion(value, question.name, bounded_text(fields.get('content', fields.get('reason'))))
    options = {_option(question, match[1]) for match in _pattern(question).finditer(text)}
    return Opinion(options.pop(), question.name) if len(options) == 1 else unread_reply(reply)


def _takes_back(question: JudgeQuestion, text: str, value: str) -> bool:
    """Tests if another option follows the object, which may then be a quote from the judged answer."""
    following = re.findall(r'\w+', text.rpartition('}')[2])
    return question.key != INDEX and any(option in following for option in question.options if option != value)


def _fields(key: str, parsed: Mapping[Any, Any]) -> dict[str, Any] | None:
    """Returns the object with the key: the outermost object, or the arguments of a call in it."""
    fields = {str(name).strip().casefold(): value for name, value in parsed.items()}
    for _ in range(3):
        if key in fields:
            return fields
        inner = next((fields[name] for name in _WRAPPERS if name in fields), None)
        if isinstance(inner, str):
            try:
                inner = json.loads(inner)
            except READ_ERRORS:
                return None
        if not isinstance(inner, dict):
            return None
        fields = {str(name).strip().casefold(): value for name, value in inner.items()}
    return None


def _option(question: JudgeQuestion, value: Any) -> str:
    """Returns the option that equals a value, or ``''``."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return ''
    word = str(value).strip(' \t\r\n.!`"\'*').casefold() if not isinstance(value, int) or abs(value) < 10 else ''
    if question.key == INDEX:
        word = word.removeprefix('answer_').removesuffix('.0')
    return next((option for option in question.options if option.casefold() == word), '')


def _pattern(question: JudgeQuestion) -> re.Pattern[str]:
    # An option directly follows the marks, since 'Solved' is the end of 'Unsolved'. A reply that repeats the question
    # makes no choice: there '"Unsure" or "Unsolved"' follows.
    marks = '[`"\'*]{0,3}'
    options = '|'.join(question.options)
    several = rf'(?!{marks}\s{{0,9}}(?:or\b|[|/]))'
    return re.compile(rf'\b{question.key}{marks}\s{{0,9}}[:=]\s{{0,9}}{marks}({options})\b{several}', re.IGNORECASE)
