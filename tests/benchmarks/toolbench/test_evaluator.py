"""The evaluator of the success rate: its judge, unreadable replies, and judgements from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from opencompass_tooleval.benchmarks.toolbench.adapter import (
    ToolEvalToolBenchDataset,
    ToolEvalToolBenchSuccessEvaluator,
    ToolEvalToolBenchTrajectories,
)
from opencompass_tooleval.judging.judgement import UnjudgedError
from tests.benchmarks.toolbench.support import DEMO, write_rows
from tests.judging.support import Script, Scripted, away, scripted
from tests.judging.support import evaluate as evaluate_rows

__all__ = ['away', 'scripted']  # fixtures
YES, NO = '{"Reason": "r", "Choice": "Yes"}', '{"Reason": "r", "Choice": "No"}'


def stored(folder: Path, count: int, **infra: str) -> Dataset:
    rows = [{'id': f'r{i}', 'query': f'request {i}', 'final_answer': f'answer {i}'} for i in range(count)]
    rows += [{'id': name, 'query': 'request', 'final_answer': '', 'infra': why} for name, why in infra.items()]
    return ToolEvalToolBenchTrajectories.load(str(write_rows(folder / 'stored.jsonl', rows)))


def evaluate(evaluator: ToolEvalToolBenchSuccessEvaluator, dataset: Dataset) -> dict[str, Any]:
    """With what is stored as predictions."""
    return evaluate_rows(evaluator, dataset, list(dataset['gold_answer']))


def test_a_failure_that_is_stored_is_one(scripted: Script, tmp_path: Path) -> None:
    dataset = stored(tmp_path, 1, lost='infra:timeout')
    result = evaluate(ToolEvalToolBenchSuccessEvaluator(judge_cfg=scripted(lambda *_: YES)), dataset)
    assert result['reasons'] == {'ok': 1, 'infra:timeout': 1}
    assert result['samples'] == {'all': 2, 'infra': 1}
    assert Scripted.asked == ['r0']


def placed(evaluator: ToolEvalToolBenchSuccessEvaluator, run: Path, model: str) -> ToolEvalToolBenchSuccessEvaluator:
    """The evaluator in a run where this model has answered."""
    (run / 'predictions' / model).mkdir(parents=True, exist_ok=True)
    (run / 'predictions' / model / 'success.json').write_text('{}')
    evaluator._out_dir = str(run / 'results' / model / 'success')
    return evaluator


def test_judgements_are_of_the_answers_that_they_judged(scripted: Script, tmp_path: Path) -> None:
    judge = scripted(lambda item, _: NO if item == 'r0' else YES)
    asked = placed(ToolEvalToolBenchSuccessEvaluator(judge_cfg=judge), tmp_path, 'first')
    assert evaluate(asked, stored(tmp_path, 2))['success_rate'] == 50.0
    file = tmp_path / 'results' / 'first' / 'success_judgements.jsonl'
    given = ToolEvalToolBenchSuccessEvaluator(judgements=str(file))
    assert evaluate(placed(given, tmp_path, 'second'), stored(tmp_path, 2))['success_rate'] == 50.0
    others = stored(tmp_path, 2).map(lambda row: {'gold_answer': f'another {row["gold_answer"]}'})
    with pytest.raises(UnjudgedError, match=r'2 of 2 .*record r0 \(judgement of another answer\)'):
        evaluate(placed(given, tmp_path, 'second'), others)


def test_without_a_judge_it_says_what_to_set() -> None:
    with pytest.raises(ValueError, match=r'the success rate needs a judge: .*OC_JUDGE_MODEL'):
        ToolEvalToolBenchSuccessEvaluator()


def test_trajectories_without_requests_take_them_from_a_test_file(tmp_path: Path) -> None:
    file = write_rows(tmp_path / 'p.jsonl', [{'record_id': '201', 'prediction': 'At ten.'}])
    (row,) = ToolEvalToolBenchTrajectories.load(str(file), data=str(DEMO / 'G2_category.json'))
    assert 'skating in Leeds' in row['messages']


def test_calls_look_for_no_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', str(tmp_path / 'none'))
    assert len(ToolEvalToolBenchDataset.load(str(DEMO), 'calls_g2')) == 3
    with pytest.raises(ValueError, match='ToolEvalToolBenchTrajectories'):
        ToolEvalToolBenchDataset.load(str(DEMO), 'success')
