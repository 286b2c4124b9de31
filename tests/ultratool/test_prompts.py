"""Prompts: what a small row becomes, and what the real ones must not hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.ultratool.prompts import FIELDS, FRAMES, INSTRUCTIONS, build_prompt
from tests.ultratool.test_build import REAL, needs_real_data, official, rebuilt

PAPER = REAL.parents[1] / 'papers' / 'ultratool.md'
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


def test_usage_in_english() -> None:
    prompt = build_prompt('tool_usage', 'en', ROW, EXAMPLE)
    instruction, rest = prompt.split('\n\n', 1)
    assert instruction.startswith('You are a professional tool parameter filling assistant. Given ')
    assert instruction.endswith('"parameter name2": "<parameter value2>", ...}}, ...]')
    assert rest == (
        'You should strictly follow the output format requirements and not output any other content.\n'
        '\n'
        'Example:\n'
        'Question:\n'
        'Q?\n'
        'Plan:\n'
        "[{'step': \"1. It's\"}]\n"
        'Toolset:\n'
        '[]\n'
        'Output:\n'
        "[{'step': \"1. It's\", 'tool': None, 'param': {'a': True}}]\n"
        '\n'
        "Let's Begin!\n"
        '\n'
        'Question:\n'
        "It's late.\n"
        '\n'
        'Plan:\n'
        "[{'step': '1. 写', 'tool': ''}]\n"
        'Toolset:\n'
        "[{'name': 'f', 'arguments': {}}]\n"
        'Output:'
    )


def test_planning_in_chinese() -> None:
    row = {'input': '买票', 'reference': '1. 秘密'}
    prompt = build_prompt('planning', 'zh', row, {'input': '查汇率', 'reference': '1. 查\n1.1 算'})
    instruction, rest = prompt.split('\n\n', 1)
    assert instruction.startswith('你是一个专业的计划制定助手，') and r'1. 任务1 \n 1.1 任务1.1 \n' in instruction
    assert rest == (
        '你应该严格遵守输出格式要求，不要输出其他任何内容。\n\n样例：\n问题：\n查汇率\n输出：\n1. 查\n1.1 算\n\n'
        '让我们开始吧！\n\n问题：\n买票\n输出：'
    )


@pytest.mark.parametrize(('language', 'task'), CASES)
def test_zero_shot_is_the_same_without_the_example(language: str, task: str) -> None:
    one, zero = (build_prompt(task, language, ROW, example) for example in (EXAMPLE, None))
    _, label, begin, labels = FRAMES[language]
    assert label not in zero.split('\n') and label in one.split('\n')
    head, tail = zero.split(f'\n\n{begin}\n\n')
    assert one.startswith(f'{head}\n\n{label}\n') and one.endswith(f'\n\n{begin}\n\n{tail}')
    assert head == '\n\n'.join((INSTRUCTIONS[language][task], FRAMES[language][0]))
    lines = tail.split('\n')
    assert [line for line in lines if line in labels.values()] == [labels[name] for name, _ in FIELDS[task]] + [
        labels['output']
    ]


@pytest.mark.parametrize(('language', 'task'), CASES)
def test_the_gold_is_nowhere(language: str, task: str) -> None:
    for example in (EXAMPLE, None):
        assert 'SECRET' not in build_prompt(task, language, ROW, example)
        bare = {key: value for key, value in ROW.items() if key not in ('reference', 'domain')}
        assert build_prompt(task, language, bare, example) == build_prompt(task, language, ROW, example)


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


@pytest.mark.skipif(not PAPER.is_file(), reason='the paper is not at ../shared/papers')
@pytest.mark.parametrize(('language', 'task'), CASES)
def test_wording_is_the_paper_s(language: str, task: str) -> None:
    paper = PAPER.read_text(encoding='utf-8')
    strict, example, begin, labels = FRAMES[language]
    asked = ''.join(f'{labels[label]}{{{key}}}' for label, key in FIELDS[task]) + labels['output']
    whole = f'{INSTRUCTIONS[language][task]}{strict}{example}{asked}{{reference}}{begin}{asked}'
    bare = re.sub(r'\s+', '', paper.replace('<p>', '').replace('</p>', ''))
    assert re.sub(r'\s+', '', whole) in bare
    assert f'<p>{INSTRUCTIONS[language][task]}</p>' in paper


def leaks(task: str, row: dict[str, Any], prompt: str) -> list[str]:
    """Gold texts that a prompt holds and the fields it is made from do not."""
    given = '\n'.join(str(row[key]) for _, key in FIELDS[task])
    golds: list[str] = [str(row['reference'])]
    if task == 'planning':
        golds = row['reference'].split('\n')
    for item in row['reference'] if task != 'planning' else ():
        golds.append(str(item))
        golds += [str(value) for value in item.get('param', {}).values() if len(str(value)) > 6]
    return [gold for gold in golds if gold and gold in prompt and gold not in given]


@needs_real_data
@pytest.mark.parametrize(('language', 'task'), CASES)
def test_real_rows_hold_no_gold(language: str, task: str) -> None:
    folder = FOLDERS[language]
    file = REAL / folder / 'example' / f'{task}.json'
    example = json.loads(file.read_text(encoding='utf-8'))
    is_official = Path(REAL / folder / 'test_set' / f'{task}.json').is_file()
    rows = official(folder, task) if is_official else rebuilt(folder, task)
    template = build_prompt(task, language, dict.fromkeys(('question', 'input', 'toolset'), ''), example)
    for row in rows:
        prompt = build_prompt(task, language, row, example)
        assert str(example['reference']) in prompt
        assert [gold for gold in leaks(task, row, prompt) if gold not in template] == []
