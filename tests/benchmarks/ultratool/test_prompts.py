"""Prompts, and the prompt styles: requests to a model and the reading of its answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.prompts import FIELDS, INSTRUCTIONS, build_prompt, list_choice_of
from opencompass_tooleval.benchmarks.ultratool.tables import DEFAULT_PROMPT_STYLE, PROMPT_STYLES
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolDataset, ToolEvalUltraToolEvaluator
from tests.benchmarks.support import cases, digest
from tests.benchmarks.ultratool.support import DATA, SHARED, real
from tests.official import Recorder

PROMPTS = SHARED / 'expected' / 'ultratool' / 'prompts'
CASES = [(language, task) for language in INSTRUCTIONS for task in FIELDS]
FOLDERS = {'zh': 'Chinese-dataset', 'en': 'English-dataset'}

ROW = {
    'question': "It's late.\n",
    'input': [{'step': '1. 写', 'tool': ''}],
    'toolset': [{'name': 'f', 'arguments': {}}],
    'reference': [{'step': '1. 写', 'tool': 'SECRET'}],
    'domain': 'Other',
}
EXAMPLE = {
    'question': 'Q?',
    'input': [{'step': "1. It's"}],
    'toolset': [],
    'reference': [{'step': "1. It's", 'tool': None, 'param': {'a': True}}],
}


GOLDEN = cases('ultratool_prompts')
"""Digests of the published templates, filled with a row of ours, or the first demo record: without and with example."""


@pytest.mark.parametrize(('language', 'task'), CASES)
@pytest.mark.parametrize('shots', [0, 1])
def test_golden(task: str, language: str, shots: int) -> None:
    prompt = build_prompt(task, language, ROW, EXAMPLE if shots else None)
    assert digest(prompt) == GOLDEN[f'{task}_{language}'][shots]


@pytest.mark.official('UltraTool', 'templates of prompts, with and without an example')
@pytest.mark.parametrize(('language', 'task'), CASES)
@pytest.mark.parametrize('shots', [0, 1])
def test_published_template(task: str, language: str, shots: int) -> None:
    prompts = json.loads(real(PROMPTS / 'prompts.json').read_text(encoding='utf-8'))
    published = prompts['tasks'][f'{task}_{language}']['template' if shots else 'template_without_example']
    row = {key: f'{{{key}}}' for key in ('question', 'input', 'toolset')}
    example = {key: f'{{example_{key}}}' for key in ('question', 'input', 'toolset', 'reference')}
    assert build_prompt(task, language, row, example if shots else None) == published


@pytest.mark.official(
    'UltraTool',
    'prompts that were sent',
    'one-shot planning: the label of the recorded runs, not that of the last commit',
)
@pytest.mark.parametrize('language', FOLDERS)
@pytest.mark.parametrize('task', ['planning', 'tool_creation', 'tool_usage_awareness', 'tool_usage'])
def test_every_published_prompt(task: str, language: str, record_property: Recorder) -> None:
    expected = json.loads(real(PROMPTS / 'digests.json').read_text(encoding='utf-8'))[f'{task}_{language}']
    folder = DATA / FOLDERS[language]
    example = json.loads(real(folder / 'example' / f'{task}.json').read_text(encoding='utf-8'))
    lines = real(folder / 'test_set' / f'{task}.json').read_text(encoding='utf-8').splitlines()
    assert len(lines) == len(expected) == 1000
    record_property('cases', len(expected))
    prompts = [build_prompt(task, language, json.loads(line), example) for line in lines]
    assert [digest(prompt) for prompt in prompts] == expected


@pytest.mark.parametrize(('language', 'task'), [case for case in CASES if case[1] != 'planning'])
def test_prompt_of_the_example(task: str, language: str) -> None:
    published = json.loads(real(PROMPTS / 'prompts.json').read_text(encoding='utf-8'))['tasks'][f'{task}_{language}']
    file = DATA / FOLDERS[language] / 'example' / f'{task}.json'
    example = json.loads(real(file).read_text(encoding='utf-8'))
    assert build_prompt(task, language, example, example) == published['prompt_of_the_example_row']


@pytest.mark.parametrize(
    ('task', 'language', 'row', 'example', 'message'),
    [
        ('plan', 'en', ROW, None, 'no prompt'),
        ('planning', 'fr', ROW, None, 'no prompt'),
        ('tool_usage', 'en', {'input': []}, None, "'question'"),
        ('tool_usage', 'en', ROW, {'question': 'q', 'input': [], 'toolset': []}, "'reference'"),
        ('tool_selection', 'zh', ROW, {'input': [], 'reference': []}, "'toolset'"),
    ],
)
def test_faults_are_said(task: str, language: str, row: dict[str, Any], example: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        build_prompt(task, language, row, example)


SYSTEM = '你是一个有帮助的AI助手。'


def first(name: str, language: str, **settings: Any) -> list[dict[str, str]]:
    dataset = ToolEvalUltraToolDataset.load('tooleval:demo/ultratool', name, language, **settings)
    messages: list[dict[str, str]] = json.loads(dataset[0]['messages'])
    return messages


@pytest.mark.parametrize('language', ['zh', 'en'])
@pytest.mark.parametrize('task', FIELDS)
@pytest.mark.parametrize('prompt_style', PROMPT_STYLES)
def test_what_a_model_is_sent(prompt_style: str, task: str, language: str) -> None:
    for shots in (0, 1):
        *system, user = first(task, language, prompt_style=prompt_style, shots=shots)
        assert system == ([{'role': 'system', 'content': SYSTEM}] if prompt_style == 'gpt' else [])
        assert (user['role'], digest(user['content'])) == ('user', GOLDEN[f'demo_{task}_{language}'][shots])


@pytest.mark.parametrize('task', FIELDS)
def test_the_english_example_in_chinese_prompts(task: str) -> None:
    (user,) = first(task, 'zh', prompt_style='open', example_language='en')
    assert digest(user['content']) == GOLDEN[f'demo_{task}_zh_english_example'][0]


def test_the_prompt_styles_are_the_published_settings() -> None:
    file = real(PROMPTS / 'prompts.json')
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
