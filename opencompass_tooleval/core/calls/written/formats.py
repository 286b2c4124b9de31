"""The table of formats of written calls.

Sources: the tool-use guide of transformers; Mistral's tokenizers v3 to v13; the chat templates of Hermes 2 Pro, Qwen2.5
(``hermes``), Llama 3.1, 3.2 (``llama3_json``), Llama 4, ToolACE (``pythonic``), and of the models that other rows name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.core.calls.harmony import CHANNEL, read_harmony_calls
from opencompass_tooleval.core.calls.written.json_formats import json_between, read_llama3_json
from opencompass_tooleval.core.calls.written.named_formats import (
    MISTRAL,
    bare_object,
    kimi_name,
    name_then_json,
    read_deepseek,
    read_mistral,
)
from opencompass_tooleval.core.calls.written.pythonic_formats import pythonic_between, read_pythonic
from opencompass_tooleval.core.calls.written.scanning import Reader
from opencompass_tooleval.core.calls.written.xml_formats import Elements

AUTO, NONE, HERMES = 'auto', 'none', 'hermes'
HARMONY = 'openai'

CALL, _CALL_END = '<tool_call>', '</tool_call>'
_FUNCTION_ELEMENTS = Elements(
    '<function=', ('>',), re.compile(r'\s{0,100}<parameter=([^>\n]{1,256})>'), '</parameter>', '</function>'
)
_GRANITE = '<|tool_call|>'
_NOT_READ = ']<]minimax[>['
"""A text in the template of MiniMax M3, whose format is not read although it has marks of another."""


@dataclass(frozen=True)
class Format:
    """A format of calls.

    Attributes:
        reader: Reads an answer.
        templates: Texts of which a chat template with this format has all of one row.
    """

    reader: Reader
    templates: Sequence[tuple[str, ...]] = ()


FORMATS: Mapping[str, Format] = {
    'mistral': Format(read_mistral, [(MISTRAL,)]),
    'deepseek_v32': Format(
        Elements(
            '<｜DSML｜invoke name="',
            ('">',),
            re.compile(r'\s{0,100}<｜DSML｜parameter name="([^"]{1,256})"(?: string="(true|false)")?>'),
            '</｜DSML｜parameter>',
            '</｜DSML｜invoke>',
            tuple(
                f'<{end}｜DSML｜{name}>' for name in ('function_calls', 'tool_calls') for end in ('', '/')
            ),  # V3.2, V4
        ).reader(),
        [('｜DSML｜',)],
    ),
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
    'minimax_m2': Format(
        Elements(
            '<invoke name="',
            ('">',),
            re.compile(r'\s{0,100}<parameter name="([^"]{1,256})">'),
            '</parameter>',
            '</invoke>',
            ('<minimax:tool_call>', '</minimax:tool_call>'),
        ).reader(),
        [('<minimax:tool_call>',)],
    ),
    'qwen3_coder': Format(
        replace(_FUNCTION_ELEMENTS, around=(CALL, _CALL_END), padding='\n').reader(),
        [(CALL, '<function=')],
    ),
    'seed_oss': Format(
        replace(_FUNCTION_ELEMENTS, around=('<seed:tool_call>', '</seed:tool_call>')).reader(),
        [('<seed:tool_call>',)],
    ),
    'glm45': Format(
        Elements(
            CALL,
            ('\n', '<arg_key>'),
            re.compile(r'\s{0,100}<arg_key>([^<]{1,256})</arg_key>\s{0,100}<arg_value>'),
            '</arg_value>',
            _CALL_END,
        ).reader(),
        [(CALL, '<arg_key>')],
    ),
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
"""Name -> format, in the order in which a template is searched; names are those of vLLM's parsers where it has one."""


def parser_faults(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yields the fault of ``tool_parser`` in a model's config."""
    name = settings.get('tool_parser', AUTO)
    if name != AUTO and name not in FORMATS:
        yield f'tool_parser is {name!r}; there are {", ".join((AUTO, *FORMATS))}'


def choose_format(template: str) -> str:
    """Returns the name of the format in a chat template; :data:`NONE` if it is unknown.

    Args:
        template: The template's text.
    """
    if _NOT_READ in template:
        return NONE
    return next(
        (
            name
            for name, row in FORMATS.items()
            if any(all(mark in template for mark in marks) for marks in row.templates)
        ),
        NONE,
    )
