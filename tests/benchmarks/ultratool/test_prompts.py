"""Prompts: that of a small row, and texts that the real ones must not hold."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.prompts import FIELDS, INSTRUCTIONS, build_prompt
from tests.benchmarks.ultratool.support import DATA, ROOT, SHARED, real
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


GOLDEN = json.loads((ROOT / 'tests' / 'cases' / 'ultratool_prompts.json').read_text(encoding='utf-8'))


def digest(prompt: str) -> str:
    return hashlib.sha256(prompt.encode('utf-8')).hexdigest()[:16]


@pytest.mark.parametrize(('language', 'task'), CASES)
@pytest.mark.parametrize('shots', [0, 1])
def test_golden(task: str, language: str, shots: int) -> None:
    """Digests of the published templates, filled with a row and an example of ours."""
    prompt = build_prompt(task, language, ROW, EXAMPLE if shots else None)
    assert digest(prompt) == GOLDEN[f'{task}_{language}'][shots]


def template(task: str, language: str, shots: int) -> str:
    prompts = json.loads(real(PROMPTS / 'prompts.json').read_text(encoding='utf-8'))
    text: str = prompts['tasks'][f'{task}_{language}']['template' if shots else 'template_without_example']
    return text


@pytest.mark.official('UltraTool', 'templates of prompts, with and without an example')
@pytest.mark.parametrize(('language', 'task'), CASES)
@pytest.mark.parametrize('shots', [0, 1])
def test_published_template(task: str, language: str, shots: int) -> None:
    published = template(task, language, shots)
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
    ('task', 'language', 'row', 'example', 'said'),
    [
        ('plan', 'en', ROW, None, 'no prompt'),
        ('planning', 'fr', ROW, None, 'no prompt'),
        ('tool_usage', 'en', {'input': []}, None, "'question'"),
        ('tool_usage', 'en', ROW, {'question': 'q', 'input': [], 'toolset': []}, "'reference'"),
        ('tool_selection', 'zh', ROW, {'input': [], 'reference': []}, "'toolset'"),
    ],
)
def test_faults_are_said(task: str, language: str, row: dict[str, Any], example: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        build_prompt(task, language, row, example)
