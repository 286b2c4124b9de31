"""The parts of an answer that the judge sees."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.judge import judge_prompt
from opencompass_tooleval.benchmarks.ultratool.judge_items import items_to_judge
from opencompass_tooleval.benchmarks.ultratool.protocol import Protocol
from opencompass_tooleval.benchmarks.ultratool.records import Record
from opencompass_tooleval.benchmarks.ultratool.scoring import read_answer
from tests.benchmarks.ultratool.support import make_record

GOLD = {'name': 'query_rate', 'description': '查询汇率', 'required': True}
STEPS = [
    {'step': '1.1 Query the rate', 'tool': GOLD},
    {'step': '1.2 换算', 'tool': GOLD},
    {'step': '1.3', 'tool': GOLD},
]
CREATED = {'name': "rate's", 'arguments': {'x': None}}


def creation() -> Record:
    return make_record('tool_creation', {'input': STEPS, 'reference': STEPS})


def prompts(record: Record, answer: Any, scoring: str) -> list[str]:
    protocol = Protocol(scoring, 'span')
    asked = items_to_judge(record, read_answer(record.subset, answer, protocol), protocol)
    return [item.prompt for _, item in asked if item]


def test_created_tools_officially() -> None:
    """One word of the step, and tools as Python writes them."""
    answer = str([{'step': step['step'], 'tool': CREATED} for step in STEPS])
    assert prompts(creation(), answer, 'official') == [
        judge_prompt('tool_creation', 'zh', question, str(GOLD), str(CREATED)) for question in ('Query', '换算', '')
    ]


def test_created_tools_strictly() -> None:
    answer = str([{'step': step['step'], 'tool': CREATED} for step in STEPS])
    gold, tool = (json.dumps(value, ensure_ascii=False) for value in (GOLD, CREATED))
    assert prompts(creation(), answer, 'strict') == [
        judge_prompt('tool_creation', 'zh', step['step'], gold, tool) for step in STEPS
    ]


@pytest.mark.parametrize(('scoring', 'asked'), [('official', 1), ('strict', 2)])
def test_the_first_item_of_a_step_decides_officially(scoring: str, asked: int) -> None:
    items = [
        {'step': '1.1 a', 'tool': {}},
        {'step': '1.1 a', 'tool': {'name': 'x'}},
        {'step': '1.2 b'},
        {'step': '1.2 b', 'tool': {'name': 'y'}},
    ]
    assert len(prompts(creation(), json.dumps(items), scoring)) == asked


@pytest.mark.parametrize(
    ('answer', 'official', 'strict'),
    [
        ('Sure!\n\n1. a\n1.1 b\n\nGood luck!', '1. a\n1.1 b', '1. a\n1.1 b'),
        ('1. a<|im_end|>', '1. a', '1. a'),
        ('First a.\n\nThen b.', 'First a.', 'First a.\n\nThen b.'),
    ],
)
def test_plans_are_cut(answer: str, official: str, strict: str) -> None:
    record = make_record('planning', {'input': 'q', 'reference': '1. gold'})
    assert prompts(record, answer, 'official') == [judge_prompt('planning', 'zh', 'q', '1. gold', official)]
    assert prompts(record, answer, 'strict') == [judge_prompt('planning', 'zh', 'q', '1. gold', strict)]
