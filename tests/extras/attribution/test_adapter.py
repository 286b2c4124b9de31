"""Answers as the model wrote them are scored beside those that the server returned."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from mmengine.config import Config, ConfigDict
from opencompass.tasks import OpenICLEvalTask
from opencompass.utils import build_dataset_from_cfg
from scipy.stats import t as student

from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolEvaluator
from opencompass_tooleval.catalogue.metrics import main_metrics
from opencompass_tooleval.core.calls.tool_calls import calls_payload, read_answer
from opencompass_tooleval.extras.attribution.causes import PARSER, REASONING, SERVING, UNKNOWN
from opencompass_tooleval.extras.attribution.points import read_faults
from opencompass_tooleval.tasks.eval_task import ToolEvalEvalTask
from tests.evaluators.test_evaluator import ById, Equality, numbered

DEMO = Path(__file__).resolve().parents[3] / 'opencompass_tooleval' / 'configs' / 'datasets' / 'demo'


def fault(text: str = '', calls: list[Any] | None = None, cause: str = PARSER) -> dict[str, Any]:
    """The member of a row for an answer that the server changed."""
    written = {'text': text, 'calls': calls or []}
    return {'cause': cause, 'note': 'x', 'source': 'ids', 'raw': 'r' * 900, 'written': written}


def none() -> dict[str, Any]:
    return {'cause': 'serving:none'}


def evaluated(
    folder: Path, evaluator: Any, rows: Dataset, answers: list[str], serving: list[Any], trials: int = 1
) -> dict[str, Any]:
    """Evaluates with a predictions file where OpenCompass's task has it."""
    ids = list(rows['record_id'])
    parts = [{SERVING: one} if one else {} for one in serving]
    stored = {str(i): {'record_id': ids[i], 'prediction': answers[i], **part} for i, part in enumerate(parts)}
    return evaluated_rows(folder, evaluator, rows, stored, trials)


def evaluated_rows(
    folder: Path, evaluator: Any, rows: Dataset, stored: dict[str, Any], trials: int = 1
) -> dict[str, Any]:
    """Evaluates rows of predictions where OpenCompass's task has them."""
    answers, ids = [row['prediction'] for row in stored.values()], list(rows['record_id'])
    file = folder / 'predictions' / 'm' / 'd.json'
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(stored))
    evaluator._out_dir = str(folder / 'results' / 'm' / 'd')
    columns = {'predictions': answers, 'references': rows['record'], 'record_id': ids, 'infra': [None] * len(ids)}
    return dict(evaluator.evaluate(1, trials, rows, **columns))


def test_a_loss_and_its_interval_are_those_of_a_hand(tmp_path: Path) -> None:
    """40 records: 12 answers were changed, of which 10 were right as written."""
    rows = numbered(*['x'] * 40)
    answers = ['no'] * 12 + ['x'] * 28
    serving = [fault('x')] * 10 + [fault('wrong')] * 2 + [none()] * 27 + [None]
    result = evaluated(tmp_path, Equality(), rows, answers, serving)
    assert list(result)[-2:] == [SERVING, 'details'] and result['right'] == 70.0
    assert result[SERVING]['causes'] == {'serving:none': 27, PARSER: 12, UNKNOWN: 1}
    loss = result[SERVING]['points']['right']
    error = math.sqrt((10 * 75**2 + 30 * 25**2) / 39 / 40)  # of the mean of ten times 100 and thirty times 0
    multiple = student.ppf(0.975, 39)
    more = multiple**2 * 2.5 / 2  # half of t squared, times the 2.5 points that a record changes
    assert loss == {
        'served': 70.0,
        'written': 95.0,
        'lost': pytest.approx(25.0),
        'low': pytest.approx(25 - multiple * error, rel=1e-4),
        'high': pytest.approx(25 + more + math.sqrt(more**2 + (multiple * error) ** 2), rel=1e-4),
    }
    assert loss['low'] == pytest.approx(10.97, abs=0.01) and loss['high'] == pytest.approx(45.04, abs=0.01)
    details = result['details']
    assert details[0][SERVING] == {'cause': PARSER, 'note': 'x', 'raw': 'r' * 500, 'written': {'right': 1.0}}
    assert details[11][SERVING]['written'] == {'right': 0.0} and details[11]['values'] == {'right': 0.0}
    assert not any(SERVING in detail for detail in details[12:])


def test_old_predictions_and_scores_without_a_file_have_no_such_part(tmp_path: Path) -> None:
    rows = numbered('x', 'y')
    assert SERVING not in evaluated(tmp_path, Equality(), rows, ['x', '"serving"'], [None, None])
    columns = {'predictions': ['x', 'y'], 'references': rows['record'], 'record_id': ['r0', 'r1'], 'infra': [None] * 2}
    assert SERVING not in Equality().evaluate(1, 1, rows, **columns)


def test_what_all_names_of_calls_have_in_common_is_counted(tmp_path: Path) -> None:
    names = "the names of all calls begin with 'functions.'"
    serving = [{**fault('x'), 'note': f'of 1 calls 1 lost; {names}'}, {**none(), 'note': names}, none(), None]
    result = evaluated(tmp_path, Equality(), numbered(*'xxxx'), [*'xxxx'], serving)
    assert result['right'] == 100.0
    read = read_faults(result)
    assert result[SERVING]['names'] == {names: 2} and read is not None and read.names == {names: 2}


@pytest.mark.parametrize('damaged', ['text', {'cause': 'serving:other'}, {'cause': PARSER, 'written': {'calls': 3}}])
def test_a_damaged_attribution_is_unknown_and_changes_no_score(tmp_path: Path, damaged: Any) -> None:
    result = evaluated(tmp_path, Equality(), numbered('x', 'y'), ['x', 'y'], [damaged, none()])
    assert result['right'] == 100.0
    assert result[SERVING] == {'causes': {'serving:none': 1, UNKNOWN: 1}, 'points': {}}


def test_trials_are_paired_by_record(tmp_path: Path) -> None:
    one = numbered('w', 'x', 'y', 'z')
    rows = Dataset.from_list([*one, *one])
    answers = ['no', 'x', 'y', 'z', 'w', 'no', 'no', 'z']
    serving = [fault('w'), *[none()] * 4, fault('x', cause=REASONING), fault('no'), none()]
    result = evaluated(tmp_path, ById(), rows, answers, serving, trials=2)
    assert [run['right'] for run in result['runs']] == [75.0, 50.0]
    assert result[SERVING]['causes'] == {'serving:none': 5, PARSER: 2, REASONING: 1}
    loss = result[SERVING]['points']['right']
    assert (loss['served'], loss['written'], loss['lost']) == (62.5, 87.5, pytest.approx(25.0))
    assert loss['low'] < 25 < loss['high']
    details = [detail for detail in result['details'] if SERVING in detail]
    marked = [(detail['id'], detail['trial'], detail[SERVING]['cause']) for detail in details]
    assert marked == [('r0', 0, PARSER), ('r1', 1, REASONING), ('r2', 1, PARSER)]


def test_lost_points_are_positive_where_less_is_better(tmp_path: Path) -> None:
    class Errors(Equality):
        metrics = ('error_rate',)

        def score_samples(self, references: Any, answers: Any) -> Any:
            found = super().score_samples(references, answers)
            return [type(one)(one.id, {'error_rate': 1 - one.values['right']}, one.reason) for one in found]

    result = evaluated(tmp_path, Errors(), numbered(*'xxxx'), ['no', 'x', 'x', 'x'], [fault('x'), *[none()] * 3])
    loss = result[SERVING]['points']['error_rate']
    assert (loss['served'], loss['written'], loss['lost']) == (25.0, 0.0, 25.0)
    assert loss['low'] < 25 < loss['high']


def test_what_a_judge_grades_is_counted_and_not_graded_again(tmp_path: Path) -> None:
    class Graded(Equality):
        can_score_again = False

    result = evaluated(tmp_path, Graded(), numbered('x', 'y'), ['no', 'y'], [fault('x'), none()])
    assert result[SERVING] == {'causes': {'serving:none': 1, PARSER: 1}, 'points': {}}
    assert result['details'][0][SERVING] == {'cause': PARSER, 'note': 'x', 'raw': 'r' * 500}
    assert not ToolEvalUltraToolEvaluator('planning', 'zh', judgements='x.jsonl').can_score_again
    assert ToolEvalUltraToolEvaluator('tool_usage', 'zh').can_score_again


def answered(row: ConfigDict, change: Any) -> tuple[dict[str, Any], list[str]]:
    """Predictions of a perfect model for a data set of the demo, each changed; and the gold answers."""
    dataset = build_dataset_from_cfg(row).test
    stored: dict[str, Any] = {}
    for i, record in enumerate(dataset):
        text, calls = read_answer(record['gold_answer']) if 'tools' in record else (record['gold_answer'], ())
        prediction = {'prediction': text, 'record_id': record['record_id'], 'infra': None}
        stored[str(i)] = change(i, {**prediction, **({'calls': calls_payload(calls)} if calls else {})})
    return stored, list(dataset['record_id'])


def run_task(task: Any, folder: Path, row: ConfigDict, stored: dict[str, Any]) -> dict[str, Any]:
    file = folder / 'predictions' / 'm' / f'{row["abbr"]}.json'
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(stored))
    model = dict(abbr='m', type='opencompass_tooleval.models.OracleModel', run_cfg=dict(num_gpus=0))
    details = dict(runner=dict(task=dict(dump_details=True)))
    task(ConfigDict(models=[model], datasets=[[row]], work_dir=str(folder), eval=details)).run()
    result = json.loads((folder / 'results' / 'm' / file.name).read_text())
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize(
    ('task', 'name'),
    [
        (ToolEvalEvalTask, 'tooleval-teval-instruct_v2-fc'),
        (OpenICLEvalTask, 'tooleval-restbench-tmdb-fc'),
        (ToolEvalEvalTask, 'tooleval-toolbench-calls_g2-fc'),
    ],
)
def test_native_calls_that_a_parser_lost(task: Any, name: str, tmp_path: Path) -> None:
    row = demo_row(name)

    def change(i: int, prediction: dict[str, Any]) -> dict[str, Any]:
        if i % 2:
            return {**prediction, SERVING: none()}
        raw = json.dumps(prediction['calls'])
        return {**prediction, 'prediction': raw, 'calls': [], SERVING: {**fault('', prediction['calls']), 'raw': raw}}

    stored, ids = answered(row, change)
    whole = run_task(task, tmp_path / 'whole', row, answered(row, lambda i, prediction: prediction)[0])
    assert SERVING not in whole
    result = run_task(task, tmp_path / 'lossy', row, stored)
    count = len(ids)
    assert result[SERVING]['causes'] == {PARSER: (count + 1) // 2, 'serving:none': count // 2}
    for metric, loss in result[SERVING]['points'].items():
        assert loss['served'] == result[metric] and loss['written'] == whole[metric]
        assert abs(loss['lost']) == pytest.approx(abs(whole[metric] - result[metric]))
    (lost,) = {result[SERVING]['points'][metric]['lost'] for metric in main_metrics(list(result[SERVING]['points']))}
    assert lost == pytest.approx(100 * ((count + 1) // 2) / count)
    assert [detail[SERVING]['cause'] for detail in result['details'][::2]] == [PARSER] * ((count + 1) // 2)


@pytest.mark.parametrize(
    ('task', 'name', 'metric'),
    [
        (ToolEvalEvalTask, 'tooleval-teval-instruct_v2', 'string_args_em_metric'),
        (ToolEvalEvalTask, 'tooleval-ultratool-tool_usage_awareness_zh', 'local_accuracy'),
        (OpenICLEvalTask, 'tooleval-teval-instruct_v2', 'string_args_em_metric'),
    ],
)
def test_a_text_as_written_is_postprocessed_like_the_served_one(
    task: Any, name: str, metric: str, tmp_path: Path
) -> None:
    row = demo_row(name)

    def change(i: int, prediction: dict[str, Any]) -> dict[str, Any]:
        written = f'<think>so</think>{prediction["prediction"]}'
        written = written.replace('</think>', '</think>```json') + '```<|im_end|>' if '-teval-' in name else written
        return {**prediction, 'prediction': '', SERVING: fault(written, cause=REASONING)}

    result = run_task(task, tmp_path, row, answered(row, change)[0])
    points = result[SERVING]['points']
    assert (result[metric], points[metric]['written']) == (0.0, 100.0) and points[metric]['high'] == 100.0


def demo_row(abbr: str) -> ConfigDict:
    config = Config.fromfile(DEMO / 'tooleval_demo_gen.py', format_python_code=False)
    return next(row for key, rows in config.items() if key.endswith('_datasets') for row in rows if row['abbr'] == abbr)
