"""The presets: what a model is sent, how it is asked and how its answer is read."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.adapter import ToolEvalUltraToolDataset, ToolEvalUltraToolEvaluator
from opencompass_tooleval.benchmarks.ultratool.presets import DEFAULT, PRESETS
from opencompass_tooleval.benchmarks.ultratool.prompts import FIELDS
from opencompass_tooleval.benchmarks.ultratool.protocol import lists_of, preset_of
from opencompass_tooleval.instructions.adapter import ToolEvalUltraToolEasyToolDataset
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
@pytest.mark.parametrize('preset', PRESETS)
def test_what_a_model_is_sent(preset: str, task: str, language: str) -> None:
    for shots in (0, 1):
        *system, user = first(task, language, preset=preset, shots=shots)
        assert system == ([{'role': 'system', 'content': SYSTEM}] if preset == 'gpt' else [])
        assert (user['role'], digest(user['content'])) == ('user', DIGESTS[f'demo_{task}_{language}'][shots])


@pytest.mark.parametrize('task', FIELDS)
def test_the_english_example_in_chinese_prompts(task: str) -> None:
    (user,) = first(task, 'zh', preset='open', example_language='en')
    assert digest(user['content']) == DIGESTS[f'demo_{task}_zh_english_example'][0]


def test_the_presets_are_the_published_settings() -> None:
    file = real(SHARED / 'expected' / 'ultratool' / 'prompts' / 'prompts.json')
    settings = json.loads(file.read_text(encoding='utf-8'))['settings']
    gpt, open_models = settings['gpt'], settings['open_models']
    assert PRESETS['gpt'] == {
        'system': gpt['system'],
        'max_out_len': gpt['max_tokens'],
        'temperature': gpt['temperature'],
        'lists': 'span',
    }
    assert PRESETS['open']['max_out_len'] == open_models['max_new_tokens'] and not open_models['system']


def test_the_default_is_open() -> None:
    assert DEFAULT == 'open'
    assert first('tool_usage', 'en') == first('tool_usage', 'en', preset='open')


def test_with_instructions_the_system_prompt_is_the_same() -> None:
    data = ToolEvalUltraToolEasyToolDataset.load(
        DEMO, 'tool_usage', 'en', 'tooleval:demo/easytool/ultratool_en.json', preset='gpt'
    )
    assert [message['role'] for message in json.loads(data[0]['messages'])] == ['system', 'user']


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(ValueError, match="no preset 'gpt4'; it has gpt, open"):
        first('tool_usage', 'en', preset='gpt4')
    with pytest.raises(ValueError, match="no preset 'gpt4'"):
        ToolEvalUltraToolEvaluator('tool_usage', 'zh', preset='gpt4')


@pytest.mark.parametrize(('preset', 'lists'), [('gpt', 'span'), ('open', 'last')])
def test_a_preset_fixes_the_reading(preset: str, lists: str) -> None:
    evaluator = ToolEvalUltraToolEvaluator('tool_usage', 'zh', preset=preset)
    assert (evaluator.rules.lists, evaluator.provenance()['preset']) == (lists, preset)
    assert lists_of(preset, lists) == lists
    other = {'span': 'last', 'last': 'span'}[lists]
    with pytest.raises(ValueError, match=f"preset '{preset}' reads lists='{lists}'"):
        ToolEvalUltraToolEvaluator('tool_usage', 'zh', preset=preset, lists=other)


def test_without_a_preset_lists_decide() -> None:
    spanning = ToolEvalUltraToolEvaluator('tool_usage', 'zh', lists='span')
    assert (spanning.rules.lists, spanning.provenance()['preset']) == ('span', None)
    assert ToolEvalUltraToolEvaluator('tool_usage', 'zh').provenance()['preset'] == 'open'


@pytest.mark.parametrize(
    ('shapes', 'lists', 'preset'),
    [
        (['gpt', 'gpt'], 'span', 'gpt'),
        (['open'], 'last', 'open'),
        (['gpt'], 'last', None),
        (['gpt', 'open'], 'last', None),
        ([None, 'gpt'], 'last', None),
        ([None], 'last', None),
        ([], 'last', None),
    ],
)
def test_recorded_answers_name_their_preset(shapes: list[str | None], lists: str, preset: str | None) -> None:
    assert preset_of(shapes, lists) == preset
