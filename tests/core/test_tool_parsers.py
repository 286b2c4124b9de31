"""Calls written as text: each format of chat templates, and other texts."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from opencompass_tooleval.core.calls.tool_calls import MAX_CALLS, ToolCall, calls_payload
from opencompass_tooleval.core.calls.tool_parsers import NONE, PARSERS, choose_parser, read_written_calls
from opencompass_tooleval.core.text.bounds import MAX_CHARS

PARIS, ROME = ('weather', {'city': 'Paris'}), ('weather', {'city': 'Rome', 'days': 3})

Named = list[tuple[str, Any]]


def read(text: str, parser: str) -> tuple[str, Named]:
    """The content, and the calls without their ids."""
    content, calls = read_written_calls(text, parser)
    return content, [(call.name, call.arguments) for call in calls]


HERMES: list[tuple[str, str | None, Named]] = [
    ('<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>', '', [PARIS]),
    ('<tool_call>{"arguments": {"city": "Paris"}, "name": "weather"}</tool_call>', '', [PARIS]),
    (
        'I look.\n<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call> Wait.',
        'I look.\n Wait.',
        [PARIS],
    ),
    (
        '<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}</tool_call>\n'
        '<tool_call>{"name": "weather", "arguments": {"city": "Rome", "days": 3}}',
        '',
        [PARIS, ROME],
    ),
    (
        '<tool_call>{"name": "weather", "arguments": {"city": "Paris"}}'
        '<tool_call>{"name": "weather", "arguments": {"city": "Rome", "days": 3}}</tool_call>',
        '',
        [PARIS, ROME],
    ),
    ('<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}</tool_call>x', 'x', [('f', {'a': '</tool_call>'})]),
    ('<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>', '', [('f', {'a': 1})]),
    ('<tool_call>{"name": "f"}</tool_call>', '', [('f', {})]),
    ('<tool_call>{"name": "f", "arguments": {"a": "b</tool_call>', '', [('f', '{"name": "f", "arguments": {"a": "b')]),
    ("<tool_call>{'name': 'f'}</tool_call> y", 'y', [('', "{'name': 'f'}")]),
    ('<tool_call>[1]</tool_call>', '', [('', '[1]')]),
    ('<tool_call>', '', [('', '')]),
    ('<think>Shall I <tool_call>{"name": "f"}</tool_call>?</think>No.', None, []),
    ('<think>I shall <tool_call>{"name": "f"}', None, []),
    ('<think>Yes.</think>\n<tool_call>{"name": "f"}</tool_call>', '<think>Yes.</think>', [('f', {})]),
    ('Yes.</think>\nI do <tool_call>{"name": "f"}</tool_call>', 'Yes.</think>I do', [('f', {})]),
    ('{"name": "weather", "arguments": {}}', None, []),
]
LLAMA: list[tuple[str, str | None, Named]] = [
    ('{"name": "weather", "parameters": {"city": "Paris"}}', '', [PARIS]),
    (' \n{"type": "function", "name": "weather", "arguments": {"city": "Paris"}}\n', '', [PARIS]),
    ('<|python_tag|>{"name": "weather", "parameters": {"city": "Paris"}}', '', [PARIS]),
    (
        '{"name": "weather", "parameters": {"city": "Paris"}}; '
        '{"name": "weather", "parameters": {"city": "Rome", "days": 3}}',
        '',
        [PARIS, ROME],
    ),
    ('Well <|python_tag|>{"name": "weather", "parameters": {"city": "Paris"}} done', 'Well done', [PARIS]),
    (
        '{"name": "weather", "parameters": {"city": "Pa',
        '',
        [('weather', '{"name": "weather", "parameters": {"city": "Pa')],
    ),
    ('<|python_tag|>search.call(query="a")', '', [('', 'search.call(query="a")')]),
    ('{"name": "Bob", "age": 3}', None, []),
    ('{"answer": 42}', None, []),
    ('The call is {"name": "f", "parameters": {}}', None, []),
    ('{"name": "f", "parameters": {"a": ";"}};{"name": "g"', '', [('f', {'a': ';'}), ('g', '{"name": "g"')]),
]
MISTRAL: list[tuple[str, str | None, Named]] = [
    ('[TOOL_CALLS] [{"name": "weather", "arguments": {"city": "Paris"}, "id": "VvvODy9mT"}]', '', [PARIS]),
    (
        '[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Paris"}}, '
        '{"name": "weather", "arguments": {"city": "Rome", "days": 3}}]',
        '',
        [PARIS, ROME],
    ),
    ('[TOOL_CALLS]weather[ARGS]{"city": "Paris"}', '', [PARIS]),
    ('[TOOL_CALLS]weather{"city": "Paris"}', '', [PARIS]),
    ('[TOOL_CALLS]weather[CALL_ID]VvvODy9mT[ARGS]{"city": "Paris"}', '', [PARIS]),
    (
        'Hm.[TOOL_CALLS]weather[ARGS]{"city": "Paris"}[TOOL_CALLS]weather[ARGS]{"city": "Rome", "days": 3} ok',
        'Hm. ok',
        [PARIS, ROME],
    ),
    ('[TOOL_CALLS]f[ARGS]{"a": "[TOOL_CALLS]"}', '', [('f', {'a': '[TOOL_CALLS]'})]),
    ('[TOOL_CALLS]f[ARGS]{"a": [TOOL_CALLS]g[ARGS]{}', '', [('f', '{"a":'), ('g', {})]),
    ('[TOOL_CALLS] [{"name": "f", "arguments": {"a', '', [('f', '[{"name": "f", "arguments": {"a')]),
    ('[TOOL_CALLS] [3, {"name": "f", "arguments": {}}]', '', [('', '3'), ('f', {})]),
    ('[TOOL_CALLS]', '', [('', '')]),
    ('[{"name": "f", "arguments": {}}]', None, []),
]
PYTHONIC: list[tuple[str, str | None, Named]] = [
    ("[weather(city='Paris')]", '', [PARIS]),
    ("[weather(city='Paris'), weather(city='Rome', days=3)]", '', [PARIS, ROME]),
    ("<|python_start|>[weather(city='Paris')]<|python_end|>", '', [PARIS]),
    ('Hm.<|python_start|>[weather(city="Paris")]<|python_end|> ok', 'Hm. ok', [PARIS]),
    (
        '[ g( ) , a.b.c( x = [1, {"y": (2, 3)}], z=None, w=true)]',
        '',
        [('g', {}), ('a.b.c', {'x': [1, {'y': [2, 3]}], 'z': None, 'w': True})],
    ),
    (r"[f(a='it\'s ) , ]', b=-1.5)]", '', [('f', {'a': "it's ) , ]", 'b': -1.5})]),
    ("[f(a=1), g(b='x", '', [('f', {'a': 1}), ('g', "b='x")]),
    ("[f(os.system('rm'))]", '', [('f', "os.system('rm')")]),
    ('[f(a=__import__("os"))]', '', [('f', 'a=__import__("os")')]),
    ('[f(a=1, a=2)]', '', [('f', 'a=1, a=2')]),
    ('[f(a==2)]', '', [('f', 'a==2')]),
    ('[f(**{"a": 1})]', '', [('f', '**{"a": 1}')]),
    ('[1, 2]', None, []),
    ('f(a=1)', None, []),
    ('[]', None, []),
]
CASES = [
    pytest.param(parser, *case, id=f'{parser}-{number}')
    for parser, cases in (('hermes', HERMES), ('llama3_json', LLAMA), ('mistral', MISTRAL), ('pythonic', PYTHONIC))
    for number, case in enumerate(cases)
]


@pytest.mark.parametrize(('parser', 'text', 'content', 'calls'), CASES)
def test_calls_are_read_and_taken_out(parser: str, text: str, content: str | None, calls: Named) -> None:
    """A content of None is the whole text: there is no call in it."""
    assert read(text, parser) == (text if content is None else content, calls)


@pytest.mark.parametrize(
    ('template', 'parser'),
    [
        ("{{ '<tool_call>' }}", 'hermes'),
        ("{{ '<tool_call>\\n<function=' }}", NONE),
        ("{{ '<tool_call>' + name + '<arg_key>' }}", NONE),
        ("{{ '[TOOL_CALLS]' }}", 'mistral'),
        ("{{ '<|python_tag|>' }}", 'llama3_json'),
        ('Respond in the format {"name": function name, "parameters": dictionary}', 'llama3_json'),
        ("{{ '<|python_start|>' }}", 'pythonic'),
        ('[func_name1(params_name1=params_value1)]', 'pythonic'),
        ('{{ message.content }}', NONE),
    ],
)
def test_a_template_tells_its_parser(template: str, parser: str) -> None:
    assert choose_parser(template) == parser and parser in PARSERS


def test_ids_are_unlike_and_the_same_each_time() -> None:
    text = '<tool_call>{"name": "f"}</tool_call>' * 3
    ids = [call.id for call in read_written_calls(text, 'hermes')[1]]
    assert len(set(ids)) == 3 and all(len(name) == 9 and name.isalnum() for name in ids)
    assert ids == [call.id for call in read_written_calls(text, 'hermes')[1]]
    assert not set(ids) & {call.id for call in read_written_calls(f'{text} ', 'hermes')[1]}


def written(parser: str, calls: Named) -> str:
    """Calls as a model writes them."""
    if parser == 'hermes':
        objects = (json.dumps({'name': name, 'arguments': value}) for name, value in calls)
        return '\n'.join(f'<tool_call>\n{text}\n</tool_call>' for text in objects)
    if parser == 'llama3_json':
        return '; '.join(json.dumps({'name': name, 'parameters': value}) for name, value in calls)
    if parser == 'mistral':
        return '[TOOL_CALLS]' + json.dumps([{'name': name, 'arguments': value} for name, value in calls])
    keywords = (', '.join(f'{key}={value!r}' for key, value in arguments.items()) for _, arguments in calls)
    return f'[{", ".join(f"{name}({text})" for (name, _), text in zip(calls, keywords, strict=True))}]'


VALUES: list[Any] = [
    '',
    'a "b" \'c\' \\ ;',
    '临安 🌤',
    '</tool_call>',
    '[TOOL_CALLS]',
    '{"a": [',
    1,
    -2.5,
    True,
    None,
    [],
    [1, ['x']],
    {'k': {}},
]


@pytest.mark.parametrize('parser', ['hermes', 'llama3_json', 'mistral', 'pythonic'])
def test_what_is_written_is_read_and_what_is_damaged_raises_nothing(parser: str) -> None:
    draw = random.Random(0)
    for _ in range(200):
        calls: Named = [
            (draw.choice(['f', 'get_weather', 'A_b']), {f'k{n}': draw.choice(VALUES) for n in range(draw.randrange(4))})
            for _ in range(draw.randrange(1, 5))
        ]
        text = written(parser, calls)
        assert read(text, parser) == ('', calls)
        cut = text[: draw.randrange(len(text))]
        place = draw.randrange(len(text))
        spoilt = text[:place] + draw.choice('{}[]()"\'\\,;=<\x00\ud800') + text[place:]
        for damaged in (cut, spoilt, text[::-1]):
            content, found = read_written_calls(damaged, parser)
            json.dumps([content, calls_payload(found)])
            if not found:
                assert content == damaged


UNITS = ('[', '{"a":', '[f(', '[f(a=', '{"name": "f", "arguments": ', '(', '"', '-', '1,', 'a.')


@pytest.mark.parametrize('parser', list(PARSERS))
@pytest.mark.parametrize('mark', ['<tool_call>', '[TOOL_CALLS]', '<|python_tag|>', '<|python_start|>', ''])
@pytest.mark.parametrize(
    'unit', ['[', '{"a":', '[f(', '[f(a=', '{"name": "f", "arguments": ', '(', '"', '-', '1,', 'a.']
)
def test_endless_text_ends(parser: str, mark: str, unit: str) -> None:
    for text in (mark + unit * (150_000 // len(unit)), (mark + unit) * 8_000, '[f(a=' + unit * 60_000):
        content, calls = read_written_calls(text, parser)
        assert len(calls) <= MAX_CALLS
        json.dumps([content, calls_payload(calls)])
    assert read_written_calls('x' * 1_000_000 + mark, parser)[1] == ()


def test_too_long_an_answer_has_no_calls() -> None:
    text = '<tool_call>{"name": "f"}</tool_call>'
    assert read_written_calls(text + ' ' * (MAX_CHARS - len(text)), 'hermes')[1] == (
        ToolCall('f', {}, read_written_calls(text + ' ' * (MAX_CHARS - len(text)), 'hermes')[1][0].id),
    )
    assert read_written_calls(text + ' ' * MAX_CHARS, 'hermes') == (text + ' ' * MAX_CHARS, ())
