"""The prompt styles: requests to a model, and the reading of its answers."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.adapter import ToolEvalUltraToolDataset, ToolEvalUltraToolEvaluator
from opencompass_tooleval.benchmarks.ultratool.prompts import FIELDS
from opencompass_tooleval.benchmarks.ultratool.protocol import list_choice_of
from opencompass_tooleval.benchmarks.ultratool.subsets import DEFAULT_PROMPT_STYLE, PROMPT_STYLES
from tests.benchmarks.ultratool.support import CASES, SHARED, real

DEMO = 'tooleval:demo/ultratool'
DIGESTS = json.loads((CASES / 'ultratool_prompts.json').read_text(encoding='utf-8'))
"""Of the published templates, filled with the first demo record: without and with the example."""

SYSTEM = '你是一个有帮助的AI助手。'


def first(name: str, language: str, **settings: Any) -> list[dict[str, str]]:
    messages: list[dict[str, str]] = json.loads(
        ToolEvalUltraToolDataset.load(DEMO, name, language, **settings)[0]['messages']
    )
    return messages


def digest(text: str) -> str:
    return hashlib.sha256(text.encode('utf-8')).hexdigest()[:16]


@pytest.mark.parametrize('language', ['zh', 'en'])
@pytest.mark.parametrize('task', FIELDS)
@pytest.mark.parametrize('prompt_style', PROMPT_STYLES)
def test_what_a_model_is_sent(prompt_style: str, task: str, language: str) -> None:
    for shots in (0, 1):
        *system, user = first(task, language, prompt_style=prompt_style, shots=shots)
        assert system == ([{'role': 'system', 'content': SYSTEM}] if prompt_style == 'gpt' else [])
        assert (user['role'], digest(user['content'])) == ('user', DIGESTS[f'demo_{task}_{language}'][shots])


@pytest.mark.parametrize('task', FIELDS)
def test_the_english_example_in_chinese_prompts(task: str) -> None:
    (user,) = first(task, 'zh', prompt_style='open', example_language='en')
    assert digest(user['content']) == DIGESTS[f'demo_{task}_zh_english_example'][0]


def test_the_prompt_styles_are_the_published_settings() -> None:
    file = real(SHARED / 'expected' / 'ultratool' / 'prompts' / 'prompts.json')
    settings = json.loads(file.read_text(encoding='utf-8'))['settings']
    gpt, open_models = settings['gpt'], settings['open_models']
    assert PROMPT_STYLES['gpt'] == {
        'system': gpt['system'],
        'max_out_len': gpt['max_tokens'],
        'temperature': gpt['temperature'],
        'list_choice': 'span',
    }
    assert PROMPT_STYLES['open']['max_out_len'] == open_models['max_new_tokens'] and not open_models['system']


def test_an_unknown_prompt_style_is_named() -> None:
    with pytest.raises(ValueError, match="no prompt style 'gpt4'; it has gpt, open"):
        first('tool_usage', 'en', prompt_style='gpt4')
    with pytest.raises(ValueError, match="no prompt style 'gpt4'"):
        ToolEvalUltraToolEvaluator('tool_usage', 'zh', prompt_style='gpt4')


@pytest.mark.parametrize(('prompt_style', 'list_choice'), [('gpt', 'span'), ('open', 'last')])
def test_a_prompt_style_fixes_the_reading(prompt_style: str, list_choice: str) -> None:
    evaluator = ToolEvalUltraToolEvaluator('tool_usage', 'zh', prompt_style=prompt_style)
    assert (evaluator.rules.list_choice, evaluator.provenance()['prompt_style']) == (list_choice, prompt_style)
    assert list_choice_of(prompt_style, list_choice) == list_choice
    other = {'span': 'last', 'last': 'span'}[list_choice]
    with pytest.raises(ValueError, match=f"prompt_style='{prompt_style}' implies list_choice='{list_choice}'"):
        ToolEvalUltraToolEvaluator('tool_usage', 'zh', prompt_style=prompt_style, list_choice=other)
    assert DEFAULT_PROMPT_STYLE == 'open'
    assert first('tool_usage', 'en') == first('tool_usage', 'en', prompt_style='open')
