"""The table of formats in which models write calls.

Sources: the tool-use guide of transformers; Mistral's tokenizers v3 to v13; the chat templates of Hermes 2 Pro, Qwen2.5
(``hermes``), Llama 3.1, 3.2 (``llama3_json``), Llama 4, ToolACE (``pythonic``), and of the models that other rows name;
SGLang's detectors for the models of 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from opencompass_tooleval.core.calls.harmony import CHANNEL, read_harmony_calls
from opencompass_tooleval.core.calls.tool_calls import ToolCall, make_call
from opencompass_tooleval.core.calls.written.json_formats import call_by_key, json_between, read_llama3_json
from opencompass_tooleval.core.calls.written.named_formats import (
    MISTRAL,
    bare_object,
    kimi_name,
    name_then_json,
    read_deepseek,
    read_mistral,
)
from opencompass_tooleval.core.calls.written.pythonic_formats import pythonic_between, read_pythonic
from opencompass_tooleval.core.calls.written.scanning import (
    Reader,
    Schemas,
    broken_call,
    call_of,
    find_first,
    read_blocks,
    skip_mark,
)
from opencompass_tooleval.core.calls.written.xml_formats import (
    ITEM,
    Elements,
    allowed_types,
    child_schema,
    typed_value,
    unescape_xml,
)
from opencompass_tooleval.core.text.jsonable import MAX_DEPTH

MARK = ']<]minimax[>['
_BEGIN, _END = f'{MARK}<invoke name="', f'{MARK}</invoke>'
_AROUND = (f'{MARK}<tool_call>', f'{MARK}</tool_call>')
_TAG = re.compile(re.escape(MARK) + r'\s{0,20}<(/?)([^<>="]{1,256})>')  # does not match the beginning of a call


@dataclass
class _Element:
    """An open element, with the schema of its value and the elements in it."""

    name: str
    schema: Any
    children: list[tuple[str, Any]] = field(default_factory=list)

    def value(self, text: str, whole: Mapping[str, Any]) -> Any:
        """Returns the value; ``text`` is the content of an element without children."""
        types = allowed_types(self.schema, whole)
        if not self.children and not text.strip() and types & {'array', 'object'} and 'string' not in types:
            return [] if 'array' in types else {}
        if not self.children:
            return typed_value(text, types)
        is_list = all(name == ITEM for name, _ in self.children) and ('array' in types or 'object' not in types)
        return [value for _, value in self.children] if is_list else dict(self.children)


def read_minimax_m3(text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
    """Reads ``<invoke name="NAME"><key>value</key></invoke>`` with a mark before each tag."""
    return read_blocks(text, schemas, _BEGIN, _block, _AROUND)


def _block(text: str, position: int, schemas: Schemas) -> tuple[list[ToolCall], int]:
    stop = find_first(text, position, ('">', MARK))
    name = text[position:stop].strip()
    begin = position = skip_mark(text, stop, '">')
    schema = schemas.get(name, {})
    opened = [_Element('', schema)]
    while (start := text.find(MARK, position)) >= 0 and (tag := _TAG.match(text, start)):
        if not tag[1]:
            opened.append(_Element(tag[2], child_schema(opened[-1].schema, schema, tag[2])))
        elif len(opened) == 1 and tag[2] == 'invoke':
            return [make_call(name, dict(opened[0].children))], tag.end()
        elif tag[2] != opened[-1].name or len(opened) > MAX_DEPTH:
            break
        else:
            closed = opened.pop()
            opened[-1].children.append((tag[2], closed.value(text[position:start], schema)))
        position = tag.end()
    stop = find_first(text, begin, (_END, _BEGIN))
    return [broken_call(text[begin:stop], name)], skip_mark(text, stop, _END)


AUTO, NONE, HERMES = 'auto', 'none', 'hermes'
HARMONY = 'openai'

CALL, _CALL_END = '<tool_call>', '</tool_call>'
_FUNCTION_ELEMENTS = Elements(
    '<function=', ('>',), re.compile(r'\s{0,100}<parameter=([^>\n]{1,256})>'), '</parameter>', '</function>'
)
_GRANITE = '<|tool_call|>'
_GIGACHAT = ('<|function_call|>', 'function call<|role_sep|>')
_HUNYUAN = re.compile(r'<tool_calls?(:[\w-]{1,32})?>')
_KIMI_TOOL = re.compile(r'\btool="([^"]{0,1000})"')


def _invokes(prefix: str, *around: str) -> Reader:
    """Returns a reader of ``<invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>``.

    Args:
        prefix: Text before the name of each tag.
        around: Marks around all calls.
    """
    key = rf'\s{{0,100}}<{re.escape(prefix)}parameter name="([^"]{{1,256}})"(?: string="(true|false)")?>'
    elements = Elements(
        f'<{prefix}invoke name="',
        ('">', '"/>'),
        re.compile(key),
        f'</{prefix}parameter>',
        f'</{prefix}invoke>',
        around,
        name_of=_without_namespace,
    )
    return elements.reader()


def _without_namespace(name: str) -> str:
    """Returns ``NAME`` for ``NAME.NAME``, which Muse's chat template writes."""
    space, _, rest = name.partition('.')
    return rest if rest == space else name.strip()


def _pairs(prefix: str = '', suffix: str = '', separator: str = '\n', *around: str) -> Reader:
    """Returns a reader of ``<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>``.

    Args:
        prefix: Text before the name of each tag.
        suffix: Text after the name of each tag.
        separator: Mark after the tool's name, which may be missing.
        around: Marks around all calls.
    """
    key, value = (f'{prefix}{name}{suffix}' for name in ('arg_key', 'arg_value'))
    blanks = r'\s{0,100}'
    return Elements(
        f'<{prefix}tool_call{suffix}>',
        (separator, f'<{key}>'),
        re.compile(f'{blanks}<{re.escape(key)}>([^<]{{1,256}})</{re.escape(key)}>{blanks}<{re.escape(value)}>'),
        f'</{value}>',
        f'</{prefix}tool_call{suffix}>',
        around,
    ).reader()


def _read_hunyuan(text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
    """Reads calls of Hy3 and Hy4, whose vocabularies may add a suffix to each tag, such as ``:opensource``."""
    suffix = (first[1] or '') if (first := _HUNYUAN.search(text)) else ''
    around = (f'<tool_calls{suffix}>', f'</tool_calls{suffix}>')
    return _pairs('', suffix, f'<tool_sep{suffix}>', *around)(text, schemas)


def _read_gigachat(text: str, schemas: Schemas) -> tuple[str, list[ToolCall]]:
    """Reads the JSON after either of GigaChat 3's two marks."""
    return json_between(min(_GIGACHAT, key=lambda mark: find_first(text, 0, (mark,))))(text, schemas)


def _kimi_tool(head: str) -> str:
    """Returns the name in the attributes of Kimi K3's ``call``."""
    return unescape_xml(match[1]) if (match := _KIMI_TOOL.search(head)) else ''


@dataclass(frozen=True)
class Format:
    """A format in which models write calls.

    Attributes:
        reader: Parses an answer.
        templates: Rows of texts. A chat template has this format if it contains all texts of one row.
        framing: Marks around visible text, which are removed.
        thoughts: Thoughts in marks that other formats use for other texts. Group 1 is the thoughts, group 2 their end.
        ends_thoughts: Mark before calls that also ends thoughts without an end mark.
    """

    reader: Reader
    templates: Sequence[tuple[str, ...]] = ()
    framing: re.Pattern[str] | None = None
    thoughts: re.Pattern[str] | None = None
    ends_thoughts: str = ''


FORMATS: Mapping[str, Format] = {
    'mistral': Format(read_mistral, [(MISTRAL,)]),
    'minimax_m3': Format(read_minimax_m3, [(MARK,)]),
    'kimi_k3': Format(
        Elements(
            '<|open|>call',
            ('<|sep|>',),
            re.compile(r'\s{0,100}<\|open\|>argument key="([^"]{1,256})"(?: type="(\w{1,20})")?<\|sep\|>'),
            '<|close|>argument<|sep|>',
            '<|close|>call<|sep|>',
            ('<|open|>tools<|sep|>', '<|close|>tools<|sep|>'),
            name_of=_kimi_tool,
            key_of=unescape_xml,
        ).reader(),
        [('<|open|>', '<|sep|>')],
        framing=re.compile(r'<\|(?:open|close)\|>(?:response|message)<\|sep\|>'),
        ends_thoughts='<|open|>tools<|sep|>',
    ),
    'deepseek_v41': Format(
        _invokes('｜DSML｜ ', '<｜DSML｜ calls>', '</｜DSML｜ calls>'), [('｜DSML｜ calls',), ('｜DSML｜ invoke',)]
    ),
    'deepseek_v32': Format(
        _invokes(
            '｜DSML｜',
            *(f'<{end}｜DSML｜{name}>' for name in ('function_calls', 'tool_calls') for end in ('', '/')),  # V3.2, V4
        ),
        [('｜DSML｜',)],
    ),
    'gigachat35': Format(_invokes('｜GCML｜', '<｜GCML｜tool_calls>', '</｜GCML｜tool_calls>'), [('｜GCML｜',)]),
    'deepseek_v3': Format(read_deepseek, [('<｜tool▁call▁begin｜>', '```json')]),
    'deepseek_v31': Format(read_deepseek, [('<｜tool▁call▁begin｜>',)]),
    'kimi_k2': Format(
        name_then_json(
            '<|tool_call_begin|>',
            '<|tool_call_argument_begin|>',
            '<|tool_call_end|>',
            ('<|tool_calls_section_begin|>', '<|tool_calls_section_end|>'),
            kimi_name,
        ),
        [('<|tool_call_begin|>',)],
    ),
    'step3': Format(
        _invokes(
            'steptml:',
            '<｜tool_calls_begin｜>',
            '<｜tool_call_begin｜>function<｜tool_sep｜>',
            '<｜tool_call_end｜>',
            '<｜tool_calls_end｜>',
        ),
        [('<steptml:',)],
    ),
    'muse': Format(
        _invokes('atem:', '<atem:function_calls>', '</atem:function_calls>'),
        [('<atem:',)],
        framing=re.compile(r'(?:<\|start\|>assistant)?\s{0,9}\bto=[^\s<]{1,256}<\|message\|>|<\|eo[mt]\|>'),
        thoughts=re.compile(r'(?:<\|start\|>assistant)?\s{0,9}\bto=self<\|message\|>(.*?)(<\|eo[mt]\|>|\Z)', re.DOTALL),
    ),
    'minimax_m2': Format(_invokes('', '<minimax:tool_call>', '</minimax:tool_call>'), [('<minimax:tool_call>',)]),
    'dots': Format(_invokes('', '<dots_function_call>', '</dots_function_call>'), [('<dots_function_call>',)]),
    'minicpm5': Format(
        Elements(
            '<function name="',
            ('">', '"/>'),
            re.compile(r'\s{0,100}<param name="([^"]{1,256})">'),
            '</param>',
            '</function>',
            name_of=unescape_xml,
            key_of=unescape_xml,
            is_xml=True,
        ).reader(),
        [('<function name=', '<param name=')],
    ),
    'longcat_pairs': Format(_pairs('longcat_'), [('<longcat_tool_call>', '<longcat_arg_key>')]),
    'longcat': Format(json_between('<longcat_tool_call>', '</longcat_tool_call>'), [('<longcat_tool_call>',)]),
    'cohere_command4': Format(
        json_between('<|START_ACTION|>', '<|END_ACTION|>', call=partial(call_of, name='tool_name')),
        [('<|START_ACTION|>',)],
        framing=re.compile(r'<\|(?:START|END)_(?:TEXT|RESPONSE)\|>'),
    ),
    'apertus': Format(
        json_between('<|tools_prefix|>', '<|tools_suffix|>', call=call_by_key),
        [('<|tools_prefix|>',)],
        ends_thoughts='<|tools_prefix|>',
    ),
    'gigachat3': Format(_read_gigachat, [(mark,) for mark in _GIGACHAT], framing=re.compile(r'<\|message_sep\|>')),
    'inkling': Format(
        json_between(
            '<|content_invoke_tool_json|>', '<|end_message|>', call=partial(call_of, arguments=('args', 'arguments'))
        ),
        [('<|content_invoke_tool_json|>',)],
        framing=re.compile(
            r'<\|message_model\|>[^<]{0,256}|<\|(?:content_text|end_message|content_model_end_sampling)\|>'
        ),
        thoughts=re.compile(r'(?:<\|message_model\|>)?<\|content_thinking\|>(.*?)(<\|end_message\|>|\Z)', re.DOTALL),
    ),
    'qwen3_coder': Format(
        replace(_FUNCTION_ELEMENTS, around=(CALL, _CALL_END), padding='\n').reader(),
        [(CALL, '<function=')],
    ),
    'seed_oss': Format(
        replace(_FUNCTION_ELEMENTS, around=('<seed:tool_call>', '</seed:tool_call>')).reader(),
        [('<seed:tool_call>',)],
    ),
    'hy_v3': Format(_read_hunyuan, [('<tool_calls', '<tool_sep'), ('<tool_calls', '<arg_key'), ('<tool_calls:',)]),
    'glm45': Format(_pairs(), [(CALL, '<arg_key>')]),
    'jamba': Format(json_between('<tool_calls>', '</tool_calls>'), [('<tool_calls>',)]),
    HERMES: Format(json_between(CALL, _CALL_END), [(CALL,)]),
    'phi4_mini_json': Format(json_between('functools[', is_opened=True), [('functools[',)]),
    'granite': Format(json_between(_GRANITE, '<|/tool_call|>'), [(_GRANITE,)]),
    'granite-20b-fc': Format(json_between('<function_call>'), [('<function_call>',)]),
    'nemotron_json': Format(json_between('<TOOLCALL>', '</TOOLCALL>'), [('<TOOLCALL>',)]),
    'internlm': Format(json_between('<|action_start|><|plugin|>', '<|action_end|>'), [('<|action_start|><|plugin|>',)]),
    'lfm2': Format(
        pythonic_between('<|tool_call_start|>', '<|tool_call_end|>'),
        [('<|tool_call_start|>',), ('<|tool_list_start|>',)],
    ),
    'olmo3': Format(pythonic_between('<function_calls>', '</function_calls>'), [('<function_calls>',)]),
    'tool_code': Format(pythonic_between('```tool_code', '```'), [('```tool_code',)]),
    'functiongemma': Format(
        bare_object('<start_function_call>call:', '<end_function_call>', '<escape>'), [('<start_function_call>',)]
    ),
    'gemma4': Format(bare_object('<|tool_call>call:', '<tool_call|>', '<|"|>'), [('<|tool_call>',)]),
    HARMONY: Format(lambda text, schemas: read_harmony_calls(text), [(CHANNEL,)]),
    'llama_function': Format(name_then_json('<function=', '>', '</function>'), [('<function=',), ('<{start_tag}=',)]),
    'pythonic': Format(read_pythonic, [('<|python_start|>',), ('func_name1(',)]),
    'llama3_json': Format(read_llama3_json, [('<|python_tag|>',), ('{"name": function name, "parameters"',)]),
    NONE: Format(lambda text, schemas: (text, [])),
}
"""Name -> format, in the order in which templates are searched. The names are vLLM's where it has such a parser."""


def parser_faults(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yields a fault if ``tool_parser`` in a model's config is unknown."""
    name = settings.get('tool_parser', AUTO)
    if name != AUTO and name not in FORMATS:
        yield f'tool_parser is {name!r}; there are {", ".join((AUTO, *FORMATS))}'


def choose_format(template: str) -> str:
    """Returns the name of the format in a chat template; :data:`NONE` if it is unknown.

    Args:
        template: The template's text.
    """
    return next(
        (
            name
            for name, row in FORMATS.items()
            if any(all(mark in template for mark in marks) for marks in row.templates)
        ),
        NONE,
    )
