"""Planning and tool creation from judgements, and the parts of an answer that the judge sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.data import Record, find_subset
from opencompass_tooleval.benchmarks.ultratool.judge import (
    Judged,
    Scores,
    created_tools,
    dimensions,
    items_to_judge,
    judge_prompt,
)
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.scoring import (
    ScoresGrading,
    aggregate_scores,
    read_answer,
    score_answer,
    score_judgements,
)
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.judging.judgement import UnjudgedError
from tests.benchmarks.support import write_rows
from tests.benchmarks.ultratool.support import load_judgements, make_record

CREATION = find_subset('tool_creation')
PLANNING = find_subset('planning')
GRADING = ScoresGrading((), (), CREATION, Protocol())


def judged(step: str, score: float, record_id: str = '0') -> Judged:
    return Judged(record_id, step, 'judged', Scores(dict.fromkeys(dimensions(CREATION), score)))


def creation(record_id: str = '0') -> Record:
    steps = [{'step': '1.1 a', 'tool': {'name': 'a'}}, {'step': '1.2 b', 'tool': {'name': 'b'}}]
    return make_record('tool_creation', {'input': steps, 'reference': steps}, record_id)


def answer(*tools: Any) -> str:
    return json.dumps([{'step': f'1.{i} x', 'tool': tool} for i, tool in enumerate(tools, 1)])


BOTH = answer({'name': 'a'}, {'name': 'b'})


@pytest.mark.parametrize(
    ('text', 'judgements', 'official', 'strict', 'reason'),
    [
        (BOTH, [judged('1.1', 8), judged('1.2', 6)], 0.7, 0.7, 'judge:below_full'),
        (BOTH, [judged('1.1', 10), judged('1.2', 10)], 1.0, 1.0, 'ok'),
        (answer({'name': 'a'}), [judged('1.1', 8)], 0.8, 0.4, 'judge:below_full'),
        (answer({'name': 'a'}, {}), [judged('1.1', 8)], 0.8, 0.4, 'judge:below_full'),
        (answer('a', 'b'), [], 0.0, 0.0, 'tool:missing'),
        ('I cannot.', [], 0.0, 0.0, 'answer:refused'),
        (BOTH, [judged('1.1', 8)], 0.8, 0.8, 'judge:below_full'),
        (BOTH, [], None, None, 'judge:unjudged'),
        (answer({'name': 'a'}), [], None, 0.0, 'judge:unjudged'),
        (answer({'name': 'a'}, {'name': 'b'}, {'name': 'c'}), [judged('1.1', 8), judged('1.2', 8)], 0.8, 0.8, ''),
    ],
)
def test_created_tools(
    text: str, judgements: list[Judged], official: float | None, strict: float | None, reason: str
) -> None:
    for scoring, value in (('official', official), ('strict', strict)):
        score = score_answer(creation(), text, Protocol(scoring), judgements)
        assert [score.values[name] for name in dimensions(CREATION)] == [
            None if value is None else pytest.approx(value)
        ] * 6
        assert not reason or score.reason == reason


def test_the_mean_is_flat_over_judged_tools() -> None:
    records, answers = [creation('0'), creation('1'), creation('2')], [BOTH, answer({'name': 'a'}), 'none']
    judgements = [judged('1.1', 8), judged('1.2', 6), judged('1.1', 10, '1')]
    for scoring, count in (('official', 5), ('strict', 6)):
        scores = ScoresGrading(records, answers, CREATION, Protocol(scoring)).score(judgements)
        metrics = aggregate_scores(scores, CREATION.metrics).metrics
        assert metrics['overall'] == pytest.approx(100 * (0.8 + 0.6 + 1.0) / count)
        assert metrics['json_rate'] == pytest.approx(200 / 3)


def test_judgements_alone() -> None:
    rows = [judged('1.1', 8), *(Judged(*step, 'missing') for step in (('0', '1.2'), ('1', '1.1'), ('1', '1.2')))]
    records = [creation('0'), creation('1')]
    for known in ((), (records,)):
        total = aggregate_scores(score_judgements(CREATION, rows, Protocol(), *known), CREATION.metrics)
        assert total.metrics['overall'] == pytest.approx(100 * 0.8 / 3)
        assert total.metrics['json_rate'] is None
    with pytest.raises(ValueError, match="record '7'"):
        score_judgements(CREATION, [judged('1.1', 8, '7')], Protocol(), records)


def test_a_file_that_ends_early_is_no_zero() -> None:
    """What no row is of was not judged; that nothing was created is said by a row."""
    scores = score_judgements(CREATION, [judged('1.1', 8)], Protocol(), [creation('0'), creation('1')])
    assert [step.reason for score in scores for step in score.steps].count('judge:unjudged') == 3
    with pytest.raises(UnjudgedError, match='3 of 4 could not be judged'):
        GRADING.check(scores)


@pytest.mark.parametrize(
    ('items', 'official', 'strict'),
    [
        ([{'step': '1.1', 'tool': {'name': 'x'}}, {'step': '3', 'tool': {'name': 'y'}}], True, True),
        ([{'step': '1.1', 'tool': {}}, {'step': '1.1', 'tool': {'name': 'x'}}], False, True),
        ([{'step': '1.1'}, {'step': '1.1', 'tool': {'name': 'x'}}], True, True),
        ([{'step': '1.1', 'tool': 'x'}, {'step': '1.1', 'tool': {'name': 'x'}}], False, True),
        ([{'step': ' 1.1 a', 'tool': {'name': 'x'}}], False, True),
        ([{'step': '1.1\ta', 'tool': {'name': 'x'}}], False, True),
    ],
)
def test_which_tools_are_judged(items: list[Any], official: bool, strict: bool) -> None:
    for scoring, counts in (('official', official), ('strict', strict)):
        created = created_tools(creation(), items, Protocol(scoring))
        assert created == ({'1.1': {'name': 'x'}} if counts else {})


def test_files_of_judgements(tmp_path: Path) -> None:
    scores = dict.fromkeys(dimensions(CREATION), 8)
    rows: list[Any] = [
        {'id': '3', 'step': '1.1', 'status': 'judged', 'scores': scores, 'judge': 'any'},
        {'id': '3', 'step': '1.2', 'status': 'missing'},
        {'id': '4', 'step': '1.1', 'scores': {**scores, 'overall': 11}},
        {'id': '5', 'step': '1.1', 'scores': scores, 'why': 'a text, as older versions wrote it'},
    ]
    read = load_judgements(write_rows(tmp_path / 'judgements.jsonl', rows), CREATION, Protocol())
    assert [(item.id, item.step, item.status) for item in read] == [
        ('3', '1.1', 'judged'),
        ('3', '1.2', 'missing'),
        ('4', '1.1', 'unjudged'),
        ('5', '1.1', 'judged'),
    ]
    assert not read[3].found.why


def published(score: Any) -> dict[str, Any]:
    labels = ('准确性分数', '完整性分数', '可执行性分数', '语法健全性分数', '结构合理性分数', '高效性分数', '总分')
    return {'data': {}, 'eval': [{'打分理由': '', label: score} for label in labels]}


def test_the_zeros_of_the_published_judgements_count_officially_only(tmp_path: Path) -> None:
    file = write_rows(tmp_path / 'judgements.jsonl', [published(0), published('8')])
    assert [item.status for item in load_judgements(file, PLANNING, Protocol())] == ['judged', 'judged']
    assert [item.status for item in load_judgements(file, PLANNING, Protocol('strict'))] == ['unjudged', 'judged']


@pytest.mark.parametrize(
    ('rows', 'message'),
    [
        ([{'id': '0'}], "neither 'scores' nor 'eval'"),
        ([{'id': '0', 'scores': {'overall': 8}}], "'scores' needs numbers for accuracy"),
        ([{'id': '0', 'status': 'lost'}], "'status' is not one of"),
        ([{'id': '0', 'status': 'missing'}] * 2, 'it is judged twice'),
    ],
)
def test_damaged_files_are_named(tmp_path: Path, rows: list[Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_judgements(write_rows(tmp_path / 'judgements.jsonl', rows), PLANNING, Protocol())


GOLD = {'name': 'query_rate', 'description': '查询汇率', 'required': True}
STEPS = [
    {'step': '1.1 Query the rate', 'tool': GOLD},
    {'step': '1.2 换算', 'tool': GOLD},
    {'step': '1.3', 'tool': GOLD},
]
CREATED = {'name': "rate's", 'arguments': {'x': None}}


def creation_record() -> Record:
    return make_record('tool_creation', {'input': STEPS, 'reference': STEPS})


def prompts(record: Record, answer: Any, scoring: str) -> list[str]:
    protocol = Protocol(scoring, 'span')
    asked = items_to_judge(record, read_answer(record.subset, answer, protocol), protocol)
    return [item.prompt for _, item in asked if item]


def test_created_tools_are_shown_to_the_judge() -> None:
    """Officially one word of the step, and tools as Python writes them; strictly the whole step, and JSON."""
    answer = str([{'step': step['step'], 'tool': CREATED} for step in STEPS])
    assert prompts(creation_record(), answer, 'official') == [
        judge_prompt('tool_creation', 'zh', question, str(GOLD), str(CREATED)) for question in ('Query', '换算', '')
    ]
    gold, tool = (json.dumps(value, ensure_ascii=False) for value in (GOLD, CREATED))
    assert prompts(creation_record(), answer, 'strict') == [
        judge_prompt('tool_creation', 'zh', step['step'], gold, tool) for step in STEPS
    ]


@pytest.mark.parametrize('scoring', ['official', 'strict'])
def test_tuples_are_shown_as_lists(scoring: str) -> None:
    """The published code writes created tools to JSON, and its judge sees what it reads there."""
    tuples, lists = ({'name': 'x', 'enum': kind(('a', 'b'))} for kind in (tuple, list))
    answers = [str([{'step': STEPS[0]['step'], 'tool': tool}]) for tool in (tuples, lists)]
    shown = [prompts(creation_record(), answer, scoring) for answer in answers]
    assert shown[0] == shown[1] != []


@pytest.mark.parametrize(('scoring', 'asked'), [('official', 1), ('strict', 2)])
def test_the_first_item_of_a_step_decides_officially(scoring: str, asked: int) -> None:
    steps = [('1.1 a', {}), ('1.1 a', {'name': 'x'}), ('1.2 b', None), ('1.2 b', {'name': 'y'})]
    items = [{'step': step} if tool is None else {'step': step, 'tool': tool} for step, tool in steps]
    assert len(prompts(creation_record(), json.dumps(items), scoring)) == asked


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
