"""Generated answers of all families: what right servers may make of calls and texts, and what they may not."""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer, visible_text
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.written.reading import read_reference, without_end_tokens
from opencompass_tooleval.extras.attribution.causes import LIMIT, NONE, ORDER, PARSER, REASONING, Attribution, RawText
from opencompass_tooleval.extras.attribution.comparing import Asked, attribute
from opencompass_tooleval.models.api.raw_text import IDS
from opencompass_tooleval.models.api.reply import Reply, answer_of
from tests.core.written_answers import FAMILIES, WrittenAnswer, generate

COUNTS = [pytest.param(15, id='400'), pytest.param(400, id='10,000', marks=pytest.mark.long)]
pytestmark = pytest.mark.parametrize('count', COUNTS)
FRAMED = {'openai', 'muse', 'inkling', 'kimi_k3', 'cohere_command4', 'gigachat3'}
"""Formats whose texts are between marks of their own."""
ALONE = {'llama3_json', 'pythonic'}
"""Formats whose calls have nothing beside them."""
STRIPPED = '<|endoftext|>'
EXACT = 2**53


def attributed(answer: WrittenAnswer, served: Answer, **more: Any) -> Attribution:
    request = Asked(answer.format_name, answer.tools, opened_thoughts=answer.opened_thoughts)
    return attribute(served, RawText(answer.raw, IDS), replace(request, **more))


def reply(answer: WrittenAnswer, content: str, thoughts: str | None = None, finish: str = 'stop') -> Answer:
    hidden = answer.thoughts if thoughts is None else thoughts
    calls = tuple(ToolCall(*call) for call in answer.calls)
    return Answer(f'<think>{hidden}</think>{content}' if hidden else content, None, finish, calls=calls)


@cache
def generated(family: str, seed: int, count: int) -> tuple[WrittenAnswer, ...]:
    return tuple(generate(family, seed, count))


def answers(family: str, seed: int, count: int) -> Iterator[tuple[WrittenAnswer, random.Random]]:
    draw = random.Random(seed)
    yield from ((answer, draw) for answer in generated(family, seed, count))


def has_marks(answer: WrittenAnswer) -> bool:
    """Tests if values have marks that, in a call without its end, begin or end something else."""
    return bool(re.search(r'think>|THINK|\[TOOL_CALLS]', json.dumps(answer.calls)))


def varied(value: Any, draw: random.Random) -> Any:
    """The same JSON value, with other orders of keys, and 2.0 for 2 and the reverse."""
    if isinstance(value, dict):
        items = [(key, varied(item, draw)) for key, item in value.items()]
        draw.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        return [varied(item, draw) for item in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or draw.random() < 0.5 or abs(value) > EXACT:
        return value
    return float(value) if isinstance(value, int) else int(value) if value.is_integer() else value


def message_of(answer: WrittenAnswer, draw: random.Random) -> dict[str, Any]:
    """A message that a right server may make of an answer."""
    calls = []
    for place, (name, arguments) in enumerate(answer.calls):
        call_id = draw.choice(('', f'call_{draw.randrange(10**9):x}', f'functions.{name}:{place}'))
        form: dict[str, Any] = {
            'separators': draw.choice(((',', ':'), (', ', ': '))),
            'indent': draw.choice((None, None, None, 2)),
        }
        text = json.dumps(varied(arguments, draw), ensure_ascii=draw.random() < 0.5, **form)
        calls.append({'id': call_id, 'type': 'function', 'function': {'name': name, 'arguments': text}})
    content: Any = draw.choice(('', '\n\n', ' ')) + answer.content + draw.choice(('', '\n'))
    message: dict[str, Any] = {'role': 'assistant', 'tool_calls': calls or draw.choice(([], None))}
    think = FAMILIES[answer.family].think
    if answer.thoughts and think == ('<think>', '</think>') and draw.random() < 0.3:  # without a parser of thoughts
        opening = '' if answer.opened_thoughts else '<think>\n'
        return {**message, 'content': f'{opening}{answer.thoughts}\n</think>\n\n{content}'}
    if answer.thoughts:
        name = draw.choice(('reasoning_content', 'reasoning'))
        message[name] = draw.choice(('', '\n')) + answer.thoughts + draw.choice(('', '\n'))
    if draw.random() < 0.7:
        content = content.strip() or draw.choice((None, ''))
    return {**message, 'content': content}


def answer_over_http(answer: WrittenAnswer, draw: random.Random) -> Answer:
    finish = 'tool_calls' if answer.calls and draw.random() < 0.8 else 'stop'
    return answer_of(Reply(message_of(answer, draw), finish, None, {}), offers_tools=True)


@pytest.mark.parametrize('family', FAMILIES)
def test_a_right_answer_has_no_fault(family: str, count: int) -> None:
    for answer, draw in answers(family, 2, count):
        given = answer_over_http(answer, draw)
        assert attributed(answer, given).cause == NONE, (answer, given)


def without_a_call(given: Answer, draw: random.Random) -> Answer:
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
def test_a_lost_or_changed_call_is_found(count: int, fault: Any) -> None:
    for family in FAMILIES:
        for answer, draw in answers(family, 3, count):
            if answer.calls:
                found = attributed(answer, fault(answer_over_http(answer, draw), draw))
                assert found.cause in (PARSER, REASONING), answer


@pytest.mark.parametrize('family', FAMILIES)
def test_texts_of_right_servers(family: str, count: int) -> None:
    """Blanks, text after the calls, special tokens in a text, a stop word, and an end token beside ``length``."""
    for answer, draw in answers(family, 11, count):
        served = reply(answer, f'\n{answer.content}  ')
        assert attributed(answer, served).cause == NONE, answer
        settings = {'special_tokens': ('</my_end>',)}
        if answer.format_name in FRAMED | ALONE:
            continue
        after = draw.choice(('Done.', '<tool_response>\nsunny\n</tool_response>', 'name it', '}', f'a {STRIPPED} b'))
        longer = replace(answer, raw=f'{answer.raw}{after}</my_end>', content=f'{answer.content} {after}')
        kept = [answer.content] if answer.calls else []
        for content in (*kept, longer.content, longer.content.replace(STRIPPED, '')):
            found = attributed(longer, reply(longer, content), **settings)
            assert found.cause == NONE, (longer, content, found)
        if not answer.calls and answer.raw.count(answer.content) == 1:
            raw = answer.raw.replace(answer.content, f'{answer.content}\nObservation: a')
            found = attributed(replace(answer, raw=raw), served, stop_words=('\nObservation:',))
            assert found.cause == NONE, (raw, found)


@pytest.mark.parametrize('family', FAMILIES)
def test_texts_of_a_call_that_nobody_can_read(family: str, count: int) -> None:
    """A server returns nothing of it, its text, or its text without special tokens."""
    for answer, draw in answers(family, 12, count):
        if not answer.calls or answer.format_name == 'openai' or has_marks(answer):
            continue
        written = answer.raw.partition(answer.content)[2] if answer.content else answer.raw
        raw = answer.raw[: len(answer.raw) - draw.randrange(1, len(written))]
        broken = replace(answer, raw=f'{raw}<|im_end|>')
        read = read_reference(broken.raw, answer.format_name, answer.tools, answer.opened_thoughts)
        if read.is_unfinished or not any(isinstance(call.arguments, str) for call in read.calls):
            continue
        calls = tuple(call for call in read.calls if isinstance(call.arguments, dict))
        begin = raw.index(answer.thoughts) + len(answer.thoughts) if answer.thoughts else 0
        close = FAMILIES[family].think[1] if answer.thoughts else ''
        whole = raw[raw.find(close, begin) + len(close) if close in raw[begin:] else begin :]
        for content in (answer.content, whole) if answer.format_name not in FRAMED else (answer.content,):
            served = Answer(reply(answer, content).text, None, 'stop', calls=calls if content != whole else ())
            if content != whole or not calls:  # else the readable ones are lost
                assert attributed(broken, served).cause == NONE, (broken, served)


@pytest.mark.parametrize('family', FAMILIES)
def test_an_answer_that_is_cut_anywhere_is_at_its_limit(family: str, count: int) -> None:
    """Within a header too; with an end token it is whole."""
    for answer, draw in answers(family, 13, count):
        raw = answer.raw[: draw.randrange(1, len(answer.raw))]
        if without_end_tokens(raw) != raw or has_marks(answer):
            continue
        cut = replace(answer, raw=raw)
        read = read_reference(raw, answer.format_name, answer.tools, answer.opened_thoughts)
        calls = tuple(call for call in read.calls if isinstance(call.arguments, dict))
        for content in (read.content, '') if read.calls or not read.content else (read.content,):
            served = Answer(f'<think>{read.thoughts}</think>{content}', None, 'length', calls=calls)
            if content or not read.content:
                assert attributed(cut, served).cause == LIMIT, (cut, served)
    ended = replace(answer, raw=f'{answer.raw}<|im_end|>')
    assert attributed(ended, reply(answer, answer.content, finish='length')).cause == NONE


def other_letters(text: str) -> str:
    return text.translate(str.maketrans('eaoi的一", ', 'xyzuX二`;_'))


Fault = Callable[[str], str]
CHANGES: dict[str, Fault] = {
    'cut at <': lambda text: text,  # the model writes one: see below
    'the first half is lost': lambda text: text[(len(text) + 1) // 2 :],
    'the second half is lost': lambda text: text[: len(text) // 2],
    'letters are replaced': other_letters,
    'escaped twice': lambda text: html.escape(html.escape(f'{text} <b> & "c"')),
    'escapes of JSON': lambda text: f'{text}"'.replace('"', '\\"'),
    'a fence is added': lambda text: f'```\n{text}\n```',
    'another text': lambda text: 'The model never wrote this.',
    'more text': lambda text: f'{text} And the model never wrote this.',
    'twice': lambda text: text + text,
    'lost': lambda text: '',
}


@pytest.mark.parametrize('fault', CHANGES)
def test_changed_texts_are_found(count: int, fault: str) -> None:
    checked = 0
    for family in FAMILIES:
        for answer, _ in answers(family, 14, count):
            if not answer.content or answer.raw.count(answer.content) != 1:
                continue
            if fault == 'cut at <':
                longer = f'{answer.content} if 3 < 5 and so on'
                answer = replace(answer, raw=answer.raw.replace(answer.content, longer), content=longer)
                changed = longer.partition('<')[0]
            else:
                changed = CHANGES[fault](answer.content)
            assert attributed(answer, reply(answer, changed)).cause == PARSER, (answer, changed)
            checked += 1
    assert checked > 2 * count


@pytest.mark.parametrize('family', FAMILIES)
def test_thoughts_and_marks_in_a_text_are_found(family: str, count: int) -> None:
    """Thoughts in a text, a text in thoughts, and marks of calls beside the calls."""
    for answer, draw in answers(family, 15, count):
        if answer.thoughts:
            leaked = reply(answer, f'{answer.thoughts}\n{answer.content}', '')
            assert attributed(answer, leaked).cause == REASONING, answer
        if answer.content and not answer.calls:
            hidden = reply(answer, '', f'{answer.thoughts}\n{answer.content}')
            assert attributed(answer, hidden).cause == REASONING, answer
        if answer.calls:
            written = FAMILIES[family].write(answer.calls, draw)
            for left, faults in ((written, [PARSER]), (written[:12], [PARSER, REASONING])):
                served = reply(answer, f'{answer.content}\n{left}')
                if visible_text(served).text.strip() not in ('', answer.content):  # else removed before scoring
                    assert attributed(answer, served).cause in faults, (answer, left)


@pytest.mark.parametrize('family', FAMILIES)
def test_calls_in_another_order_have_their_own_cause(family: str, count: int) -> None:
    for answer, _ in answers(family, 16, count):
        turned = tuple(reversed(answer.calls))
        if [repr(call) for call in turned] != [repr(call) for call in answer.calls]:
            served = reply(replace(answer, calls=turned), answer.content)
            assert attributed(answer, served).cause == ORDER, answer
        if answer.calls:
            served = reply(replace(answer, calls=(*answer.calls, answer.calls[0])), answer.content)
            assert attributed(answer, served).cause == PARSER, answer
