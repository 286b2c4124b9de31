"""Calls written as text: each format of chat templates, and other texts."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from opencompass_tooleval.core.calls.tool_calls import MAX_CALLS, calls_payload
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.calls.written.formats import FORMATS, NONE, choose_format
from opencompass_tooleval.core.calls.written.reading import (
    END_TOKENS,
    Reading,
    opens_thoughts,
    read_reference,
    read_required_calls,
    unread_format,
    without_end_tokens,
)
from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from tests.core.written_answers import FAMILIES

PARIS, ROME = ('weather', {'city': 'Paris'}), ('weather', {'city': 'Rome', 'days': 3})

Named = list[tuple[str, Any]]
KINDS = {'city': 'string', 'days': 'integer', 'where': 'object', 'any': ['string', 'integer'], 'now': 'boolean'}
SPOTS = {'spots': {'type': 'array', 'items': {'type': 'object', 'properties': {'lat': {'type': 'number'}}}}}
PROPERTIES = {key: {'type': kind, 'properties': SPOTS} for key, kind in KINDS.items()}
TOOLS = ToolSet([ToolSchema('weather', '', {'type': 'object', 'properties': PROPERTIES})])


F = '<tool_call>{"name": "f"}</tool_call>'
P = '{"name": "weather", "arguments": {"city": "Paris"}}'
R = '{"name": "weather", "arguments": {"city": "Rome", "days": 3}}'
HERMES: list[tuple[str, str | None, Named]] = [
    ('I look.\n<tool_call>\n{"arguments": {"city": "Paris"}, "name": "weather"}\n</tool_call> Wait.', 'I look.\n Wait.',
     [PARIS]),
    (f'<tool_call>{P}</tool_call>\n<tool_call>{R}', '', [PARIS, ROME]),
    (f'<tool_call>{P}<tool_call>{R}</tool_call>', '', [PARIS, ROME]),
    ('<tool_call>{"name": "f", "arguments": {"a": "</tool_call>"}}</tool_call>x', 'x', [('f', {'a': '</tool_call>'})]),
    ('<tool_call>{"name": "f", "arguments": "{\\"a\\": 1}"}</tool_call>', '', [('f', {'a': 1})]),
    ('<tool_call>{"name": "f", "arguments": {"a": "b</tool_call>', '', [('f', '{"name": "f", "arguments": {"a": "b')]),
    ("<tool_call>{'name': 'f'}</tool_call> y", 'y', [('', "{'name': 'f'}")]),
    ('<tool_call>[1]</tool_call>', '', [('', '[1]')]),
    (f'<tool_call>{P}\n{R}</tool_call>', '', [PARIS, ROME]),
    ('[THINK]I <tool_call>{"name": "f"}</tool_call>[/THINK]No.', f'<think>I {F}</think>No.', []),
    ('<tool_call>', '', [('', '')]),
    ('{"name": "weather", "arguments": {}}', None, []),
]  # fmt: skip
LLAMA: list[tuple[str, str | None, Named]] = [
    (' \n{"type": "function", "name": "weather", "arguments": {"city": "Paris"}}\n', '', [PARIS]),
    ('Well <|python_tag|>{"name": "weather", "parameters": {"city": "Paris"}} done', 'Well done', [PARIS]),
    ('{"name": "weather", "parameters": {"city": "Pa', '',
     [('weather', '{"name": "weather", "parameters": {"city": "Pa')]),
    ('<|python_tag|>brave_search.call(query="a")', '', [('brave_search', {'query': 'a'})]),
    ('<|python_tag|>print(1)', '', [('', 'print(1)')]),
    (f'[{P}, {R}]', '', [PARIS, ROME]),
    ('[{"name": "Bob"}]', None, []),
    ('{"name": "Bob", "age": 3}', None, []),
    ('The call is {"name": "f", "parameters": {}}', None, []),
    ('{"name": "f", "parameters": {"a": ";"}};{"name": "g"', '', [('f', {'a': ';'}), ('g', '{"name": "g"')]),
]  # fmt: skip
MISTRAL: list[tuple[str, str | None, Named]] = [
    ('[TOOL_CALLS]weather{"city": "Paris"}', '', [PARIS]),
    ('[TOOL_CALLS]weather[CALL_ID]VvvODy9mT[ARGS]{"city": "Paris"}', '', [PARIS]),
    ('Hm.[TOOL_CALLS]weather[ARGS]{"city": "Paris"}[TOOL_CALLS]weather[ARGS]{"city": "Rome", "days": 3} ok', 'Hm. ok',
     [PARIS, ROME]),
    ('[TOOL_CALLS]f[ARGS]{"a": "[TOOL_CALLS]"}', '', [('f', {'a': '[TOOL_CALLS]'})]),
    ('[TOOL_CALLS]f[ARGS]{"a": [TOOL_CALLS]g[ARGS]{}', '', [('f', '{"a":'), ('g', {})]),
    ('[TOOL_CALLS] [{"name": "f", "arguments": {"a', '', [('f', '[{"name": "f", "arguments": {"a')]),
    ('[TOOL_CALLS] [3, {"name": "f", "arguments": {}}]', '', [('', '3'), ('f', {})]),
    ('[TOOL_CALLS]', '', [('', '')]),
    ('[{"name": "f", "arguments": {}}]', None, []),
]  # fmt: skip
PYTHONIC: list[tuple[str, str | None, Named]] = [
    ('Hm.<|python_start|>[weather(city="Paris")]<|python_end|> ok', 'Hm. ok', [PARIS]),
    ('[ g( ) , a.b.c( x = [1, {"y": (2, 3)}], z=None, w=true)]', '',
     [('g', {}), ('a.b.c', {'x': [1, {'y': [2, 3]}], 'z': None, 'w': True})]),
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
]  # fmt: skip
TYPED = ('weather', {'city': '7', 'days': 7, 'where': {'lat': 1.5}, 'any': 'x', 'now': True, 'other': '7'})
BROKEN = 'city": "Par'
# What is odd in a format: answers as its chat template writes them, ``test_written_answers.py`` reads.
OTHERS: dict[str, list[tuple[str, str | None, Named]]] = {
    'qwen3_coder': [
        ('<tool_call>\n<function=weather>\n<parameter=city>\n7\n</parameter>\n<parameter=days>\n7\n</parameter>\n'
         '<parameter=where>\n{"lat": 1.5}\n</parameter>\n<parameter=any>\nx\n</parameter>\n<parameter=now>\nTrue\n'
         '</parameter>\n<parameter=other>\n7\n</parameter>\n</function>\n</tool_call>', '', [TYPED]),
        ('<function=f>\n</function>', '', [('f', {})]),
        ('<function=weather>\n<parameter=any>\ntrue\n</parameter>\n</function>'
         '<function=weather>\n<parameter=any>\n5\n</parameter>\n</function>', '',
         [('weather', {'any': 'true'}), ('weather', {'any': 5})]),
        ('<tool_call>\n<function=weather>\n<parameter=city>\nPar', '', [('weather', '<parameter=city>\nPar')]),
        ('Use <tool_call> tags.', None, []),
    ],
    'seed_oss': [
        ("<seed:tool_call>\n<function=weather>\n<parameter=where>{'a': True}</parameter>\n</function>", '',
         [('weather', {'where': {'a': True}})])],
    'glm45': [
        ('<tool_call>f\n</tool_call> ok', 'ok', [('f', {})]),
        ('<tool_call>weather\n<arg_key>city</arg_key>\n<arg_va', '', [('weather', '<arg_key>city</arg_key>\n<arg_va')]),
    ],
    'deepseek_v32': [
        ('<｜DSML｜invoke name="f"><｜DSML｜parameter name="a" string="false">"x"</｜DSML｜parameter>'
         '<｜DSML｜parameter name="b" string="true">5</｜DSML｜parameter></｜DSML｜invoke>', '',
         [('f', {'a': 'x', 'b': '5'})])],
    'deepseek_v3': [
        (f'<｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{{"{BROKEN}', '',
         [('weather', f'{{"{BROKEN}')])],
    'deepseek_v31': [
        ('<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": "<｜tool▁call▁end｜>"}', '',
         [('f', {'a': '<｜tool▁call▁end｜>'})])],
    'kimi_k2': [
        ('<|tool_call_begin|>weather<|tool_call_argument_begin|>{"city": "Paris"}', '', [PARIS]),
        ('<|tool_call_begin|>functions.a.b:12<|tool_call_argument_begin|>{}<|tool_call_end|>', '', [('a.b', {})]),
    ],
    'granite': [(f'<|tool_call|>{P}<|/tool_call|>', '', [PARIS])],
    'phi4_mini_json': [
        ('Take functools.partial for that.', None, []),
        (f'functools[{{"name": "weather", "arguments": {{"{BROKEN}', '',
         [('weather', f'[{{"name": "weather", "arguments": {{"{BROKEN}')]),
    ],
    'granite-20b-fc': [(f'<function_call> {P}', '', [PARIS])],
    'internlm': [
        ('I look<|action_start|><|plugin|>\n{"name": "weather", "parameters": {"city": "Paris"}}<|action_end|>',
         'I look', [PARIS])],
    'lfm2': [(f'<|tool_call_start|>[{P}, {R}]<|tool_call_end|>Wait.', 'Wait.', [PARIS, ROME])],
    'olmo3': [
        ('<function_calls>\nf(a=null, b=true)\n</function_calls>', '', [('f', {'a': None, 'b': True})]),
        ('<function_calls>\nnothing', '', [('', 'nothing')]),
    ],
    'functiongemma': [
        ('<start_function_call>call:f{a:{b:[1,<escape>{x: "y"}<escape>]},c:true}<end_function_call>', '',
         [('f', {'a': {'b': [1, '{x: "y"}']}, 'c': True})]),
        ('<start_function_call>call:f{}', '', [('f', {})]),
        ('<start_function_call>call:f{a:', '', [('f', '{a:')]),
    ],
    'kimi_k3': [
        ('<|open|>call tool="f&quot;" index="2"<|sep|><|open|>argument key="a &amp;&quot;" type="object"<|sep|>'
         '{"b": "&amp;"}<|close|>argument<|sep|><|close|>call<|sep|>', '', [('f"', {'a &"': {'b': '&amp;'}})]),
        ('<|open|>call tool="f"<|sep|><|open|>argument key="a" ty', '', [('f', '<|open|>argument key="a" ty')]),
    ],
    'minimax_m3': [
        (']<]minimax[>[<tool_call>]<]minimax[>[<invoke name="weather">]<]minimax[>[<city> a\n]<]minimax[>[</city>'
         ']<]minimax[>[<now>True]<]minimax[>[</now>]<]minimax[>[<where>]<]minimax[>[<spots>\n]<]minimax[>[<item>'
         ']<]minimax[>[<lat>1.5]<]minimax[>[</lat>]<]minimax[>[</item>]<]minimax[>[<item>]<]minimax[>[</item>'
         ']<]minimax[>[</spots>]<]minimax[>[<name>7]<]minimax[>[</name>]<]minimax[>[</where>]<]minimax[>[</invoke>', '',
         [('weather', {'city': ' a\n', 'now': True, 'where': {'spots': [{'lat': 1.5}, {}], 'name': '7'}})]),
        (']<]minimax[>[<invoke name="f">]<]minimax[>[<a>1]<]minimax[>[</b>]<]minimax[>[</invoke>x', 'x',
         [('f', ']<]minimax[>[<a>1]<]minimax[>[</b>')]),
        (']<]minimax[>[<invoke name="f">]<]minimax[>[<a>1', '', [('f', ']<]minimax[>[<a>1')]),
        ('Names ]<]minimax[>[ only', None, []),
    ],
    'deepseek_v41': [
        ('<｜DSML｜ invoke name="f"/>\n<｜DSML｜ invoke name="g">\n{"a": [1]}\n</｜DSML｜ invoke>', '',
         [('f', {}), ('g', {'a': [1]})])],
    'gigachat3': [
        ('I look.<|message_sep|>\n\nfunction call<|role_sep|>\n'
         '{"name": "f", "arguments": {"a": "<|function_call|>"}}</s>', 'I look.', [('f', {'a': '<|function_call|>'})]),
        ('<|function_call|>{"name": "f", "arg', '', [('f', '{"name": "f", "arg')]),
    ],
    'hy_v3': [
        ('a<tool_calls:x1>\n<tool_call:x1>weather<tool_sep:x1>\n<arg_key:x1>city</arg_key:x1>\n<arg_value:x1>'
         '</arg_value></arg_value:x1>\n</tool_call:x1>\n</tool_calls:x1>', 'a',
         [('weather', {'city': '</arg_value>'})]),
        ('<tool_calls><tool_call>f</tool_call></tool_calls>', '', [('f', {})]),
    ],
    'cohere_command4': [
        ('<|START_TEXT|>Hm.<|END_TEXT|><|START_ACTION|>'
         '[{"tool_call_id": "0", "tool_name": "f", "parameters": {"a": 1}}, 3]<|END_ACTION|>', 'Hm.',
         [('f', {'a': 1}), ('', '3')]),
        ('<|START_RESPONSE|>Hm.<|END_RESPONSE|><|END_OF_TURN_TOKEN|>', 'Hm.', []),
    ],
    'apertus': [
        ('<|inner_prefix|>Go.<|tools_prefix|>[{"f": {"a": 1}}, {"g": null}, {"h": {}, "i": {}}]<|tools_suffix|>',
         '<think>Go.</think>', [('f', {'a': 1}), ('g', {}), ('', '{"h": {}, "i": {}}')])],
    'inkling': [
        ('<|message_model|>f<|content_invoke_tool_json|>{"name": "f", "args": {"a": "<|end_message|>"}}<|end_message|>',
         '', [('f', {'a': '<|end_message|>'})]),
        ('<|content_thinking|>Hm.', '<think>Hm.', []),
    ],
    'muse': [(' to=user<|message|>Hi<|eot|>', 'Hi', [])],
    'minicpm5': [
        ('<function name="weather"><param name="city"><![CDATA[a & </param> ]]>&lt;b&gt; &amp;amp;</param>'
         '<param name="where">{"a": &quot;b&quot;}</param></function> x', 'x',
         [('weather', {'city': 'a & </param> <b> &amp;', 'where': {'a': 'b'}})]),
        ('<function name="f"/>', '', [('f', {})]),
        ('<function name="f"><param name="a"><![CDATA[b', '', [('f', '<param name="a"><![CDATA[b')]),
    ],
    'openai': [
        ('<|channel|>final<|message|>to=functions.f is how one calls.<|return|>', 'to=functions.f is how one calls.',
         []),
        (' to=functions.f<|channel|>commentary json<|message|>{"a": "<|end|><|message|>"}<|call|>', '',
         [('f', {'a': '<|end|><|message|>'})]),
        ('<|start|>assistant to=user<|channel|>final<|message|>Hi', 'Hi', []),
    ],
}  # fmt: skip
ALL = {'hermes': HERMES, 'llama3_json': LLAMA, 'mistral': MISTRAL, 'pythonic': PYTHONIC, **OTHERS}
CASES = [
    pytest.param(parser, *case, id=f'{parser}-{number}')
    for parser, cases in ALL.items()
    for number, case in enumerate(cases)
]


def test_each_format_has_cases() -> None:
    generated = {family.format_name for family in FAMILIES.values()}
    assert {case.values[0] for case in CASES} | generated == set(FORMATS) - {NONE}


@pytest.mark.parametrize(('parser', 'text', 'content', 'calls'), CASES)
def test_calls_are_read_and_taken_out(parser: str, text: str, content: str | None, calls: Named) -> None:
    """A content of None is the whole text: there is no call in it."""
    reading = read_reference(text, parser, TOOLS)
    assert reading.text == (text if content is None else content)
    assert [(call.name, call.arguments) for call in reading.calls] == calls


MARKED = '<tool_call>{"name": "f", "arguments": {"a": "</think><think>"}}</tool_call>'
CALL = ('f', {'a': '</think><think>'})
TO = '<|start|>assistant to=functions.f<|channel|>'
READINGS: list[tuple[str, str, bool, tuple[str, str, Named, bool]]] = [
    ('hermes', f'I do.{F}<|im_end|><|endoftext|>\n', False, ('', 'I do.', [('f', {})], False)),
    ('hermes', f'Hm {F}', True, (f'Hm {F}', '', [], True)),
    ('hermes', f'<think>Hm {F}', False, (f'Hm {F}', '', [], True)),
    ('hermes', f'Hm {F}</think>Ok {F}', False, (f'Hm {F}', 'Ok', [('f', {})], False)),
    ('hermes', f'<thinking>Hm</thinking>{MARKED}', False, ('Hm', '', [CALL], False)),
    ('hermes', MARKED, False, ('', '', [CALL], False)),
    ('hermes', f'Hm</think>{MARKED}', True, ('Hm', '', [CALL], False)),
    ('hermes', f'A <think>Hm</think>{MARKED}', False, ('Hm', 'A', [CALL], False)),
    ('hermes', f'{F}<think>Hm</think>x{F}', False, ('Hm', 'x', [('f', {}), ('f', {})], False)),
    ('hermes', f'<think>a<think>b</think>c</think>{F}', False, ('a<think>b</think>c', '', [('f', {})], False)),
    ('hermes', f'{F} ok <think>Hm', False, ('Hm', 'ok', [('f', {})], True)),
    ('hermes', '<tool_call>{"name": "f"</think>\nNo.', False, ('<tool_call>{"name": "f"', '\nNo.', [], False)),
    ('mistral', '[THINK]Hm[TOOL_CALLS]f[ARGS]{}</s>', False, ('Hm[TOOL_CALLS]f[ARGS]{}', '', [], True)),
    ('gemma4', '<|channel>thought\nHm\n<channel|><|tool_call>call:f{}<tool_call|><|tool_response>', False,
     ('\nHm\n', '', [('f', {})], False)),
    ('openai', f'Hm<|end|>{TO}analysis<|message|>{{}}<|call|>', True, ('Hm', '', [('f', {})], False)),
    ('openai', 'Hm', True, ('Hm', '', [], True)),
    ('openai', '<|channel|>analysis<|message|>Hm<|end|>', False, ('Hm', '', [], False)),
    (NONE, '<|channel|>analysis<|message|>Hm<|end|>', False, ('Hm', '', [], False)),
    (NONE, '<think>Hm</think>Yes.<|eot_id|>', False, ('Hm', 'Yes.', [], False)),
]  # fmt: skip


@pytest.mark.parametrize(('parser', 'text', 'opened', 'parts'), READINGS)
def test_a_raw_text_is_thoughts_content_and_calls(
    parser: str, text: str, opened: bool, parts: tuple[str, str, Named, bool]
) -> None:
    reading = read_reference(text, parser, TOOLS, opened)
    calls = [(call.name, call.arguments) for call in reading.calls]
    assert (reading.thoughts, reading.content, calls, reading.is_unfinished) == parts


def test_end_tokens_are_no_content() -> None:
    for token in END_TOKENS:
        for end in (' ', '', '\n\n'):
            assert without_end_tokens(f'{token} Yes{end}{token}{token}\n{token}') == f'{token} Yes'
        assert without_end_tokens(f'Yes{token} No') == f'Yes{token} No'
    # Marks that look like them stay.
    assert without_end_tokens('<s>old</s>') == without_end_tokens('<s>old</s></s></s>'[:-4]) == '<s>old</s>'
    assert without_end_tokens('Yes<pad><|im_end|><pad>', ['<pad>', '']) == 'Yes'
    assert without_end_tokens('Yes' + '</s>' * 50_000) == 'Yes'


@pytest.mark.parametrize(('text', 'name', 'calls'), [
    ('[{"name": "weather", "parameters": {"city": "Paris"}}]<|im_end|>', '', [PARIS]),
    (f'[{P}, {R}]', '', [PARIS, ROME]),
    (f' {P}', '', [PARIS]),
    ('{"city": "Paris"}', 'weather', [PARIS]),
    ('{"name": "weather", "parameters": {"city": "Paris"}}', 'weather', [PARIS]),
    ('{"name": "Bob"}', 'weather', [('weather', {'name': 'Bob'})]),
    ('{"name": "Bob"}', '', []),
    ('{"city": "Par', 'weather', []),
    ('[3]', 'weather', []),
    ('No.', '', []),
])  # fmt: skip
def test_required_calls_are_json(text: str, name: str, calls: Named) -> None:
    for before, opened, thoughts in (('', False, ''), ('<think>Hm</think>\n', False, 'Hm'), ('Hm</think>', True, 'Hm')):
        reading = read_required_calls(before + text, name, opened)
        assert [(call.name, call.arguments) for call in reading.calls] == calls
        assert reading.thoughts == thoughts and (reading.content == '') == bool(calls)
        assert reading.text.startswith('<think>Hm</think>' if thoughts else reading.content)


def test_a_prompt_tells_if_it_ends_within_thoughts_and_ids_are_those_of_the_text() -> None:
    for end in ('<think>', '<think>\n', '[THINK]', '<|channel|>analysis<|message|>'):
        assert opens_thoughts(f'<|im_start|>assistant\n{end}')
    assert not opens_thoughts('<|im_start|>assistant\n<think>\n\n</think>\n\n') and not opens_thoughts('')
    text = '<tool_call>{"name": "f"}</tool_call>' * 3
    ids = [call.id for call in read_reference(text, 'hermes').calls]
    assert len(set(ids)) == 3 and all(len(name) == 9 and name.isalnum() for name in ids)
    assert ids == [call.id for call in read_reference(text, 'hermes').calls]
    assert not set(ids) & {call.id for call in read_reference(f'{text} ', 'hermes').calls}


@pytest.mark.parametrize(('template', 'parser'), [
    ("{{ '<tool_call>' }}", 'hermes'),
    ("{{ '<tool_call>\\n<function=' }}", 'qwen3_coder'),
    ("{{ '<tool_call>' + name + '<arg_key>' }}", 'glm45'),
    ('{{ "<function=" + name }} {{ "<|python_tag|>" }}', 'llama_function'),
    ('functools[{"name": ...}] <|tool_call|>', 'phi4_mini_json'),
    ('<｜tool▁call▁begin｜>function<｜tool▁sep｜>', 'deepseek_v31'),
    ("{{ '[TOOL_CALLS]' }}", 'mistral'),
    ("{{ '<|python_tag|>' }}", 'llama3_json'),
    ('Respond in the format {"name": function name, "parameters": dictionary}', 'llama3_json'),
    ("{{ '<|python_start|>' }}", 'pythonic'),
    ('[func_name1(params_name1=params_value1)]', 'pythonic'),
    ('Calls are within <tool_call></tool_call>: <tool_calls>[{...}]</tool_calls>', 'jamba'),
    ('{% set token = "]<]minimax[>[" %}<tool_call>', 'minimax_m3'),
    ('<seed:tool_call><function=', 'seed_oss'),
    ('<tool_call>{{ "<|open|>tools<|sep|>" }}', 'kimi_k3'),
    ("{% set d = '｜DSML｜' %}<｜DSML｜ calls> <｜DSML｜ invoke", 'deepseek_v41'),
    ('<｜DSML｜tool_calls>', 'deepseek_v32'),
    ("{% set s = ':x' %}{{ '<tool_calls' + s }}{{ '<tool_sep' + s }}<tool_call><arg_key>", 'hy_v3'),
    ('<tool_calls:x><tool_call:x>', 'hy_v3'),
    ('<｜GCML｜tool_calls>', 'gigachat35'),
    ("{{ 'function call<|role_sep|>' }}", 'gigachat3'),
    ('<|START_ACTION|>', 'cohere_command4'),
    ('<|tools_prefix|>', 'apertus'),
    ('<longcat_tool_call>{"name"', 'longcat'),
    ('<longcat_tool_call>f<longcat_arg_key>', 'longcat_pairs'),
    ('<dots_function_call><invoke name="', 'dots'),
    ('<|message_model|>f<|content_invoke_tool_json|>', 'inkling'),
    ('<atem:function_calls>', 'muse'),
    ('<function name="f"><param name="a">', 'minicpm5'),
    ('<｜tool_call_begin｜><steptml:invoke', 'step3'),
    ('{{ message.content }}', NONE),
])  # fmt: skip
def test_a_template_tells_its_parser(template: str, parser: str) -> None:
    assert choose_format(template) == parser and parser in FORMATS


@pytest.mark.parametrize('family', FAMILIES)
def test_endless_calls_end(family: str) -> None:
    """That any text is read in linear time, ``test_hostile_readers.py`` shows."""
    written = FAMILIES[family].write([('f', {'a': 'x'})], Random(0))
    for text in (written * 1_000, written[: 2 * len(written) // 3] * 1_000):
        reading = read_reference(text, FAMILIES[family].format_name, TOOLS)
        assert len(reading.calls) <= MAX_CALLS
        json.dumps([reading.text, calls_payload(reading.calls)])


def test_too_long_an_answer_has_no_calls() -> None:
    text = '<tool_call>{"name": "f"}</tool_call>'
    (call,) = read_reference(text + ' ' * (MAX_CHARS - len(text)), 'hermes').calls
    assert (call.name, call.arguments) == ('f', {})
    assert read_reference(text + ' ' * MAX_CHARS, 'hermes') == Reading(content=text + ' ' * MAX_CHARS)
    for text in ('<think>' + 'x' * MAX_CHARS, '<|channel|>analysis<|message|>' + 'x' * MAX_CHARS):
        assert read_reference(text, 'openai') == read_reference(text, 'hermes') == Reading(content=text)
        assert read_required_calls(text) == Reading(content=text)


@pytest.mark.parametrize(('text', 'parser', 'marked'), [
    ('<｜DSML｜ calls>\n<｜DSML｜ invoke name="weather">', 'deepseek_v32', 'deepseek_v41'),
    ('<|open|>tools<|sep|>weather<|close|>tools<|sep|>', 'kimi_k3', 'kimi_k3'),
    ('<tool_call>weather\n<arg_key>', 'qwen3_coder', 'glm45'),
    ('A <tool_call> is a mark.', 'mistral', ''),
    ('The weather is fine.', 'hermes', ''),
])  # fmt: skip
def test_marks_of_a_format_without_a_call_are_reported(text: str, parser: str, marked: str) -> None:
    assert unread_format(read_reference(text, parser, TOOLS), TOOLS) == marked
