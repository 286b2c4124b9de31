"""The published answers and judgements: every per-sample score of the published scorer, and the paper's numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.data import Subset, find_subset, load_recorded_rows
from opencompass_tooleval.benchmarks.ultratool.judge import created_tools
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.score_steps import StepsScore
from opencompass_tooleval.benchmarks.ultratool.scoring import (
    aggregate_scores,
    read_answer,
    score_answer,
    score_answers,
    score_judgements,
)
from tests.benchmarks.ultratool.support import EXPECTED, PREDICTIONS, english, load_judgements, published, real
from tests.official import Recorder

GPT = Protocol('official', 'span')

PAPER = {
    ('gpt-3.5', 'tool_usage_awareness'): {'global_accuracy': 25.90, 'local_accuracy': 79.75, 'json_rate': 100.0},
    ('gpt-3.5', 'tool_usage'): {'local_levenshtein': 76.26, 'json_rate': 99.90},
    ('gpt-4', 'tool_usage_awareness'): {'global_accuracy': 60.70, 'local_accuracy': 89.76, 'json_rate': 100.0},
    ('gpt-4', 'tool_usage'): {'local_levenshtein': 86.62, 'json_rate': 100.0},
}
"""Tables 2 and 6."""

TABLE_4 = {
    'gpt-3.5': (76.43, 70.26, 73.14, 80.94, 72.26, 75.10, 69.50),
    'gpt-4': (79.56, 77.53, 78.31, 81.21, 78.19, 78.60, 76.39),
}

ENGLISH = {
    ('gpt-3.5', 'tool_usage_awareness'): {'global_accuracy': 15.20, 'local_accuracy': 76.29},
    ('gpt-3.5', 'tool_usage'): {'local_levenshtein': 73.47},
    ('gpt-4', 'tool_usage_awareness'): {'global_accuracy': 62.50, 'local_accuracy': 90.85},
    ('gpt-4', 'tool_usage'): {'local_levenshtein': 83.32},
}
"""Table 2, English."""

ENGLISH_PLANNING = {
    'gpt-3.5': (76.61, 69.25, 72.13, 84.25, 71.52, 72.11, 69.74),
    'gpt-4': (77.59, 76.17, 77.00, 85.18, 76.53, 75.14, 74.07),
}
"""Six dimensions and the overall score."""


@cache
def scores_of(model: str, task: str) -> list[StepsScore]:
    rows = published(model, task)
    return score_answers([row.record for row in rows if row.record], [row.answer for row in rows], GPT)


def expected_of(model: str, task: str) -> list[dict[str, Any]]:
    file = real(EXPECTED / model / f'{task}.jsonl')
    return [json.loads(line) for line in file.read_text(encoding='utf-8').splitlines()]


@pytest.mark.official('UltraTool', 'edit scores of GPT-3.5 and GPT-4, Chinese, sample by sample')
@pytest.mark.parametrize('model', ['gpt-3.5', 'gpt-4'])
def test_every_sample_of_usage(model: str, record_property: Recorder) -> None:
    scores, expected = scores_of(model, 'tool_usage'), expected_of(model, 'tool_usage')
    assert len(scores) == len(expected) == 1000
    record_property('cases', len(expected))
    for score, row in zip(scores, expected, strict=True):
        step_scores = [step.values['local_levenshtein'] for step in score.steps]
        assert step_scores == pytest.approx(row['step_scores'], abs=1e-6), score


@pytest.mark.official('UltraTool', 'awareness of GPT-3.5 and GPT-4, Chinese, sample by sample')
@pytest.mark.parametrize('model', ['gpt-3.5', 'gpt-4'])
def test_every_sample_of_awareness(model: str, record_property: Recorder) -> None:
    scores, expected = scores_of(model, 'tool_usage_awareness'), expected_of(model, 'tool_usage_awareness')
    assert len(scores) == len(expected) == 1000
    record_property('cases', len(expected))
    for score, row in zip(scores, expected, strict=True):
        # the published scorer writes the opposite of the gold for a step that is missing
        predicted = [1 - step.gold if step.predicted is None else step.predicted for step in score.steps]
        assert predicted == row['predicted']
        assert [step.gold for step in score.steps] == row['reference']
        assert score.values['global_accuracy'] == row['exact']
        assert sum(step.values['local_accuracy'] for step in score.steps) == row['correct']


def shown(scores: Sequence[Any], subset: Subset, names: Iterable[str]) -> dict[str, float]:
    """The means of a thousand samples as the paper prints them."""
    total = aggregate_scores(scores, subset.metrics)
    assert total.samples == 1000
    return {name: round(total.metrics[name] or 0, 2) for name in names}


@pytest.mark.official('UltraTool', 'numbers of Tables 2 and 6 (GPT-3.5, GPT-4, Chinese)')
@pytest.mark.parametrize(('model', 'task'), PAPER)
def test_tables_2_and_6(model: str, task: str, record_property: Recorder) -> None:
    printed = PAPER[model, task]
    record_property('cases', len(printed))
    assert shown(scores_of(model, task), find_subset(task), printed) == printed


@pytest.mark.official('UltraTool', 'numbers of Table 2 (GPT-3.5, GPT-4, English)')
@pytest.mark.parametrize(('model', 'task'), ENGLISH)
def test_table_2_in_english(model: str, task: str, record_property: Recorder) -> None:
    printed = ENGLISH[model, task]
    record_property('cases', len(printed))
    rows = load_recorded_rows(english(f'{model}/{task}.json'), task, 'en')
    scores = score_answers([row.record for row in rows if row.record], [row.answer for row in rows], GPT)
    assert shown(scores, find_subset(task), printed) == printed


def assert_planning(file: Path, printed: tuple[float, ...], record_property: Recorder) -> None:
    subset = find_subset('planning')
    record_property('cases', len(printed))
    scores = score_judgements(subset, load_judgements(file, subset, GPT), GPT)
    assert tuple(shown(scores, subset, subset.metrics).values()) == printed


@pytest.mark.official('UltraTool', 'numbers of planning (GPT-3.5, GPT-4, English)')
@pytest.mark.parametrize('model', ENGLISH_PLANNING)
def test_planning_in_english(model: str, record_property: Recorder) -> None:
    assert_planning(english(f'{model}/eval/planning_eval.json'), ENGLISH_PLANNING[model], record_property)


@pytest.mark.official('UltraTool', 'numbers of Table 4 (GPT-3.5, GPT-4, Chinese)')
@pytest.mark.parametrize('model', TABLE_4)
def test_table_4(model: str, record_property: Recorder) -> None:
    assert_planning(real(PREDICTIONS / model / 'eval' / 'planning_eval.json'), TABLE_4[model], record_property)


@pytest.mark.official('UltraTool', 'created tools of GPT-3.5, Chinese, as they are read')
def test_every_answer_to_creation(record_property: Recorder) -> None:
    rows, subset = published('gpt-3.5', 'tool_creation'), find_subset('tool_creation')
    file = real(EXPECTED.parent / 'tool_creation_gpt-3.5_zh.jsonl')
    expected = [json.loads(line) for line in file.read_text(encoding='utf-8').splitlines()]
    unread = 0
    record_property('cases', len(expected))
    for row, wanted in zip(rows, expected, strict=True):
        assert row.record is not None
        parsed = read_answer(subset, row.answer, GPT)
        unread += not parsed.ok
        assert parsed.ok == wanted['parsed'], row.record.id
        judged = created_tools(row.record, parsed.value or [], GPT)
        steps = [step.number for step in row.record.reference]
        tools = {step: item['tool'] for step, item in zip(steps, wanted['to_judge'], strict=True)}
        assert judged == {step: tool for step, tool in tools.items() if isinstance(tool, dict) and tool}, row.record.id
    assert unread == 10  # Table 6: 99.00


@pytest.mark.official('UltraTool', 'answers of GPT-3.5 that were cut and damaged')
@pytest.mark.parametrize('task', ['tool_usage_awareness', 'tool_usage', 'tool_creation'])
def test_answers_that_were_cut(task: str, record_property: Recorder) -> None:
    """GPT-3.5's answers, cut, and damaged in the last item that is complete."""
    lines = real(EXPECTED.parent / 'cut_answers.jsonl').read_text(encoding='utf-8').splitlines()
    rows, subset = published('gpt-3.5', task), find_subset(task)
    wanted = [row for row in map(json.loads, lines) if row['task'] == task]
    assert len(wanted) > 80
    record_property('cases', len(wanted))
    for row in wanted:
        record, parsed = rows[row['row']].record, read_answer(subset, row['answer'], GPT)
        assert record is not None
        if row['published'] == 'judged tools':
            value: float | None = len(created_tools(record, parsed.value or [], GPT))
        else:
            value = score_answer(record, row['answer'], GPT).values[row['published']]
        assert (parsed.ok, value) == (row['readable'], pytest.approx(row['value'], abs=5e-5)), row['answer']


def test_every_answer_to_creation_can_be_read_strictly() -> None:
    subset = find_subset('tool_creation')
    strict = [read_answer(subset, row.answer, Protocol('strict')) for row in published('gpt-3.5', 'tool_creation')]
    assert all(parsed.ok for parsed in strict)


@pytest.mark.parametrize('scoring', ['official', 'strict'])
@pytest.mark.parametrize('list_choice', ['last', 'span'])
@pytest.mark.parametrize('task', ['tool_usage', 'tool_usage_awareness'])
def test_gold_answers_score_full_when_nothing_alters_them(task: str, list_choice: str, scoring: str) -> None:
    rows = published('gpt-4', task)
    records = [row.record for row in rows if row.record]
    answers = [json.dumps(record.raw['reference'], ensure_ascii=False) for record in records]
    scores = score_answers(records, answers, Protocol(scoring, list_choice))
    lost = [score.id for score in scores if score.reason != 'ok']
    if scoring == 'strict':
        assert lost == []
    else:  # normalising rewrites gold values that hold a full-width comma, "json", "true", ...
        assert len(lost) <= 200, len(lost)
