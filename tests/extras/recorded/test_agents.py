"""Recorded agents, scored: the published runs, and predictions."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from opencompass_tooleval.agents.tasks.records import load_data
from opencompass_tooleval.catalogue.benchmark import RecordedRun
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.scorer import Scored
from opencompass_tooleval.extras.recorded.agents import read
from tests.environments.test_playback import CALLS, ERRORS, tool_messages
from tests.instructions.shared_data import DEMO, real

RUNS = DEMO / 'agents' / 'toolbench' / 'runs.json'
PLANS = DEMO / 'agents' / 'teval' / 'EN' / 'plan_json_v1.json'


def data_of(name: str) -> tuple[str, Path]:
    group, subset = ('G2_category', 'toolbench_g2') if 'G2' in name else ('G3_instruction', 'toolbench_g3')
    return subset, real(f'toolbench/{group}.json')


def score(subset: str, file: Path, data: Path) -> tuple[RecordedRun, Scored]:
    run = read(subset, file, data=data)
    return run, run.score(file)


@cache
def scored(name: str) -> tuple[RecordedRun, Scored, dict[str, Any]]:
    """Published runs scored, and the file read anew."""
    file = real(f'toolbench_trajectories/{name}')
    subset, data = data_of(name)
    return *score(subset, file, data=data), json.loads(gzip.decompress(file.read_bytes()))


@pytest.mark.parametrize('name', CALLS)
def test_published_runs(name: str) -> None:
    run, result, rows = scored(name)
    answers = {task: row['answer'] for task, row in rows.items()}
    called = {task: [one['name'] for one in tool_messages(row['answer_details'])] for task, row in answers.items()}
    assert (len(result.scores), result.breakdown['calls']['total']) == CALLS[name]
    assert [score.id for score in result.scores] == list(rows)
    assert result.total.metrics['finish_rate'] == 100
    assert result.breakdown['shares']['exact'] == 1
    for row_score, answer in zip(result.scores, answers.values(), strict=True):
        detail = row_score.to_detail()
        assert detail['final_answer'] == answer['final_answer']
        assert detail['calls']['calls'] == len(called[row_score.id])
    if 'retrieve' in name:
        assert result.total.metrics['call_recall'] is None
        return
    subset, data = data_of(name)
    needed = {task.id: set(task.relevant) for task in load_data(data, subset).tasks}
    recall = fmean(len(tools & set(called[task])) / len(tools) for task, tools in needed.items())
    precision = fmean(len(tools & set(called[task])) / (len(set(called[task])) or 1) for task, tools in needed.items())
    assert result.total.metrics['call_recall'] == pytest.approx(100 * recall)
    assert result.total.metrics['call_precision'] == pytest.approx(100 * precision)
    assert any(f'{len(rows) - len(needed)} of {len(rows)} runs belong to tasks' in note for note in run.notes)


def test_errors_of_the_published_runs_by_kind() -> None:
    counts = Counter[str]()
    for name in CALLS:
        counts.update(scored(name)[1].breakdown['errors'])
    assert counts == ERRORS


def test_a_task_without_a_run_is_named(tmp_path: Path) -> None:
    rows, data = json.loads(RUNS.read_text()), tmp_path / 'G1_instruction.json'
    records = json.loads((DEMO / 'toolbench' / 'G1_instruction.json').read_text())
    data.write_text(json.dumps([record for record in records if str(record['query_id']) in rows]))
    first = next(iter(rows))
    (tmp_path / 'runs.json').write_text(json.dumps({task: row for task, row in rows.items() if task != first}))
    with pytest.raises(DataError, match=f'1 of .* tasks have no run: {first}'):
        score('toolbench_g1', tmp_path / 'runs.json', data=data)


def predictions_of(folder: Path, *done: str) -> Path:
    tasks = load_data(PLANS, 'teval').tasks
    rows = {
        str(place): {'record_id': task.id, 'prediction': text, 'dataset': 'agents_teval'}
        for place, (task, text) in enumerate(zip(tasks, done, strict=True))
    }
    (folder / 'predictions.json').write_text(json.dumps(rows))
    return folder / 'predictions.json'


def by_schema(file: Path) -> list[str]:
    """Trajectories that make a file's gold calls, repaired where no call by the documentation equals them."""
    done = []
    for task in load_data(file, 'teval').tasks:
        calls = [call.repaired or call for call in task.gold or ()]
        answered = [AnsweredCall(call.name, call.arguments, 'fine', 'function') for call in calls]
        steps = tuple(Step('', (call,), place - 1) for place, call in enumerate(answered))
        done.append(Trajectory('react', steps, 'Done.', path=tuple(range(len(steps))), settings={'bank': 'ab'}))
    return [trajectory.to_json() for trajectory in done]


def test_faulty_gold_is_said_beside_the_official_scores(tmp_path: Path) -> None:
    plans = json.loads(PLANS.read_text(encoding='utf-8'))
    fare = next(step for step in plans['demo_ferry']['ground_truth'] if step['name'] == 'FerryBoard.get_fare')
    fare['args']['adults'] = '2'  # documented as a number
    file = tmp_path / PLANS.name
    file.write_text(json.dumps(plans), encoding='utf-8')
    run, result = score('teval', predictions_of(tmp_path, *by_schema(file)), data=file)
    assert result.total.metrics['all_calls_right'] == 75
    repaired = 'repaired: call_order 100.00, arguments 100.00, all_calls_right 100.00'
    assert f'1 gold calls of 1 tasks equal no valid call; {repaired}' in run.lines(result.breakdown)
    assert result.breakdown['repaired']['all_calls_right'] == 100
    run, sound = score('teval', predictions_of(tmp_path, *by_schema(PLANS)), data=PLANS)
    assert 'repaired' not in sound.breakdown and not any('repaired' in line for line in run.lines(sound.breakdown))


def test_predictions(tmp_path: Path) -> None:
    done = by_schema(PLANS)
    run, result = score('teval', predictions_of(tmp_path, *done), data=PLANS)
    assert result.total.reasons == {'ok': 4} and result.total.metrics['all_calls_right'] == 100
    settings = run.scorer.provenance()
    assert (settings['loop'], settings['bank'], run.expected) == ('react', 'ab', 553)
    with pytest.raises(DataError, match='not a trajectory'):
        score('teval', predictions_of(tmp_path, *done[:3], 'It is done.'), data=PLANS)


@pytest.mark.parametrize(
    ('group', 'expected'), [('G2_category', (64.68, 77.70, 67.32)), ('G3_instruction', (57.98, 76.23, 63.89))]
)
def test_two_models_have_the_same_published_calls(group: str, expected: tuple[float, ...]) -> None:
    """As docs/explanation/agents.md says: only the final answers differ."""
    models = [scored(f'{name}_easytool__{group}.json.gz') for name in ('chatgpt', 'gpt-4')]
    for _, result, _ in models:
        metrics = [result.total.metrics[name] for name in ('call_recall', 'call_precision', 'call_f1')]
        assert metrics == pytest.approx(expected, abs=0.005)
    first, second = ([row['answer'] for row in rows.values()] for _, _, rows in models)
    calls = [[list(tool_messages(row['answer_details'])) for row in answers] for answers in (first, second)]
    assert calls[0] == calls[1]
    assert [row['final_answer'] for row in first] != [row['final_answer'] for row in second]
