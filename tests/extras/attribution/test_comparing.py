"""The comparison of a served answer with the raw text, without a server."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import make_call
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from opencompass_tooleval.extras.attribution.causes import (
    LIMIT,
    NONE,
    ORDER,
    PARSER,
    TEMPLATE,
    UNKNOWN,
    Attribution,
    RawText,
)
from opencompass_tooleval.extras.attribution.comparing import Asked, attribute
from opencompass_tooleval.models.api.raw_text import IDS, LOGPROBS
from tests.extras.attribution.shapes import (
    ANSWER,
    END,
    PARIS,
    REQUIRED,
    ROME,
    TOOLS,
    called,
    coder,
    hermes,
    kimi,
    llama,
)


def answer(text: str, *calls: tuple[str, Any], finish: str = 'stop') -> Answer:
    return Answer(text, None, finish, calls=tuple(make_call(*call) for call in calls))


PLAIN = Asked('hermes', ToolSet(TOOLS))
LOST = replace(PLAIN, lost=('tools', 'system text'))
SINGLE = replace(PLAIN, is_single=True)
NO_FORMAT = replace(PLAIN, format_name='none')
HARMONY = replace(PLAIN, format_name='openai')
ONE_NAMED = replace(PLAIN, tool_choice={'type': 'function', 'function': {'name': 'get_weather'}})


@pytest.mark.parametrize(
    ('text', 'cause'), [(None, UNKNOWN), ('', UNKNOWN), ('a' * (MAX_CHARS + 1), UNKNOWN), (ANSWER + END, NONE)]
)
def test_what_is_known_without_raw_text(text: str | None, cause: str) -> None:
    raw = None if text is None else RawText(text, IDS)
    assert attribute(answer(ANSWER), raw, PLAIN).cause == cause
    is_whole = cause == NONE  # by its end token
    assert attribute(answer(ANSWER, finish='length'), raw, PLAIN).cause == (NONE if is_whole else LIMIT)
    found = attribute(answer(ANSWER, finish='length'), raw, LOST)
    assert (found.cause, found.note) == (TEMPLATE, 'the prompt lacks tools, system text')


def test_a_lost_call_is_the_cause_before_the_prompt_and_the_limit() -> None:
    raw = RawText(hermes(ROME, PARIS), IDS)
    assert attribute(answer('', ROME, finish='length'), raw, LOST).cause == PARSER


MUSE = '<|start|>assistant to=user<|message|>It is sunny.<|eot|>'
REPEATED = f'<think>{ANSWER}</think>{ANSWER} So it is.'
QUOTED = json.dumps(json.dumps({'city': 'Paris'}))
"""Quoted arguments that are encoded again stand in the raw text, but what an agent gets is a text."""
QUOTED_CALL = hermes(('get_weather', QUOTED)) + END
REPAIRED = f'{hermes(ROME)}\n<tool_call>\n{{"name": "get_weather", "arguments": {ROME[1]}{END}'
BROKEN = '<tool_call>{"name": "get_weather", "arguments": {"city": "中\\n文", "days": 3'
ONE_DAY = hermes(called('Rome', days=1))
DAYS = ' '.join(f'Day {day}: sun.' for day in range(20))
STOPPED, STOP = 'I look it up.\nObservation: it', replace(PLAIN, stop_words=('\nObservation:',))
Case = tuple[Answer, str, Asked, str]
CASES: dict[str, list[Case]] = {
    'the format is unknown': [
        (answer(ANSWER), ANSWER, NO_FORMAT, UNKNOWN),
        (answer(ANSWER), ANSWER, Asked('none'), NONE),
        (answer('', ROME), llama(*ROME), NO_FORMAT, UNKNOWN),
    ],
    'marks of one format around an offered tool are enough': [
        (given, written, NO_FORMAT, cause)
        for written, causes in (
            (f'<tool_calls>{hermes(ROME)}</tool_calls>', (NONE, PARSER)),  # marks of two formats, and calls in one
            (coder('get_weather', city='Rome'), (NONE, PARSER)),
            (kimi(*ROME), (NONE, PARSER)),
            (hermes(('no_such_tool', '{}')), (UNKNOWN, UNKNOWN)),
            ('<tool_call>', (UNKNOWN, UNKNOWN)),
            (f'{hermes(ROME)}[TOOL_CALLS]get_weather[ARGS]{{"city": "Paris"}}', (UNKNOWN, UNKNOWN)),  # two formats
        )
        for given, cause in zip((answer('', ROME), answer('')), causes, strict=True)
    ],
    'a message of harmony that SGLang returned as it was': [
        (answer(raw), raw, HARMONY, PARSER)
        for header in (
            'commentary to=functions.get_weather <|constrain|>json',
            'analysis to=functions.get_weather code',
        )
        for raw in [f'<|channel|>{header}<|message|>{ROME[1]}<|call|>']
    ],
    'marks of the format around a text without tools': [
        (answer('It is sunny.'), MUSE, Asked('muse'), NONE),
        (answer('It is'), MUSE, Asked('muse'), PARSER),
    ],
    'values are compared as JSON': [
        (answer('', ('get_weather', f'{{"days": {days}, "city": "Rome"}}')), ONE_DAY, PLAIN, cause)
        for days, cause in (('1', NONE), ('1.0', NONE), ('true', PARSER), ('"1"', PARSER), ('2', PARSER))
    ],
    'quoted arguments that are encoded again': [
        (answer('', ('get_weather', QUOTED)), QUOTED_CALL, PLAIN, PARSER),
        (answer('', ('get_weather', json.loads(QUOTED))), QUOTED_CALL, PLAIN, NONE),
    ],
    'a second call that a server repairs': [
        (answer('', ROME, ROME), REPAIRED, PLAIN, NONE),
        (answer('', ROME, ROME, ROME), REPAIRED, PLAIN, PARSER),
    ],
    'what a server adds must stand in the raw text': [
        *(
            (answer('', ('get_weather', f'{{"city": "{city}", "days": {days}}}')), BROKEN, PLAIN, cause)
            for city, days, cause in (
                ('中\\n文', 3, NONE),
                ('中\\n文', 4, PARSER),
                ('文', 3, NONE),
                ('Rome', 3, PARSER),
            )
        ),
        (answer('', ('find_hotel', '{}')), BROKEN, PLAIN, PARSER),
    ],
    'one call is enough where one is allowed': [
        (answer('', ROME), hermes(ROME, PARIS), SINGLE, NONE),
        (answer('', ROME, PARIS), hermes(ROME, PARIS), SINGLE, NONE),
        (answer('', PARIS), hermes(ROME, PARIS), SINGLE, PARSER),
        (answer('', PARIS, ROME), hermes(ROME, PARIS), SINGLE, ORDER),
        (answer(''), hermes(ROME, PARIS), SINGLE, PARSER),
    ],
    'a cut call where it is forced': [
        (answer('', ('get_weather', '{"city":"Ro'), finish='length'), '{"city": "Ro', ONE_NAMED, LIMIT),
        (answer('', finish='length'), REQUIRED[:70], replace(PLAIN, tool_choice='required'), LIMIT),
    ],
    'an answer that repeats its thoughts': [(answer(REPEATED), REPEATED + END, PLAIN, NONE)],
    'a cut answer is compared up to its end': [
        (answer(DAYS, finish='length'), DAYS, PLAIN, LIMIT),
        (answer(DAYS[:-9], finish='length'), DAYS, PLAIN, LIMIT),
        (answer(DAYS[:-90], finish='length'), DAYS, PLAIN, PARSER),
        (answer('', finish='length'), DAYS, PLAIN, PARSER),
        (answer(DAYS.replace('sun', 'rain'), finish='length'), DAYS, PLAIN, PARSER),
        (answer(f'{DAYS} So it is.', finish='length'), DAYS, PLAIN, PARSER),
    ],
    'a stop word ends the text': [
        (answer('I look it up.'), STOPPED, STOP, NONE),
        (answer('I look it up.\nObservation:'), STOPPED, STOP, NONE),
        (answer('I look'), STOPPED, STOP, PARSER),
        (answer('I look it up.'), STOPPED, PLAIN, PARSER),
    ],
    'quoted marks of thoughts': [
        (answer(shown), raw + END, request, NONE)
        for request in (PLAIN, Asked('hermes'))
        for raw, shown in (
            *(
                (text, text)
                for text in ('[/THINK] ends thoughts, and [THINK] begins them.', 'Use </think> at their end.')
            ),
            ('<think>a</think>First.<think>b</think>Then.', '<think>a</think>\nFirst.\n<think>b</think>Then.'),
            ('<think>a</think>Use </think> at the end.', '<think>a</think>Use </think> at the end.'),
        )
    ],
}


@pytest.mark.parametrize('name', CASES)
def test_causes(name: str) -> None:
    for given, raw, request, cause in CASES[name]:
        assert attribute(given, RawText(raw, IDS), request).cause == cause, (given, raw)


@pytest.mark.parametrize(
    ('shown', 'note'),
    [
        ('functions.{}', "the names of all calls begin with 'functions.'"),
        ('{}<|channel|>commentary', "the names of all calls end with '<|channel|>commentary'"),
        ('my_{}', ''),
        ('{}s', ''),
    ],
)
def test_what_all_names_begin_or_end_with_is_said(shown: str, note: str) -> None:
    calls = [(shown.format(name), arguments) for name, arguments in (ROME, ('find_hotel', '{}'))]
    found = attribute(answer('', *calls), RawText(hermes(*calls) + END, IDS), PLAIN)
    assert (found.cause, found.note) == (NONE, note)
    assert attribute(answer('', *calls), None, PLAIN).note == note
    assert attribute(answer('', *calls, ROME), None, PLAIN).note == ''
    if note:
        lost = attribute(answer('', *calls), RawText(hermes(ROME, ('find_hotel', '{}')) + END, IDS), PLAIN)
        assert lost.cause == PARSER and lost.note.endswith(f'; {note}')


def test_logprobs_that_leave_calls_or_pieces_of_a_character_out_are_no_raw_text() -> None:
    found = attribute(answer('I look.', ROME), RawText('I look.', LOGPROBS), PLAIN)
    assert found == Attribution(UNKNOWN, 'logprobs do not contain the calls')
    assert attribute(answer('I look.', ROME), RawText('I look.', IDS), PLAIN).cause == PARSER
    assert attribute(answer('sunny \U0001f324'), RawText('sunny \ufffd\ufffd\ufffd', LOGPROBS), PLAIN).cause == NONE
