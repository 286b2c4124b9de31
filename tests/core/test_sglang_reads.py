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

from opencompass_tooleval.core.calls.written.reading import read_reference, without_end_tokens
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
    """A name, a key or a value matches a pattern."""
    return lambda answer: any(re.search(pattern, text) for text in texts_of(answer.calls))


def schemas_of(answer: WrittenAnswer) -> Iterator[tuple[Any, Any]]:
    """The schema and the value of each argument."""
    for name, arguments in answer.calls:
        properties = answer.tools.schemas[name]['properties']
        yield from ((properties[key], value) for key, value in arguments.items())


def is_untyped(answer: WrittenAnswer) -> bool:
    return any('type' not in schema for schema, _ in schemas_of(answer))


def is_nullable(answer: WrittenAnswer) -> bool:
    return any(isinstance(schema.get('type'), list) for schema, _ in schemas_of(answer))


def has_nested(answer: WrittenAnswer) -> bool:
    return any(isinstance(value, (dict, list)) and value for _, value in schemas_of(answer))


def is_json_text(answer: WrittenAnswer) -> bool:
    """A text is JSON too."""
    for _, value in schemas_of(answer):
        try:
            if isinstance(value, str):
                json.loads(value)
                return True
        except ValueError:
            pass
    return False


def has_empty_call(answer: WrittenAnswer) -> bool:
    return any(not arguments for _, arguments in answer.calls)


def quotes_a_call(answer: WrittenAnswer) -> bool:
    return 'perhaps.' in answer.thoughts


@dataclass(frozen=True)
class Oracle:
    """SGLang's names of the parsers of a family, and what it reads in another way."""

    calls: str
    reasoning: str = ''
    causes: Mapping[str, Cause] = field(default_factory=dict)
    is_framed: bool = False


ORACLES: Mapping[str, Oracle] = {
    'Qwen 3': Oracle('qwen25', 'qwen3'),
    'Hermes': Oracle('hermes'),
    'DeepSeek V3': Oracle('deepseekv3', 'deepseek-v3'),
    'DeepSeek V3.1': Oracle('deepseekv31', 'deepseek-v3'),
    'DeepSeek V3.2': Oracle('deepseekv32', 'deepseek-v3'),
    'DeepSeek V4': Oracle('deepseekv4', 'deepseek-v4'),
    'DeepSeek V4.1': Oracle('deepseekv41', 'deepseek-v41'),
    'GigaChat 3.5': Oracle('gigachat35', 'gigachat35'),
    'GigaChat 3': Oracle('gigachat3'),
    'Kimi K2': Oracle('kimi_k2', 'kimi_k2'),
    'Kimi K3': Oracle('kimi_k3', 'kimi_k3', is_framed=True),
    'MiniMax M2': Oracle('minimax-m2', 'minimax'),
    'MiniMax M3': Oracle('minimax-m3', 'minimax-m3'),
    'Hunyuan Hy3': Oracle('hunyuan', 'hunyuan'),
    'Hunyuan Hy3 preview': Oracle('hunyuan', 'hunyuan'),
    'Hunyuan Hy4': Oracle('hunyuan', 'hunyuan'),
    'Command A': Oracle('cohere_command4', 'cohere_command4', is_framed=True),
    'Apertus': Oracle('apertus2509', 'apertus2509', is_framed=True),
    'dots': Oracle('dots', 'dots'),
    'Inkling': Oracle('inkling', 'inkling', is_framed=True),
    'Muse Glimmer': Oracle('muse', 'muse', is_framed=True),
    'MiniCPM5': Oracle('minicpm5', 'qwen3'),
    'Step3': Oracle('step3', 'step3'),
    'Qwen3-Coder': Oracle('qwen3_coder'),
    'Qwen 3.5': Oracle('qwen3_coder', 'qwen3'),
    'GLM 4.5': Oracle('glm45', 'glm45'),
    'GLM 4.7': Oracle('glm47', 'glm45'),
    'Llama 3': Oracle('llama3'),
    'Mistral Nemo': Oracle('mistral'),
    'Mistral': Oracle('mistral', 'mistral'),
    'Llama 4': Oracle('pythonic'),
    'LFM2': Oracle('lfm2', 'qwen3'),
    'Gemma 4': Oracle('gemma4', 'gemma4'),
    'gpt-oss': Oracle('gpt-oss'),
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


@pytest.fixture(scope='module')
def sglang() -> str:
    for python in filter(None, os.environ.get('TOOLEVAL_READERS', '').split(os.pathsep)):
        if subprocess.run([python, '-c', 'import llm_router_utils'], capture_output=True).returncode == 0:
            return python
    pytest.skip('no interpreter in $TOOLEVAL_READERS has llm_router_utils')


def question(answer: WrittenAnswer, oracle: Oracle) -> dict[str, Any]:
    suffix = re.sub(r'<think|>', '', (FAMILIES[answer.family].think or ('', ''))[0])
    marks = ['tool_calls', 'tool_call', 'arg_key', 'arg_value', 'think', 'tool_sep']
    marks = marks[:-1] if answer.family == 'Hunyuan Hy4' else marks  # by which SGLang tells the versions apart
    return {
        'text': without_end_tokens(answer.raw),
        'tools': answer.tools.as_request(),
        'calls': oracle.calls,
        'reasoning': oracle.reasoning
        if answer.thoughts or oracle.is_framed
        else '',  # a server knows if the prompt has thoughts
        'opened': answer.opened_thoughts,
        'vocabulary': [f'<{mark}{suffix}>' for mark in marks],
    }


@pytest.mark.parametrize('family', ORACLES)
def test_sglang_reads_the_same_calls(family: str, sglang: str) -> None:
    oracle, answers = ORACLES[family], list(generate(family, 2, COUNT))
    asked = json.dumps([question(answer, oracle) for answer in answers])
    reader = Path(__file__).with_name('sglang_reader.py')
    environment = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}
    done = subprocess.run([sglang, reader], input=asked, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    found = set()
    for answer, theirs in zip(answers, json.loads(done.stdout), strict=True):
        ours = read_reference(answer.raw, answer.format_name, answer.tools, answer.opened_thoughts).calls
        if as_text([(call.name, call.arguments) for call in ours]) != as_text(theirs['calls']):
            causes = {name for name, is_cause in oracle.causes.items() if is_cause(answer)}
            assert causes, (answer.raw, answer.calls, theirs)
            found |= causes
    assert found == set(oracle.causes), 'causes that no difference has'
