"""Right servers get no blame: generated answers of many families, served with the differences that servers have."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.written.reading import read_reference, without_end_tokens
from opencompass_tooleval.extras.attribution.causes import LIMIT, NONE, PARSER, REASONING, Attribution, RawText
from opencompass_tooleval.extras.attribution.comparing import Asked, attribute
from opencompass_tooleval.models.api.raw_text import IDS
from opencompass_tooleval.models.api.reply import Reply, answer_of
from tests.core.written_answers import FAMILIES, WrittenAnswer, generate

COUNTS = [pytest.param(15, id='400'), pytest.param(800, id='20,000', marks=pytest.mark.long)]
_EXACT = 2**53


def varied(value: Any, draw: random.Random) -> Any:
    """The same JSON value, with other orders of keys, and 2.0 for 2 and the reverse."""
    if isinstance(value, dict):
        items = [(key, varied(item, draw)) for key, item in value.items()]
        draw.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        return [varied(item, draw) for item in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or draw.random() < 0.5 or abs(value) > _EXACT:
        return value
    return float(value) if isinstance(value, int) else int(value) if value.is_integer() else value


def message_of(answer: WrittenAnswer, draw: random.Random) -> dict[str, Any]:
    """A message that a right server may make of an answer."""
    calls = [
        {
            'id': draw.choice(('', f'call_{draw.randrange(10**9):x}', f'functions.{name}:{place}')),
            'type': 'function',
            'function': {
                'name': name,
                'arguments': json.dumps(
                    varied(arguments, draw),
                    ensure_ascii=draw.random() < 0.5,
                    separators=draw.choice(((',', ':'), (', ', ': '))),
                    indent=draw.choice((None, None, None, 2)),
                ),
            },
        }
        for place, (name, arguments) in enumerate(answer.calls)
    ]
    content: Any = draw.choice(('', '\n\n', ' ')) + answer.content + draw.choice(('', '\n'))
    message: dict[str, Any] = {'role': 'assistant', 'tool_calls': calls or draw.choice(([], None))}
    think = FAMILIES[answer.family].think
    if answer.thoughts and think == ('<think>', '</think>') and draw.random() < 0.3:  # without a parser of thoughts
        opening = '' if answer.opened_thoughts else '<think>\n'
        return {**message, 'content': f'{opening}{answer.thoughts}\n</think>\n\n{content}'}
    if answer.thoughts:
        name = draw.choice(('reasoning_content', 'reasoning'))
        message[name] = draw.choice(('', '\n')) + answer.thoughts + draw.choice(('', '\n'))
    return {
        **message,
        'content': (content or '').strip() or draw.choice((None, '')) if draw.random() < 0.7 else content,
    }


def served(answer: WrittenAnswer, draw: random.Random) -> Answer:
    """The answer of a right server."""
    finish = 'tool_calls' if answer.calls and draw.random() < 0.8 else 'stop'
    return answer_of(Reply(message_of(answer, draw), finish, None, {}), offers_tools=True)


def attributed(answer: WrittenAnswer, served: Answer) -> Attribution:
    request = Asked(answer.format_name, answer.tools, opened_thoughts=answer.opened_thoughts)
    return attribute(served, RawText(answer.raw, IDS), request)


@pytest.mark.parametrize('count', COUNTS)
@pytest.mark.parametrize('family', FAMILIES)
def test_a_right_answer_has_no_fault(family: str, count: int) -> None:
    draw = random.Random(7)
    for answer in generate(family, 2, count):
        given = served(answer, draw)
        assert attributed(answer, given).cause == NONE, (answer, given)


def without_a_call(given: Answer, draw: random.Random) -> Answer:
    """A server that loses a call."""
    lost = draw.randrange(len(given.calls))
    return replace(given, calls=(*given.calls[:lost], *given.calls[lost + 1 :]))


def with_another_value(given: Answer, draw: random.Random) -> Answer:
    """A server that changes a value, or adds one."""
    changed = draw.randrange(len(given.calls))
    call = given.calls[changed]
    key = draw.choice(sorted(call.arguments) or ['more'])
    value = call.arguments.get(key)
    other = f'{value}!' if isinstance(value, str) else str(value)
    calls = list(given.calls)
    calls[changed] = replace(call, arguments={**call.arguments, key: other})
    return replace(given, calls=tuple(calls))


@pytest.mark.parametrize('fault', [without_a_call, with_another_value])
@pytest.mark.parametrize('count', COUNTS)
def test_a_lost_or_changed_call_is_found(count: int, fault: Any) -> None:
    draw = random.Random(9)
    causes: Counter[str] = Counter()
    for family in FAMILIES:
        for answer in generate(family, 3, count):
            if answer.calls:
                causes[attributed(answer, fault(served(answer, draw), draw)).cause] += 1
    assert causes[PARSER] + causes[REASONING] == causes.total()


@pytest.mark.parametrize('count', COUNTS)
def test_a_swallowed_answer_is_found(count: int) -> None:
    for family in FAMILIES:
        for answer in generate(family, 4, count):
            if not answer.calls:
                given = Answer(f'<think>{answer.thoughts}\n{answer.content}', finish_reason='stop')
                assert attributed(answer, given).cause == REASONING, answer


@pytest.mark.parametrize('count', COUNTS)
def test_a_cut_answer_is_at_its_limit(count: int) -> None:
    """Of a cut answer a server may return whole calls, a part of one, or its text."""
    draw = random.Random(5)
    for family in FAMILIES:
        for answer in generate(family, 5, count):
            raw = answer.raw[: draw.randrange(1, len(answer.raw))]
            read = read_reference(raw, answer.format_name, answer.tools, answer.opened_thoughts)
            calls = tuple(call for call in read.calls if not isinstance(call.arguments, str) or draw.random() < 0.5)
            given = Answer(read.text, finish_reason='length', calls=calls)
            causes = (LIMIT,) if without_end_tokens(raw) == raw else (LIMIT, NONE)  # with an end token it is whole
            assert attributed(replace(answer, raw=raw), given).cause in causes, (raw, given)
