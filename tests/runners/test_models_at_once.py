"""Models behind an API run at once on one machine, others one after another."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config
from opencompass.models import HuggingFacewithChatTemplate, OpenAISDK

from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalEvaluator
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolEvaluator
from opencompass_tooleval.models import OracleModel, ReplayModel, ToolEvalOpenAI, ToolEvalServed
from opencompass_tooleval.models.settings import API_TASKS, needs_encoder, runs_beside_others
from opencompass_tooleval.runners import ToolEvalLocalRunner
from opencompass_tooleval.tasks import ToolEvalEvalTask, ToolEvalInferTask
from opencompass_tooleval.tasks.planned_jobs import in_flight
from tests.conftest import ModelServer, sweep_of
from tests.engines import PATIENCE, until
from tests.forked import start_opencompass
from tests.models.api.scripted_server import KEY, Request, Script, serving

NAME = 'tooleval-teval-review_str_v2'
MANY = 'models = [dict(models[0], abbr=f"api{number}", **MORE.get(number, {})) for number in range(COUNT)]\n'


def write(folder: Path, url: str, count: int, more: str = '', key: str = 'right', **of_models: Any) -> None:
    """A config of models, one of which may have other settings."""
    others = {int(name[1:]): settings for name, settings in of_models.items()}
    many = MANY.replace('COUNT', str(count)).replace('MORE', repr(others))
    config = sweep_of(NAME, more=many + more, max_workers=1, timeout=600, key=key).replace('URL', url)
    (folder / 'mine.py').write_text(config, encoding='utf-8')


def results(folder: Path) -> set[str]:
    return {file.parent.name for file in folder.glob('out/*/results/*/*.json')}


@pytest.mark.long
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGKILL])
def test_eight_run_at_once_and_go_on_after_an_end(
    number: signal.Signals, canned_server: ModelServer, tmp_path: Path
) -> None:
    write(tmp_path, canned_server.url, API_TASKS + 1)
    canned_server.reset(latency=30)
    run = start_opencompass('mine.py', '-w', 'out', cwd=tmp_path, output=tmp_path / 'said')
    until(lambda: canned_server.stats()['in_flight'] == API_TASKS or run.poll() is not None)
    os.killpg(run.pid, number)
    assert run.wait(PATIENCE) == -number
    canned_server.settle()
    assert not results(tmp_path) and len(list(tmp_path.glob('out/*/logs/infer/*'))) == API_TASKS
    resumed = start_opencompass('mine.py', '-w', 'out', '-r', cwd=tmp_path, output=tmp_path / 'said')
    assert resumed.wait(PATIENCE) == 0 and results(tmp_path) == {f'api{place}' for place in range(API_TASKS + 1)}


def test_a_wrong_key_and_a_slow_model_hold_nobody_up(tmp_path: Path) -> None:
    """The first model is slow: the others end before it. The second one is missing, with its reason."""

    class Slow(Script):
        def complete(self, request: Request) -> Any:
            if request['model'] == 'slow':
                until(lambda: len(list(tmp_path.glob('out/*/predictions/api[2-5]/*.json'))) == 4)
            return super().complete({**request, 'model': 'tiny'})

    with serving(Slow()) as url:
        write(tmp_path, url, 6, key=KEY, _0={'path': 'slow'}, _1={'key': 'wrong'})
        run = start_opencompass('mine.py', '-w', 'out', cwd=tmp_path, output=tmp_path / 'said')
        assert run.wait(PATIENCE) == 1
    assert results(tmp_path) == {'api0', 'api2', 'api3', 'api4', 'api5'}
    assert 'Incorrect API key provided' in (tmp_path / 'said').read_text(encoding='utf-8')


@pytest.mark.long
def test_a_number_of_the_user_wins(canned_server: ModelServer, tmp_path: Path) -> None:
    write(tmp_path, canned_server.url, 3, "infer['runner']['max_num_workers'] = 1\n")
    run = start_opencompass('mine.py', '-w', 'out', cwd=tmp_path, output=tmp_path / 'said')
    assert run.wait(PATIENCE) == 0 and canned_server.stats()['most_in_flight'] == 1


def test_which_tasks_run_beside_others() -> None:
    beside = {ToolEvalOpenAI: True, ReplayModel: True, OracleModel: True, OpenAISDK: True}
    beside |= {ToolEvalServed: False, HuggingFacewithChatTemplate: False}
    for kind, is_beside in beside.items():
        assert runs_beside_others({'type': kind}) == is_beside, kind
        assert runs_beside_others({'type': f'{kind.__module__}.{kind.__name__}'}) == is_beside, kind
    assert needs_encoder({'eval_cfg': {'evaluator': {'type': ToolEvalTEvalEvaluator}}})
    plain = {'abbr': 'x', 'eval_cfg': {'evaluator': {'type': ToolEvalUltraToolEvaluator}}}
    assert not needs_encoder(plain) and not needs_encoder({})
    encoded = {**plain, 'eval_cfg': {'evaluator': {'type': ToolEvalTEvalEvaluator}}}
    for stage, dataset, workers, is_beside in (
        (ToolEvalInferTask, encoded, None, True),
        (ToolEvalEvalTask, encoded, None, False),
        (ToolEvalEvalTask, plain, None, True),
        (ToolEvalInferTask, plain, 4, False),
    ):
        runner = ToolEvalLocalRunner(task={'type': stage}, max_num_workers=workers, debug=True)
        model = {'type': ToolEvalOpenAI, 'abbr': 'm', 'path': 'm', 'run_cfg': {'num_gpus': 0}}
        task = Config({'models': [model], 'datasets': [[dataset]], 'work_dir': '.'})
        assert runner._runs_beside(task) == is_beside, (stage, workers)
    assert runner.max_num_workers == 4


def test_the_sum_of_requests_in_flight_is_said() -> None:
    model = {'type': ToolEvalOpenAI, 'path': 'm', 'openai_api_base': 'http://user:secret@host/v1', 'max_workers': 64}
    models = [*[model] * 9, {'type': ReplayModel}, {'type': ToolEvalOpenAI, 'path': 'x'}]
    (line,) = in_flight(models, API_TASKS)
    assert line.endswith('@host/v1: 8 models at once have up to 512 requests in flight') and 'secret' not in line
    assert '2 models' in next(in_flight(models, 2)) and not list(in_flight(models, 1))


def test_the_option_that_opencompass_ignores_is_refused(canned_server: ModelServer, tmp_path: Path) -> None:
    write(tmp_path, canned_server.url, 2)
    words = ('mine.py', '-w', 'out', '--max-num-workers', '4')
    run = start_opencompass(*words, cwd=tmp_path, output=tmp_path / 'said')
    assert run.wait(PATIENCE) == 1 and canned_server.stats()['requests'] == 0
    (line,) = [line for line in (tmp_path / 'said').read_text().splitlines() if '--max-num-workers' in line]
    assert line.endswith("set infer['runner']['max_num_workers'] in the config instead")
