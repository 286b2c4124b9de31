"""Generated answers of many families, written as their chat templates write them, with what they mean.

Nothing here knows the readers. Each family avoids the texts that are ambiguous in its own format, which has no escape
for them: see :class:`Family`.
"""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet

Calls = Sequence[tuple[str, dict[str, Any]]]
Think = tuple[str, str]
Writer = Callable[[Calls, random.Random], str]
Element = Callable[[str, Any, random.Random], str]

FRAGMENTS = (
    'Paris', 'a "b" c', "it's", '\\', '\\n', '\n', '\n\n', '\t', ' ', '临安', '中文，（是）。', '🌤', 'é', '{',
    '}', '{"a": [', '],', ');', '<tool_call>', '</tool_call>', '</function>', '</parameter>', '<parameter=x>',
    '[TOOL_CALLS]', '[ARGS]', '<|python_tag|>', '<|tool_call_end|>', '<｜tool▁call▁end｜>', '</arg_value>',
    '<arg_key>', '```', '```json', '<end_function_call>', '<tool_call|>', '<escape>', '<|"|>', '</invoke>',
    '</｜DSML｜parameter>', '<|end|>', '<|call|>', '<|message|>', '<|im_end|>', '</s>', '<think>', '</think>',
    '[/THINK]', '<|python_end|>', '</function_calls>', 'null', 'True', '7', '1.5', '-0', 'name=', 'x: y', ':',
    ',', '#', '%s', '&lt;', '$ref', '</TOOLCALL>', ']', 'functions.f:0', 'a\r\nb', '"}', "'}", '{{x}}', '&', ']]>',
    '</param>', '<![CDATA[', '"/>', '<|sep|>', '<|close|>call<|sep|>', '<|END_THINKING|>', '<item>', '</invoke>', 'a.a',
)  # fmt: skip
WORDS = (
    'I look it up.',
    '我来查一下。',
    'Two things are needed:\n- the city\n- the day',
    'Sure!',
    'Let me see…',
    '"Fine", I said; ok?',
)
THOUGHTS = (
    'Need the weather.', '用户想知道天气。', 'First {this}, then [that].\n\nSo:', 'It is 5 > 3, "yes".', "don't",
)  # fmt: skip
KEYS = ('city', 'days', 'where', 'userId', 'max_price', 'q', '日期', 'filter_by', 'x1', 'Name', 'arguments', 'name')
TOOL_NAMES = ('get_weather', 'search', 'Maps-route', 'add_2', 'sendMail', '_private', 'f')


@dataclass(frozen=True)
class Family:
    """How a family writes."""

    format_name: str
    write: Writer
    ends: tuple[str, ...]
    think: Think | None = ('<think>', '</think>')
    avoid: tuple[str, ...] = ()
    """Texts without escape in the format, which are left out of values."""
    has_prose: bool = True
    """Text may be before the calls."""
    max_calls: int = 3
    plain: tuple[str, str] = ('', '')
    """Marks around an answer without calls."""
    keys_in_objects: bool = True
    """Keys within an object may be any text."""
    is_typed_within: bool = True
    """Values within lists and objects have types; else they are texts here."""
    is_opened: bool = True
    """A prompt may end within thoughts."""
    quotes_calls: bool = True
    """Thoughts may have a call in them, which is none."""
    stays_open: bool = False
    """Calls may end thoughts."""


@dataclass(frozen=True)
class WrittenAnswer:
    """An answer, and what it means; its thoughts and content have no blanks at their ends."""

    family: str
    format_name: str
    tools: ToolSet
    raw: str
    opened_thoughts: bool
    thoughts: str
    content: str
    calls: tuple[tuple[str, Any], ...]


def _json(value: Any, draw: random.Random | None = None) -> str:
    """JSON as templates write it; models escape letters now and then."""
    return json.dumps(value, ensure_ascii=draw is not None and draw.random() < 0.2)


def _named(calls: Calls, key: str, draw: random.Random) -> list[str]:
    return [f'{{"name": "{name}", "{key}": {_json(arguments, draw)}}}' for name, arguments in calls]


def _text_or_json(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _in_marks(mark: str) -> Writer:
    return lambda calls, draw: (
        '\n' + '\n'.join(f'<{mark}>\n{text}\n</{mark}>' for text in _named(calls, 'arguments', draw))
    )


def _each(call: str, between: str = '', around: str = '{}') -> Writer:
    """Calls of this form, in which ``{name}`` and ``{json}`` stand for name and arguments."""
    return lambda calls, draw: around.format(
        between.join(call.format(name=name, json=_json(arguments, draw)) for name, arguments in calls)
    )


def _elements(begin: str, element: Element, end: str, around: str = '{}', between: str = '') -> Writer:

    def write(calls: Calls, draw: random.Random) -> str:
        written = (
            begin.format(name=name, number=number)
            + ''.join(element(key, value, draw) for key, value in arguments.items())
            + end
            for number, (name, arguments) in enumerate(calls, 1)
        )
        return around.format(between.join(written))

    return write


def _invokes(prefix: str, before: str, after: str, *, has_types: bool = False, between: str = '\n') -> Writer:
    """Elements ``invoke`` and ``parameter`` with a prefix, in DeepSeek's manner with the type of each value."""

    def element(key: str, value: Any, draw: random.Random) -> str:
        is_text = isinstance(value, str)
        kind = f' string="{_json(is_text)}"' if has_types else ''
        text = value if is_text else _json(value, draw)
        return f'<{prefix}parameter name="{key}"{kind}>{text}</{prefix}parameter>{between}'

    begin = f'<{prefix}invoke name="{{name}}">{between}'
    return _elements(begin, element, f'</{prefix}invoke>', f'{before}{{}}{between}{after}', between)


def _step3(calls: Calls, draw: random.Random) -> str:
    invoke = _invokes('steptml:', '<｜tool_call_begin｜>function<｜tool_sep｜>', '<｜tool_call_end｜>', between='')
    return f'<｜tool_calls_begin｜>{"".join(invoke([call], draw) for call in calls)}<｜tool_calls_end｜>'


_TYPE_NAMES: dict[str, Any] = {
    'string': str, 'boolean': bool, 'number': (int, float), 'array': list, 'object': dict, 'null': type(None),
}  # fmt: skip


def _kimi_k3_element(key: str, value: Any, draw: random.Random) -> str:
    kind = next(name for name, types in _TYPE_NAMES.items() if isinstance(value, types))
    return f'<|open|>argument key="{key}" type="{kind}"<|sep|>{_text_or_json(value)}<|close|>argument<|sep|>'


def _minimax_m3(calls: Calls, draw: random.Random) -> str:
    mark = ']<]minimax[>['

    def written(value: Any) -> str:
        if isinstance(value, (dict, list)):
            items = value.items() if isinstance(value, dict) else (('item', item) for item in value)
            return ''.join(f'{mark}<{key}>{written(item)}{mark}</{key}>' for key, item in items)
        return _text_or_json(value)

    lines = (f'{mark}<invoke name="{name}">{written(arguments)}{mark}</invoke>\n' for name, arguments in calls)
    return f'\n{mark}<tool_call>\n{"".join(lines)}{mark}</tool_call>'


def _minicpm5_element(key: str, value: Any, draw: random.Random) -> str:
    written = _text_or_json(value)
    in_cdata = draw.random() < 0.3
    text = f'<![CDATA[{written.replace("]]>", "]]]]><![CDATA[>")}]]>' if in_cdata else escape(written)
    return f'<param name="{key}">{text}</param>'


def _apertus(calls: Calls, draw: random.Random) -> str:
    listed = ', '.join(_json({name: arguments}, draw) for name, arguments in calls)
    return f'<|tools_prefix|>[{listed}]<|tools_suffix|>'


def _cohere(calls: Calls, draw: random.Random) -> str:
    listed = ',\n'.join(
        f'    {{"tool_call_id": "{number}", "tool_name": "{name}", "parameters": {_json(arguments, draw)}}}'
        for number, (name, arguments) in enumerate(calls)
    )
    return f'<|START_ACTION|>[\n{listed}\n]<|END_ACTION|>'


def _gigachat3(calls: Calls, draw: random.Random) -> str:
    (text,) = _named(calls, 'arguments', draw)
    return draw.choice(('<|function_call|>', 'function call<|role_sep|>\n')) + text


def _muse(calls: Calls, draw: random.Random) -> str:
    invoke = _invokes('atem:', '<atem:function_calls>\n', '</atem:function_calls>')
    return f'<|start|>assistant to=functions.{calls[0][0]}<|message|>{invoke(calls, draw)}<|eom|>'


def _kimi(calls: Calls, draw: random.Random) -> str:
    written = ''.join(
        f'<|tool_call_begin|>functions.{name}:{number}<|tool_call_argument_begin|>{_json(arguments, draw)}'
        '<|tool_call_end|>'
        for number, (name, arguments) in enumerate(calls, draw.randrange(3))
    )
    return f'<|tool_calls_section_begin|>{written}<|tool_calls_section_end|>'


def _qwen_coder_element(key: str, value: Any, draw: random.Random) -> str:
    text = _json(value, draw) if isinstance(value, (dict, list)) else str(value)
    return f'<parameter={key}>\n{text}\n</parameter>\n'


_QWEN_CODER = _elements('\n<tool_call>\n<function={name}>\n', _qwen_coder_element, '</function>\n</tool_call>', '\n{}')


def _pairs(between: str, prefix: str = '', suffix: str = '', separator: str = '', around: str = '') -> Writer:
    """GLM 4.5 has line ends between its marks, 4.7 none; Hunyuan has a suffix in each mark."""
    call, key_mark, value_mark = (f'{prefix}{mark}{suffix}' for mark in ('tool_call', 'arg_key', 'arg_value'))

    def element(key: str, value: Any, draw: random.Random) -> str:
        shown = _text_or_json(value)
        return f'<{key_mark}>{key}</{key_mark}>{between}<{value_mark}>{shown}</{value_mark}>{between}'

    within = f'<{around}{suffix}>{{}}{between}</{around}{suffix}>' if around else '{}'
    return _elements(f'{between}<{call}>{{name}}{separator}{between}', element, f'</{call}>', within)


def _llama3(calls: Calls, draw: random.Random) -> str:
    return draw.choice(('', '<|python_tag|>')) + '; '.join(_named(calls, 'parameters', draw))


def _mistral_list(calls: Calls, draw: random.Random) -> str:
    objects = (f'{text[:-1]}, "id": "{draw.randrange(10**8, 10**9)}"}}' for text in _named(calls, 'arguments', draw))
    return f'[TOOL_CALLS]{draw.choice(("", " "))}[{", ".join(objects)}]'


def _listed(begin: str, end: str, key: str = 'arguments') -> Writer:
    return lambda calls, draw: f'{begin}[{", ".join(_named(calls, key, draw))}]{end}'


def _harmony(calls: Calls, draw: random.Random) -> str:
    """Two ways to write a recipient, in the role or in the channel; the second message names its role again."""
    written = [
        draw.choice(
            (
                f'<|start|>assistant to=functions.{name}<|channel|>{channel} json<|message|>',
                f'<|start|>assistant<|channel|>{channel} to=functions.{name} <|constrain|>json<|message|>',
            )
        )
        + f'{_json(arguments, draw)}<|call|>'
        for name, arguments in calls
        for channel in [draw.choices(('commentary', 'analysis'), (9, 1))[0]]
    ]
    return ''.join(written)


def _python(value: Any, raw_text: bool) -> str:
    return f"'{value}'" if raw_text and isinstance(value, str) else repr(value)


def _keywords(arguments: Mapping[str, Any], raw_text: bool = False) -> str:
    return ', '.join(f'{key}={_python(value, raw_text)}' for key, value in arguments.items())


def _pythonic(calls: Calls, draw: random.Random) -> str:
    written = f'[{", ".join(f"{name}({_keywords(arguments)})" for name, arguments in calls)}]'
    return written if draw.random() < 0.7 else f'<|python_start|>{written}<|python_end|>'


def _lfm2(calls: Calls, draw: random.Random) -> str:
    written = ', '.join(f'{name}({_keywords(arguments, raw_text=True)})' for name, arguments in calls)
    return f'<|tool_call_start|>[{written}]<|tool_call_end|>'


def _olmo3(calls: Calls, draw: random.Random) -> str:
    def element(key: str, value: Any) -> str:
        return f"{key}='{value}'" if isinstance(value, str) else f'{key}={_json(value)}'

    lines = (f'{name}({", ".join(element(*item) for item in arguments.items())})' for name, arguments in calls)
    return '<function_calls>\n{}\n</function_calls>'.format('\n'.join(lines))


def _tool_code(calls: Calls, draw: random.Random) -> str:
    return '```tool_code\n{}\n```'.format('\n'.join(f'{name}({_keywords(arguments)})' for name, arguments in calls))


def _gemma(begin: str, end: str, quote: str) -> Writer:
    def written(value: Any) -> str:
        if isinstance(value, str):
            return f'{quote}{value}{quote}'
        if isinstance(value, bool):
            return _json(value)
        if isinstance(value, dict):
            return '{' + ','.join(f'{key}:{written(item)}' for key, item in sorted(value.items())) + '}'
        return f'[{",".join(map(written, value))}]' if isinstance(value, list) else str(value)

    return lambda calls, draw: ''.join(f'{begin}call:{name}{written(arguments)}{end}' for name, arguments in calls)


_HERMES = _in_marks('tool_call')
_DEEPSEEK = '<｜tool▁calls▁begin｜>{}<｜tool▁calls▁end｜>'

# The templates of LFM2 and OLMo 3 write a text between two quotes, and escape nothing in it.
FAMILIES: Mapping[str, Family] = {
    'Qwen 3': Family('hermes', _HERMES, ('<|im_end|>', '<|im_end|><|endoftext|>')),
    'Hermes': Family('hermes', _HERMES, ('<|im_end|>',), think=None),
    'Granite 4': Family('hermes', _HERMES, ('<|end_of_text|>',), think=None),
    'DeepSeek V3': Family('deepseek_v3', _each(
        '<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{json}\n```<｜tool▁call▁end｜>', '\n', _DEEPSEEK),
        ('<｜end▁of▁sentence｜>',)),
    'DeepSeek V3.1': Family('deepseek_v31', _each(
        '<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{json}<｜tool▁call▁end｜>', '', _DEEPSEEK),
        ('<｜end▁of▁sentence｜>',)),
    **{
        name: Family(
            format_name,
            _invokes(prefix, f'\n\n<{around}>\n', f'</{around}>', has_types=True),
            ends,
            avoid=('</｜DSML｜parameter>',),
        )
        for name, format_name, prefix, around, ends in (
            ('DeepSeek V3.2', 'deepseek_v32', '｜DSML｜', '｜DSML｜function_calls', ('<｜end▁of▁sentence｜>',)),
            ('DeepSeek V4', 'deepseek_v32', '｜DSML｜', '｜DSML｜tool_calls', ('<｜end▁of▁sentence｜>',)),
            ('DeepSeek V4.1', 'deepseek_v41', '｜DSML｜ ', '｜DSML｜ calls', ('<｜end▁of▁sentence｜>',)),
            ('GigaChat 3.5', 'gigachat35', '｜GCML｜', '｜GCML｜tool_calls', ('<|message_sep|>', '</s>')),
        )
    },
    'Kimi K3': Family('kimi_k3', _elements('<|open|>call tool="{name}" index="{number}"<|sep|>', _kimi_k3_element,
        '<|close|>call<|sep|>', '<|open|>tools<|sep|>{}<|close|>tools<|sep|>'),
        ('<|close|>message<|sep|><|end_of_msg|>', '<|close|>message<|sep|>', '<|end_of_msg|>'),
        think=('<|open|>think<|sep|>', '<|close|>think<|sep|>'),
        plain=('<|open|>response<|sep|>', '<|close|>response<|sep|>'), quotes_calls=False, stays_open=True),
    'MiniMax M3': Family('minimax_m3', _minimax_m3, ('[e~[',), think=('<mm:think>', '</mm:think>'),
        keys_in_objects=False, is_typed_within=False),
    'Hunyuan Hy3': Family('hy_v3', _pairs('\n', '', ':opensource', '<tool_sep:opensource>', 'tool_calls'), ('',),
        think=('<think:opensource>', '</think:opensource>')),
    'Hunyuan Hy4': Family('hy_v3', _pairs('', '', ':6124c78e', '', 'tool_calls'), ('',),
        think=('<think:6124c78e>', '</think:6124c78e>')),
    'Hunyuan Hy3 preview': Family('hy_v3', _pairs('\n', '', '', '<tool_sep>', 'tool_calls'), ('',),
        avoid=('</arg_value>',)),
    'GigaChat 3': Family('gigachat3', _gigachat3, ('</s>', '<|message_sep|>'), think=None, max_calls=1,
        plain=('', '<|message_sep|>')),
    'Command A': Family('cohere_command4', _cohere, ('<|END_OF_TURN_TOKEN|>',),
        think=('<|START_THINKING|>', '<|END_THINKING|>'), has_prose=False, plain=('<|START_TEXT|>', '<|END_TEXT|>')),
    'Apertus': Family('apertus', _apertus, ('<|assistant_end|>',), think=('<|inner_prefix|>', '<|inner_suffix|>'),
        quotes_calls=False, stays_open=True),
    'LongCat': Family('longcat', _in_marks('longcat_tool_call'), ('</longcat_s>',),
        think=('<longcat_think>', '</longcat_think>')),
    'LongCat, pairs': Family('longcat_pairs', _pairs('\n', 'longcat_'), ('</longcat_s>',),
        think=('<longcat_think>', '</longcat_think>')),
    'dots': Family('dots', _invokes('', '<dots_function_call>\n', '</dots_function_call>'), ('',),
        avoid=('</parameter>',)),
    'Inkling': Family('inkling', _each(
        '<|message_model|>{name}<|content_invoke_tool_json|>{{"name": "{name}", "args": {json}}}<|end_message|>'),
        ('<|content_model_end_sampling|>',),
        think=('<|message_model|><|content_thinking|>', '<|end_message|>'),
        plain=('<|message_model|><|content_text|>', '<|end_message|>'), is_opened=False, quotes_calls=False),
    'Muse Glimmer': Family('muse', _muse, ('<|eot|>',), think=(' to=self<|message|>', '<|eom|>'),
        plain=('<|start|>assistant to=user<|message|>', '<|eom|>'), is_opened=False, quotes_calls=False),
    'MiniCPM5': Family('minicpm5', _elements('<function name="{name}">', _minicpm5_element, '</function>'),
        ('<|im_end|>',)),
    'Step3': Family('step3', _step3, ('<｜end▁of▁sentence｜>',)),
    'Kimi K2': Family('kimi_k2', _kimi, ('<|im_end|>', '[EOS]')),
    'Qwen3-Coder': Family('qwen3_coder', _QWEN_CODER, ('<|im_end|>',), think=None, avoid=('</parameter>',)),
    'Qwen 3.5': Family('qwen3_coder', _QWEN_CODER, ('<|im_end|>',), avoid=('</parameter>',)),
    'Seed-OSS': Family('seed_oss', _elements('\n<seed:tool_call>\n<function={name}>\n',
        lambda key, value, _: f'<parameter={key}>{value}</parameter>\n', '</function>\n</seed:tool_call>', '\n{}'),
        ('<seed:eos>',), think=('<seed:think>', '</seed:think>'),
        avoid=('</parameter>',)),
    'GLM 4.5': Family('glm45', _pairs('\n'), ('<|observation|>', '<|user|>'), avoid=('</arg_value>',)),
    'GLM 4.7': Family('glm45', _pairs(''), ('<|observation|>', '<|endoftext|>'), avoid=('</arg_value>',)),
    'MiniMax M2': Family('minimax_m2', _invokes('', '\n<minimax:tool_call>\n', '</minimax:tool_call>'), ('[e~[',),
        avoid=('</parameter>',)),
    'gpt-oss': Family('openai', _harmony, ('',), think=('<|channel|>analysis<|message|>', '<|end|>'),
        plain=('<|start|>assistant<|channel|>final<|message|>', '<|return|>')),
    'Llama 3': Family('llama3_json', _llama3, ('<|eot_id|>', '<|eom_id|>'), think=None, has_prose=False),
    'Llama, functions': Family('llama_function', _each('<function={name}>{json}</function>'),
        ('<|eot_id|>', '<|eom_id|>'), think=None),
    'Mistral Nemo': Family('mistral', _mistral_list, ('</s>',), think=None),
    'Mistral': Family('mistral', _each('[TOOL_CALLS]{name}[ARGS]{json}'), ('</s>',), think=('[THINK]', '[/THINK]')),
    'Granite 3': Family('granite', _listed('<|tool_call|>', ''), ('<|end_of_text|>',), think=None),
    'Phi-4-mini': Family('phi4_mini_json', _listed('functools', ''), ('<|end|>', '<|endoftext|>'), think=None),
    'Nemotron': Family('nemotron_json', _listed('<TOOLCALL>', '</TOOLCALL>'), ('<SPECIAL_12>', '<|eot_id|>')),
    'Jamba': Family('jamba', _listed('<tool_calls>', '</tool_calls>'), ('<|eom|>',), think=None),
    'Llama 4': Family('pythonic', _pythonic, ('<|eot|>', '<|eom|>'), think=None, has_prose=False),
    'LFM2': Family('lfm2', _lfm2, ('<|im_end|>',), avoid=("'", '\\', '\r')),
    'OLMo 3': Family('olmo3', _olmo3, ('<|im_end|>',), think=None, avoid=("'", '\\', '\r')),
    'Gemma 3': Family('tool_code', _tool_code, ('<end_of_turn>',), think=None),
    'FunctionGemma': Family('functiongemma', _gemma('<start_function_call>', '<end_function_call>', '<escape>'),
        ('<start_function_response>', '<end_of_turn>', '<eos>'), think=None, avoid=('<escape>',),
        keys_in_objects=False),
    'Gemma 4': Family('gemma4', _gemma('<|tool_call>', '<tool_call|>', '<|"|>'), ('<|tool_response>', '<turn|>'),
        think=('<|channel>thought', '<channel|>'), avoid=('<|"|>',), keys_in_objects=False),
}  # fmt: skip
"""Name of a family -> how it writes."""

# An element's text has no type: where a text and something else are allowed, "7" could be both, so no type is a union
# with text.
TYPES: tuple[Any, ...] = (
    'string', 'string', 'integer', 'number', 'boolean', 'array', 'object', ['integer', 'null'], 'ref', 'enum',
)  # fmt: skip
WHERE = {'type': 'object', 'properties': {'lat': {'type': 'number'}}}


def generate(family: str, seed: int, count: int) -> Iterator[WrittenAnswer]:
    """Yields ``count`` answers of a family; the same ones for the same seed."""
    draw = random.Random(zlib.crc32(family.encode()) + seed)
    for _ in range(count):
        yield _answer(family, FAMILIES[family], draw)


def _answer(name: str, family: Family, draw: random.Random) -> WrittenAnswer:
    tools = [_tool(tool, draw) for tool in draw.sample(TOOL_NAMES, 3)]
    calls = [
        (tool.name, _arguments(tool.parameters['properties'], family, draw))
        for tool in draw.choices(tools, k=draw.choice((0, *range(1, family.max_calls + 1), 1, 1, 1)))
    ]
    prose = draw.choice(WORDS) if not calls or (family.has_prose and draw.random() < 0.4) else ''
    thoughts = ''
    raw, opened = '', False
    if family.think and draw.random() < 0.6:
        thoughts = _thoughts(family, calls, draw)
        opened = family.is_opened and draw.random() < 0.5
        raw = draw.choice(('', '\n')) + family.think[0] if not opened and name != 'gpt-oss' else ''
        raw = family.think[0] if name == 'gpt-oss' and not opened else raw
        stays_open = bool(calls) and family.stays_open and draw.random() < 0.3
        end, prose = ('', '') if stays_open else (f'{family.think[1]}\n\n', prose)
        raw += f'\n{thoughts}\n{end}' if name != 'gpt-oss' else f'{thoughts}{family.think[1]}'
    if name == 'gpt-oss' and calls:
        raw += f'<|start|>assistant<|channel|>commentary<|message|>{prose}<|end|>' if prose else ''
    elif prose:
        raw += family.plain[0] + prose + family.plain[1]
    raw += family.write(calls, draw) if calls else ''
    if name == 'gpt-oss' and not opened:
        raw = raw.removeprefix('<|start|>assistant')  # the end of the prompt
    raw += draw.choice((*family.ends, *family.ends, ''))
    return WrittenAnswer(name, family.format_name, ToolSet(tools), raw, opened, thoughts, prose, tuple(calls))


def _thoughts(family: Family, calls: Calls, draw: random.Random) -> str:
    """Thoughts, some with a call in them, which is none; in Harmony such a message is one."""
    texts = draw.choices(THOUGHTS, k=draw.randrange(1, 4))
    if family.format_name != 'openai' and family.quotes_calls and draw.random() < 0.2:
        texts.append(family.write([('f', {'a': 1})], draw) + ' perhaps.')
    return '\n'.join(texts)


def _tool(name: str, draw: random.Random) -> ToolSchema:
    properties: dict[str, Any] = {}
    for key in draw.sample(KEYS, draw.randrange(5)):
        kind = draw.choice(TYPES)
        if kind == 'ref':
            properties[key] = draw.choice(
                ({'$ref': '#/$defs/Where'}, {'anyOf': [{'$ref': '#/$defs/Where'}, {'type': 'null'}]})
            )
        else:
            properties[key] = {'enum': ['a', 'b b', '7']} if kind == 'enum' else {'type': kind}
    parameters = {'type': 'object', 'properties': properties, '$defs': {'Where': WHERE}}
    return ToolSchema(name, 'Does something.', parameters)


def _arguments(properties: Mapping[str, Any], family: Family, draw: random.Random) -> dict[str, Any]:
    return {key: _value(schema, family, draw) for key, schema in properties.items() if draw.random() < 0.9}


def _value(schema: Mapping[str, Any], family: Family, draw: random.Random) -> Any:
    kind = schema.get('type', 'object')
    if 'enum' in schema:
        return draw.choice(schema['enum'])
    if isinstance(kind, list) or ('anyOf' in schema and draw.random() < 0.3):
        return draw.choice((None, draw.randrange(9))) if isinstance(kind, list) else None
    if kind == 'string':
        return _text(family, draw)
    return _other(kind, family, draw, depth=0)


_LEAVES = ('integer', 'number', 'boolean', 'null')


def _other(kind: str, family: Family, draw: random.Random, depth: int) -> Any:
    if kind == 'integer':
        return draw.choice((0, -7, 42, 10**15, -(2**63), 10**25, draw.randrange(1000)))
    if kind == 'number':
        return draw.choice((0.0, -2.5, 230.0, 1e-7, 1e16, 3, round(draw.uniform(-90, 90), 6), 1.7976931348623157e308))
    if kind == 'boolean':
        return draw.random() < 0.5
    kinds = ('string', *_LEAVES[: None if family.is_typed_within else 0], *(('array', 'object') if depth < 3 else ()))
    if kind == 'null':
        return None
    if kind == 'string':
        return _text(family, draw)
    least = int(depth > 0 and not family.is_typed_within)  # an empty element is a text
    items = [_other(draw.choice(kinds), family, draw, depth + 1) for _ in range(draw.randrange(least, 4))]
    if kind == 'array':
        return items
    keys = [_text(family, draw) if family.keys_in_objects and draw.random() < 0.3 else draw.choice(KEYS) for _ in items]
    return dict(zip(keys, items, strict=True))


def _text(family: Family, draw: random.Random) -> str:
    text = ''.join(draw.choices(FRAGMENTS, k=draw.choice((0, 1, 1, 2, 3, 6))))
    for mark in family.avoid:
        text = text.replace(mark, '')
    return '' if any(mark in text for mark in family.avoid) else text
