"""Generated answers are read by SGLang's own front end too: each difference has a named cause.

``$TOOLEVAL_READERS`` names an interpreter with ``llm-router-utils`` 0.8.1. It has no detector for Seed-OSS, Granite,
Phi-4-mini, Nemotron, Jamba, OLMo 3, Gemma 3, FunctionGemma, LongCat, and Llama's ``<function=``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.written.reading import read_reference, without_end_tokens
from opencompass_tooleval.extras.attribution.causes import NONE, PARSER, REASONING, RawText
from opencompass_tooleval.extras.attribution.comparing import Asked, attribute
from opencompass_tooleval.models.api.raw_text import IDS
from tests.core.written_answers import FAMILIES, WrittenAnswer, generate

pytestmark = pytest.mark.long

COUNT = 200
Cause = Callable[[WrittenAnswer], bool]


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from texts_of(item)


def has(pattern: str) -> Cause:
    return lambda answer: any(re.search(pattern, text) for text in texts_of(answer.calls))


def values_of(answer: WrittenAnswer) -> Iterator[tuple[Any, Any]]:
    for name, arguments in answer.calls:
        properties = answer.tools.schemas[name]['properties']
        yield from ((properties[key], value) for key, value in arguments.items())


def is_json(text: Any) -> bool:
    try:
        return isinstance(text, str) and json.loads(text) != text
    except ValueError:
        return False


def any_value(is_cause: Callable[[Any, Any], bool]) -> Cause:
    return lambda answer: any(is_cause(schema, value) for schema, value in values_of(answer))


def within(is_cause: Callable[[Any], bool]) -> Cause:

    def test(value: Any) -> bool:
        items = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
        return is_cause(value) or any(map(test, items))

    return lambda answer: test([arguments for _, arguments in answer.calls])


def is_odd_in_python(value: Any) -> bool:
    return value == '日期' or (isinstance(value, (int, float)) and (value < 0 or 'e' in repr(value)))


def is_large(value: Any) -> bool:
    return isinstance(value, int) and abs(value) >= 2**63


def is_none_or_exponent(value: Any) -> bool:
    return value is None or (isinstance(value, float) and 'e' in repr(value))


# A schema without a type, such as a reference, means a text. A list of types is an error, or only null of it counts.
UNTYPED = {'no type': any_value(lambda schema, _: 'type' not in schema)}
NULLABLE = {'a list of types': any_value(lambda schema, _: isinstance(schema.get('type'), list))}
BLANKS = {'blanks around a text are removed': has(r'^\s|\s$')}
NULL_TEXT = {'a text "null" is null': has('^null$')}
JSON_TEXT = {'a text that is JSON becomes a value': any_value(lambda _, value: is_json(value))}
NO_ARGUMENTS = {'a call without arguments is lost': lambda answer: any(not arguments for _, arguments in answer.calls)}
# A list within a value without a schema becomes an object, an empty text too.
NO_SCHEMA = {'a value without a schema': any_value(lambda _, value: isinstance(value, (dict, list)) and bool(value))}
LARGE = {'a whole number beyond 64 bits becomes a float': within(is_large)}
NO_SPACE = {'a list needs a blank before it': lambda answer: '[TOOL_CALLS][' in answer.raw}
NAMES = {'a name that is no name of Python, or begins with _, is lost': has('^_private$|^Maps-route$')}
PYTHON = {'a number below zero or with an exponent, or a key in Chinese, is an error': within(is_odd_in_python)}
LOST_HEADER = r'to=functions\.\S+<\|channel|^<\|channel\|>commentary to=|analysis to='
# Its recipient stands in the role, or it is in the channel analysis, or it has no role.
HARMONY = {'a message with an odd header is lost': lambda answer: bool(re.search(LOST_HEADER, answer.raw))}
AS_TEXT = {'None, and a number with an exponent, are texts': within(is_none_or_exponent)}


def mark(pattern: str) -> Mapping[str, Cause]:
    return {'a mark of the format within a value ends it': has(pattern)}


@dataclass(frozen=True)
class Oracle:
    """SGLang's names of the parsers of a family, and what it reads in another way."""

    calls: str
    reasoning: str = ''
    causes: Mapping[str, Cause] = field(default_factory=dict)
    is_framed: bool = False


QWEN_CODER = {**UNTYPED, **NULLABLE, **mark('</tool_call>|</function>|<parameter=')}
HUNYUAN = {**UNTYPED, **NULLABLE}

ORACLES: Mapping[str, Oracle] = {
    'Qwen 3': Oracle('qwen25', 'qwen3'),
    'Hermes': Oracle('hermes', '', mark('</tool_call>')),
    'DeepSeek V3': Oracle('deepseekv3', 'deepseek-v3', mark('```|<｜tool▁call▁end｜>')),
    'DeepSeek V3.1': Oracle('deepseekv31', 'deepseek-v3', mark('<｜tool▁call▁end｜>')),
    'DeepSeek V3.2': Oracle('deepseekv32', 'deepseek-v3', BLANKS),
    'DeepSeek V4': Oracle('deepseekv4', 'deepseek-v4', BLANKS),
    'DeepSeek V4.1': Oracle('deepseekv41', 'deepseek-v41'),
    'GigaChat 3.5': Oracle('gigachat35', 'gigachat35'),
    'GigaChat 3': Oracle('gigachat3'),
    'Kimi K2': Oracle('kimi_k2', 'kimi_k2'),
    'Kimi K3': Oracle('kimi_k3', 'kimi_k3', mark(r'<\|close\|>call'), is_framed=True),
    'MiniMax M2': Oracle('minimax-m2', 'minimax', {**UNTYPED, **NULLABLE, **BLANKS, **NULL_TEXT, **mark('</invoke>')}),
    'MiniMax M3': Oracle('minimax-m3', 'minimax-m3', {**BLANKS, **NO_SCHEMA, **UNTYPED}),
    'Hunyuan Hy3': Oracle('hunyuan', 'hunyuan', HUNYUAN),
    'Hunyuan Hy3 preview': Oracle('hunyuan', 'hunyuan', {**HUNYUAN, **mark('</tool_call>')}),
    'Hunyuan Hy4': Oracle('hunyuan', 'hunyuan', HUNYUAN),
    'Command A': Oracle('cohere_command4', 'cohere_command4', {**LARGE, **mark(r'<\|END_THINKING\|>')}, is_framed=True),
    'Apertus': Oracle('apertus2509', 'apertus2509', is_framed=True),
    'dots': Oracle('dots', 'dots', {**BLANKS, **mark('</invoke>')}),
    'Inkling': Oracle('inkling', 'inkling', is_framed=True),
    'Muse Glimmer': Oracle('muse', 'muse', JSON_TEXT, is_framed=True),
    'MiniCPM5': Oracle('minicpm5', 'qwen3', {**BLANKS, **JSON_TEXT, **mark('</function>')}),
    'Step3': Oracle('step3', 'step3', {**UNTYPED, **BLANKS, **NO_ARGUMENTS, **mark('<')}),
    'Qwen3-Coder': Oracle('qwen3_coder', '', QWEN_CODER),
    'Qwen 3.5': Oracle('qwen3_coder', 'qwen3', QWEN_CODER),
    'GLM 4.5': Oracle('glm45', 'glm45', mark('</tool_call>')),
    'GLM 4.7': Oracle('glm47', 'glm45', mark('</tool_call>')),
    'Llama 3': Oracle('llama3', '', mark(r'<\|python_tag\|>')),
    'Mistral Nemo': Oracle('mistral', '', NO_SPACE),
    'Mistral': Oracle('mistral', 'mistral'),
    'Llama 4': Oracle('pythonic', '', {**NAMES, **PYTHON, **mark(r'<\|python_(start|end)\|>')}),
    'LFM2': Oracle('lfm2', 'qwen3', {**NAMES, **mark(r'<\|tool_call_end\|>')}),
    'Gemma 4': Oracle('gemma4', 'gemma4', {**AS_TEXT, **mark(r'<tool_call\|>')}),
    'gpt-oss': Oracle('gpt-oss', '', {**HARMONY, **mark(r'<\|(call|end)\|>')}),
}


def plain(value: Any) -> Any:
    """Equal for equal JSON values: SGLang makes 2 of 2.0 in some formats."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def as_text(calls: Any) -> str:
    return json.dumps(plain(calls), sort_keys=True)


def our_calls(answer: WrittenAnswer) -> str:
    read = read_reference(answer.raw, answer.format_name, answer.tools, answer.opened_thoughts)
    return as_text([(call.name, call.arguments) for call in read.calls])


def question(answer: WrittenAnswer, oracle: Oracle) -> dict[str, Any]:
    suffix = re.sub(r'<think|>', '', (FAMILIES[answer.family].think or ('', ''))[0])
    marks = ['tool_calls', 'tool_call', 'arg_key', 'arg_value', 'think', 'tool_sep']
    marks = marks[:-1] if answer.family == 'Hunyuan Hy4' else marks  # by which SGLang tells the versions apart
    return {
        'text': answer.raw if answer.family == 'gpt-oss' else without_end_tokens(answer.raw),
        'tools': answer.tools.as_request(),
        'calls': oracle.calls,
        # a server knows if the prompt has thoughts
        'reasoning': oracle.reasoning if answer.thoughts or oracle.is_framed else '',
        'opened': answer.opened_thoughts,
        'vocabulary': [f'<{mark}{suffix}>' for mark in marks],
    }


def read_by_sglang(python: str) -> dict[str, list[Any]]:
    """Family -> thoughts, content and calls in each answer; one process, whose imports take longer than all answers."""
    asked = {family: list(generate(family, 2, COUNT)) for family in ORACLES}
    questions = [question(answer, ORACLES[family]) for family, answers in asked.items() for answer in answers]
    reader = Path(__file__).with_name('sglang_reader.py')
    environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    command, text = [python, str(reader)], json.dumps(questions)
    done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    found = iter(json.loads(done.stdout))
    return {family: [(answer, next(found)) for answer in answers] for family, answers in asked.items()}


@pytest.fixture(scope='module')
def by_sglang() -> dict[str, list[Any]]:
    for python in filter(None, os.environ.get('TOOLEVAL_READERS', '').split(os.pathsep)):
        if subprocess.run([python, '-c', 'import llm_router_utils'], capture_output=True).returncode == 0:
            return read_by_sglang(python)
    pytest.skip('no interpreter in $TOOLEVAL_READERS has llm_router_utils')


@pytest.mark.parametrize('family', ORACLES)
def test_sglang_reads_the_same_calls(family: str, by_sglang: dict[str, list[Any]]) -> None:
    causes, found = ORACLES[family].causes, set()
    for answer, reply in by_sglang[family]:
        if our_calls(answer) != as_text(reply['calls']):
            named = {name for name, is_cause in causes.items() if is_cause(answer)}
            assert named, (answer.raw, answer.calls, reply)
            found |= named
    assert found == set(causes), 'a cause without a difference'


TEXT_FAULTS = {
    'GigaChat 3': PARSER,  # the call stays in the text too
    'Apertus': REASONING,  # thoughts that a call ends
    'gpt-oss': REASONING,  # without its parser of thoughts
}
"""What SGLang does with texts of a family beside what is right."""


@pytest.mark.parametrize('family', ORACLES)
def test_what_sglang_makes_of_an_answer_is_no_fault(family: str, by_sglang: dict[str, list[Any]]) -> None:
    found = set()
    for answer, reply in by_sglang[family]:
        if our_calls(answer) != as_text(reply['calls']):
            continue  # see above
        text = f'<think>{reply["thoughts"]}</think>{reply["content"]}' if reply['thoughts'] else reply['content']
        served = Answer(text, None, 'stop', calls=tuple(ToolCall(*call) for call in reply['calls']))
        request = Asked(answer.format_name, answer.tools, opened_thoughts=answer.opened_thoughts)
        cause = attribute(served, RawText(answer.raw, IDS), request).cause
        assert cause in (NONE, TEXT_FAULTS.get(family)), (answer.raw, reply)
        found.add(cause)
    assert found - {NONE} == {TEXT_FAULTS.get(family, NONE)} - {NONE}
