"""Several trials of every shipped data set: each defines when a sample is correct, and samples are 0 or 1."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from mmengine.config import Config, ConfigDict
from opencompass.registry import ICL_EVALUATORS

from opencompass_tooleval.catalogue.benchmark import all_benchmarks
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.noise import damage
from opencompass_tooleval.core.statistics.trials import SUCCESS, names_of
from opencompass_tooleval.evaluators.evaluator import ToolEvalEvaluator
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.fixed_models import OracleModel
from opencompass_tooleval.tasks.eval_task import ToolEvalEvalTask
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask
from tests.core.tables import TABLES

CONFIGS = Path(__file__).resolve().parents[2] / 'opencompass_tooleval' / 'configs'
DEMO = CONFIGS / 'eval_demo.py'


def test_every_benchmark_is_looked_at() -> None:
    assert {benchmark.name: benchmark.subsets for benchmark in all_benchmarks()} == {
        name: tuple(row.name for row in rows) for name, rows in TABLES.items()
    }


class Wavering(OracleModel):
    """Damages half of its answers, in each trial others."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._asked: Counter[tuple[str, str]] = Counter()

    def reply(self, prompt: Conversation) -> Answer:
        key = prompt.source, prompt.record_id
        self._asked[key] += 1
        rng = Random(f'{key}/{self._asked[key]}')
        return Answer(damage(prompt.gold_answer, rng) if rng.random() < 0.5 else prompt.gold_answer)


@dataclass(frozen=True)
class Repeated:
    """A data set that was asked four times."""

    evaluator: ToolEvalEvaluator
    result: dict[str, Any]


@pytest.fixture(scope='module')
def repeated(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Repeated]:
    """Every subset of the demo in one language, without those with instructions, by abbr."""
    folder = tmp_path_factory.mktemp('trials')
    datasets = Config.fromfile(DEMO, format_python_code=False)['datasets']
    datasets = [row for row in datasets if not row['abbr'].endswith(('_v2_zh', '_en', 'easytool'))]
    for dataset in datasets:
        dataset['n'] = 4
        dataset['reader_cfg']['test_range'] = '[:5]'
    model = ConfigDict(type=Wavering, abbr='wavering', batch_size=64)
    evaluation = {'runner': {'task': {'dump_details': True}}}
    task = ConfigDict(models=[model], datasets=[datasets], work_dir=str(folder), eval=evaluation)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('TOOLEVAL_CACHE', str(folder / 'cache'))
        ToolEvalInferTask(task).run()
        ToolEvalEvalTask(task).run()
    return {
        dataset['abbr']: Repeated(
            ICL_EVALUATORS.build(dataset['eval_cfg']['evaluator']),
            json.loads((folder / 'results' / 'wavering' / f'{dataset["abbr"]}.json').read_text(encoding='utf-8')),
        )
        for dataset in datasets
    }


def test_every_shipped_data_set_has_its_trials(repeated: dict[str, Repeated]) -> None:
    seen = {(one.result['provenance']['benchmark'], one.result['provenance']['subset']) for one in repeated.values()}
    assert set(TABLES) == {benchmark for benchmark, _ in seen} and len(repeated) > 35
    for name, one in repeated.items():
        rule, result = one.evaluator.binary_metrics, one.result
        trials = result['trials']
        assert (trials['n'], trials['success']) == (4, list(rule.success)), name
        assert list(trials['metrics']) == [*one.evaluator.metrics, *((SUCCESS,) if rule.success else ())]
        for metric, by_kind in trials['metrics'].items():
            assert list(by_kind) == ['avg@4', *(names_of(4) if metric in rule.names else ())]
            if metric in result:
                assert by_kind['avg@4']['value'] == result[metric]
                assert by_kind['avg@4']['standard_error'] == result['standard_errors'][metric]
        values = {detail['values'][metric] for detail in result['details'] for metric in rule.metrics}
        assert values <= {0.0, 1.0, None}
        records = len(result['details']) // 4
        assert [detail['trial'] for detail in result['details']] == [i // records for i in range(4 * records)]


def test_what_is_right_in_some_trials_lies_between(repeated: dict[str, Repeated]) -> None:
    """The more trials, the more records are right once, and the fewer every time."""
    wavering = 0
    for one in repeated.values():
        for by_kind in one.result['trials']['metrics'].values():
            if len(by_kind) > 1 and by_kind['pass@4']['records']:
                rising = [by_kind[name]['value'] for name in ('pass^4', 'pass^2', 'pass^1', 'pass@2', 'pass@4')]
                assert all(low <= high + 1e-9 for low, high in pairwise(rising))
                assert by_kind['pass^1']['value'] == pytest.approx(by_kind['pass@1']['value'])
                wavering += rising[0] < rising[-1]
    assert wavering > 30
