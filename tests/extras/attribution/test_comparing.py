"""The comparison of a served answer with the raw text: shapes of servers' faults without a server, and its bounds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import make_call
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.text.bounds import MAX_CHARS
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
    FAULTS,
    PARIS,
    REQUIRED,
    RIGHT,
    ROME,
    TOOLS,
    Shape,
    coder,
    glm,
    hermes,
    kimi,
    llama,
)

SHAPES = [
    shape
    for shape in (*FAULTS, *RIGHT)
    if not shape.prompt and shape.status == 200 and shape.finish != 'parse_error' and shape.tools
]


def served(shape: Shape) -> Answer:
    text = shape.content or ''
    if shape.thoughts:
        closing = '</think>' if text or shape.calls else ''
        text = f'<think>{shape.thoughts}{closing}{text}'
    return answer(text, *shape.calls, finish=shape.finish_reason)


def answer(text: str, *calls: tuple[str, Any], finish: str = 'stop') -> Answer:
    return Answer(text, None, finish, calls=tuple(make_call(*call) for call in calls))


def asked(shape: Shape) -> Asked:
    tools = ToolSet(shape.tools, shape.parallel)
    is_single = shape.parallel is False
    return Asked(shape.format_name, tools, shape.tool_choice, is_single, shape.opened_thoughts)


@pytest.mark.parametrize('shape', SHAPES, ids=[shape.name for shape in SHAPES])
def test_each_shape_has_its_cause(shape: Shape) -> None:
    found = attribute(served(shape), RawText(shape.raw, IDS), asked(shape))
    assert (found.cause, found.note, found.raw, found.source) == (shape.cause, shape.note, shape.raw, IDS)
    if found.cause == PARSER:
        assert (found.written is not None and len(found.written.calls) == shape.raw.count('"arguments"')) or (
            shape.format_name != 'hermes'
        )


PLAIN = Asked('hermes', ToolSet(TOOLS))
LOST = Asked('hermes', ToolSet(TOOLS), lost=('tools', 'system text'))


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


def test_an_unknown_format_is_no_acquittal() -> None:
    unknown = Asked('none', ToolSet(TOOLS))
    found = attribute(answer('', ROME), RawText(llama(*ROME), IDS), unknown)
    assert (found.cause, found.note) == (UNKNOWN, UNKNOWN_FORMAT)
    assert attribute(answer(ANSWER), RawText(ANSWER, IDS), unknown).cause == UNKNOWN
    assert attribute(answer(ANSWER), RawText(ANSWER, IDS), Asked('none')).cause == NONE


UNKNOWN_FORMAT = 'the format of calls is unknown: set tokenizer_path or tool_parser'


@pytest.mark.parametrize(
    ('written', 'causes'),
    [
        (hermes(ROME), (NONE, PARSER)),
        (f'<tool_calls>{hermes(ROME)}</tool_calls>', (NONE, PARSER)),  # marks of two formats, and calls in one
        (coder('get_weather', city='Rome'), (NONE, PARSER)),
        (glm('get_weather', city='Rome'), (NONE, PARSER)),
        (kimi(*ROME), (NONE, PARSER)),
        (hermes(('no_such_tool', '{}')), (UNKNOWN, UNKNOWN)),
        ('<tool_call>', (UNKNOWN, UNKNOWN)),
        (f'{hermes(ROME)}[TOOL_CALLS]get_weather[ARGS]{{"city": "Paris"}}', (UNKNOWN, UNKNOWN)),  # two formats
    ],
)
def test_marks_of_one_format_around_an_offered_tool_are_enough(written: str, causes: tuple[str, str]) -> None:
    unknown = Asked('none', ToolSet(TOOLS))
    found = [attribute(given, RawText(written, IDS), unknown).cause for given in (answer('', ROME), answer(''))]
    assert tuple(found) == causes


def test_calls_in_another_order_have_a_cause_of_their_own() -> None:
    raw = RawText(hermes(ROME, PARIS, ROME) + END, IDS)
    found = attribute(answer('', PARIS, ROME, ROME), raw, PLAIN)
    assert (found.cause, found.note) == (ORDER, '3 calls have another order')
    assert found.written is not None and [call.arguments['city'] for call in found.written.calls] == [
        'Rome',
        'Paris',
        'Rome',
    ]
    assert attribute(answer('', ROME, PARIS, ROME), raw, PLAIN).cause == NONE
    assert attribute(answer('', PARIS, ROME), raw, PLAIN).note == 'of 3 calls 1 lost'
    single = Asked('hermes', ToolSet(TOOLS), is_single=True)
    assert attribute(answer('', PARIS, ROME), RawText(hermes(ROME, PARIS), IDS), single).cause == ORDER


SHORT_NAMES = ToolSet([ToolSchema(name, '', {'type': 'object'}) for name in ('get', 'get_all')])


@pytest.mark.parametrize(
    ('before', 'calls'),
    [
        ('', [('get_all', '{}')]),  # 'get' is a part of its name
        ('I call get now.\n', []),
        ('<think>\nI need get, and get again.\n</think>\n', []),
        (f'<think>\nSay {hermes(("get", json.dumps({"a": 2})))}?\n</think>\n', []),
    ],
)
def test_a_call_returned_twice_is_found(before: str, calls: list[tuple[str, str]]) -> None:
    once = ('get', '{"a": "Rome"}')
    raw = RawText(before + hermes(once, *calls) + END, IDS)
    request = Asked('hermes', SHORT_NAMES)
    assert attribute(answer(before, once, *calls), raw, request).cause == NONE
    found = attribute(answer(before, once, *calls, once), raw, request)
    assert (found.cause, found.note) == (PARSER, f'of {1 + len(calls)} calls 1 made up')


def test_a_second_call_that_a_server_repairs_is_no_copy() -> None:
    raw = RawText(f'{hermes(ROME)}\n<tool_call>\n{{"name": "get_weather", "arguments": {ROME[1]}{END}', IDS)
    assert attribute(answer('', ROME, ROME), raw, PLAIN).cause == NONE
    assert attribute(answer('', ROME, ROME, ROME), raw, PLAIN).cause == PARSER


@pytest.mark.parametrize('thoughts', ['I call get_weather.', 'I call\n\nget_weather .'])
def test_a_call_whose_marks_are_in_the_text_is_not_among_the_thoughts(thoughts: str) -> None:
    raw = RawText(f'<think>I call get_weather.</think>{hermes(ROME)}{END}', IDS)
    for left in (hermes(ROME), '<tool_call>get_weather', ''):
        assert attribute(answer(f'<think>{thoughts}</think>{left}'), raw, PLAIN).note == 'of 1 calls 1 lost'
    hidden = answer(f'<think>{thoughts}{hermes(ROME)}</think>')
    assert attribute(hidden, raw, PLAIN).note == 'a call is among the thoughts'


@pytest.mark.parametrize(
    'header', ['commentary to=functions.get_weather <|constrain|>json', 'analysis to=functions.get_weather code']
)
def test_a_call_of_harmony_whose_marks_are_in_the_text_is_lost(header: str) -> None:
    """SGLang returns such messages as they are."""
    raw = f'<|channel|>{header}<|message|>{ROME[1]}<|call|>'
    found = attribute(answer(raw), RawText(raw, IDS), Asked('openai', ToolSet(TOOLS)))
    assert (found.cause, found.note) == (PARSER, 'of 1 calls 1 lost')


@pytest.mark.parametrize(
    ('shown', 'note'),
    [
        ('functions.{}', "the names of all calls begin with 'functions.'"),
        ('default_api.{}', "the names of all calls begin with 'default_api.'"),
        ('{}<|channel|>commentary', "the names of all calls end with '<|channel|>commentary'"),
        ('my_{}', ''),
        ('{}s', ''),
        ('{}', ''),
    ],
)
def test_what_all_names_begin_or_end_with_is_said(shown: str, note: str) -> None:
    calls = [(shown.format(name), arguments) for name, arguments in (ROME, ('find_hotel', '{}'))]
    raw = RawText(hermes(*calls) + END, IDS)
    found = attribute(answer('', *calls), raw, PLAIN)
    assert (found.cause, found.note) == (NONE, note)
    assert attribute(answer('', *calls), None, PLAIN).note == note
    assert attribute(answer('', *calls, ROME), None, PLAIN).note == ''
    if note:
        lost = attribute(answer('', *calls), RawText(hermes(ROME, ('find_hotel', '{}')) + END, IDS), PLAIN)
        assert lost.cause == PARSER and lost.note.endswith(f'; {note}')


def test_texts_without_tools_have_the_marks_of_the_format_around_them() -> None:
    raw = RawText('<|start|>assistant to=user<|message|>It is sunny.<|eot|>', IDS)
    assert attribute(answer('It is sunny.'), raw, Asked('muse')).cause == NONE
    assert attribute(answer('It is'), raw, Asked('muse')).cause == PARSER


def test_the_pieces_of_a_character_that_a_server_returns_by_themselves_are_no_change() -> None:
    assert attribute(answer('sunny \U0001f324'), RawText('sunny \ufffd\ufffd\ufffd', LOGPROBS), PLAIN).cause == NONE


def test_logprobs_that_leave_calls_out_are_no_raw_text() -> None:
    content = RawText('I look.', LOGPROBS)
    assert attribute(answer('I look.', ROME), content, PLAIN) == Attribution(
        UNKNOWN, 'logprobs do not contain the calls'
    )
    assert attribute(answer('I look.', ROME), RawText('I look.', IDS), PLAIN).cause == PARSER


def test_values_are_compared_as_json() -> None:
    raw = RawText(hermes(('get_weather', '{"city": "Rome", "days": 1}')), IDS)
    for days, cause in (('1', NONE), ('1.0', NONE), ('true', PARSER), ('"1"', PARSER), ('2', PARSER)):
        assert attribute(answer('', ('get_weather', f'{{"days": {days}, "city": "Rome"}}')), raw, PLAIN).cause == cause


def test_quoted_arguments_that_are_encoded_again_are_changed() -> None:
    """They stand in the raw text to the letter, but what an agent gets is a text."""
    quoted = json.dumps(json.dumps({'city': 'Paris'}))
    raw = f'<tool_call>\n{{"name": "get_weather", "arguments": {quoted}}}\n</tool_call>{END}'
    request = Asked('hermes', ToolSet(TOOLS))
    assert attribute(answer('', ('get_weather', quoted)), RawText(raw, IDS), request).cause == PARSER
    assert attribute(answer('', ('get_weather', json.loads(quoted))), RawText(raw, IDS), request).cause == NONE


def test_what_a_server_adds_must_stand_in_the_raw_text() -> None:
    broken = RawText('<tool_call>{"name": "get_weather", "arguments": {"city": "中\\n文", "days": 3', IDS)
    for city, days, cause in (('中\\n文', 3, NONE), ('中\\n文', 4, PARSER), ('文', 3, NONE), ('Rome', 3, PARSER)):
        given = answer('', ('get_weather', f'{{"city": "{city}", "days": {days}}}'))
        assert attribute(given, broken, PLAIN).cause == cause
    assert attribute(answer('', ('find_hotel', '{}')), broken, PLAIN).cause == PARSER


def test_one_call_is_enough_where_one_is_allowed() -> None:
    single = Asked('hermes', ToolSet(TOOLS), is_single=True)
    raw = RawText(hermes(ROME, PARIS), IDS)
    assert attribute(answer('', ROME), raw, single).cause == NONE
    assert attribute(answer('', ROME, PARIS), raw, single).cause == NONE
    assert attribute(answer('', PARIS), raw, single).cause == PARSER
    assert attribute(answer(''), raw, single).note == 'of 2 calls 1 lost'


def test_a_named_call_that_is_cut_is_at_its_limit() -> None:
    named = Asked('hermes', ToolSet(TOOLS), {'type': 'function', 'function': {'name': 'get_weather'}})
    given = answer('', ('get_weather', '{"city":"Ro'), finish='length')
    assert attribute(given, RawText('{"city": "Ro', IDS), named).cause == LIMIT


def test_an_answer_may_repeat_its_thoughts() -> None:
    raw = RawText(f'<think>{ANSWER}</think>{ANSWER} So it is.{END}', IDS)
    assert attribute(answer(f'<think>{ANSWER}</think>{ANSWER} So it is.'), raw, PLAIN).cause == NONE


QUOTED = 'The mark [/THINK] ends thoughts, and [THINK] begins them.'


@pytest.mark.parametrize(
    ('raw', 'shown'),
    [
        (QUOTED, QUOTED),
        ('<think>a</think>First.<think>b</think>Then.', '<think>a</think>First.<think>b</think>Then.'),
        ('<think>a</think>First.<think>b</think>Then.', '<think>a</think>\nFirst.\n<think>b</think>Then.'),
        ('Use </think> at the end of them.', 'Use </think> at the end of them.'),
        ('<think>a</think>Use </think> at the end of them.', '<think>a</think>Use </think> at the end of them.'),
    ],
)  # fmt: skip
def test_quoted_marks_of_thoughts_are_no_fault(raw: str, shown: str) -> None:
    for request in (PLAIN, Asked('hermes')):
        assert attribute(answer(shown), RawText(raw + END, IDS), request).cause == NONE


def test_the_text_of_a_cut_answer_is_compared_up_to_its_end() -> None:
    text = ' '.join(f'Day {day}: sun.' for day in range(20))
    raw = RawText(text, IDS)
    for shown, cause in (
        (text, LIMIT),
        (text[:-9], LIMIT),
        (text[:-90], PARSER),
        ('', PARSER),
        (text.replace('sun', 'rain'), PARSER),
        (f'{text} So it is.', PARSER),
    ):
        assert attribute(answer(shown, finish='length'), raw, PLAIN).cause == cause, shown
    required = Asked('hermes', ToolSet(TOOLS), 'required')
    assert attribute(answer('', finish='length'), RawText(REQUIRED[:70], IDS), required).cause == LIMIT


@pytest.mark.parametrize('shown', ['', 'functions.get_wea', 'commentary to=functions.get_wea'])
def test_a_cut_within_a_header_is_a_limit(shown: str) -> None:
    header = '<|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city"'
    thoughts = '<|channel|>analysis<|message|>The traveller asks for Rome.<|end|>'
    for end in range(len(header)):
        given = answer(
            f'<think>The traveller asks for Rome.</think>{shown if shown in header[:end] else ""}', finish='length'
        )
        assert attribute(given, RawText(thoughts + header[:end], IDS), Asked('openai', ToolSet(TOOLS))).cause == LIMIT
        opened = Asked('openai', ToolSet(TOOLS), opened_thoughts=True)
        rest = (thoughts + header[:end]).removeprefix('<|channel|>analysis<|message|>')
        assert attribute(given, RawText(rest, IDS), opened).cause == LIMIT
        as_it_is = answer(rest, finish='length')  # SGLang without a parser of thoughts
        assert attribute(as_it_is, RawText(rest, IDS), opened).cause == LIMIT


def test_a_stop_word_ends_the_text() -> None:
    asked = Asked('hermes', ToolSet(TOOLS), stop_words=('\nObservation:',))
    raw = RawText('I look it up.\nObservation: it', IDS)
    for shown, cause in (('I look it up.', NONE), ('I look it up.\nObservation:', NONE), ('I look', PARSER)):
        assert attribute(answer(shown), raw, asked).cause == cause
    assert attribute(answer('I look it up.'), raw, PLAIN).cause == PARSER
