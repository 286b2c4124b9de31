"""Models whose server the task starts: when it starts, its end; and the real ``transformers serve``."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config
from opencompass.utils import build_model_from_cfg

from opencompass_tooleval.models.model_calls import AskingEndedError
from opencompass_tooleval.models.served_model import ToolEvalServed
from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask
from opencompass_tooleval.work_dir.run_context import in_context
from opencompass_tooleval.work_dir.work_dir import last_error
from tests.conftest import ROOT, load_tool, sweep_of
from tests.engines import command_lines, processes, scripted_engine, serve_engine, until, until_gone
from tests.forked import Fork, start_opencompass
from tests.models.test_shared_model import PLAN, REVIEW, ask, asked, nothing_left, shared_model

__all__ = ['nothing_left']  # a fixture


@pytest.fixture
def served(tmp_path: Path) -> Any:
    models = []

    def build(*arguments: str, engine: dict[str, Any] | None = None, **settings: Any) -> ToolEvalServed:
        engine = engine or scripted_engine(tmp_path, *arguments)
        default = dict(type=ToolEvalServed, path='tiny', retry=2, backoff=0.01, query_per_second=1000, max_workers=4)
        with in_context(engine_log=tmp_path / 'engine.log'):
            models.append(build_model_from_cfg({**default, 'engine': engine, 'abbr': 'served', **settings}))
        return models[-1]

    yield build
    for model in models:
        model.close()


def test_the_first_question_starts_it(served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = served()
    assert model.get_token_len('some words') and not processes(tmp_path)
    assert model.generate([ask('a'), ask('b')]) == ['Answer: A'] * 2
    port = model._engine.port
    assert model.generate([ask('c')]) == ['Answer: A'] and model._engine.port == port
    model.close()
    assert not processes(tmp_path)
    assert model.generate([ask('d')]) == ['Answer: A']  # debug mode keeps a model from one task to the next
    assert (tmp_path / 'engine.log').read_text().count('loading the weights') == 2
    for name in ('HTTP_PROXY', 'http_proxy', 'ALL_PROXY'):
        monkeypatch.setenv(name, 'http://127.0.0.1:9')
    monkeypatch.delenv('NO_PROXY', raising=False)
    monkeypatch.delenv('no_proxy', raising=False)
    assert served().generate([ask('a')]) == ['Answer: A']


def test_one_that_does_not_start_is_started_once(served: Any, tmp_path: Path) -> None:
    model = served('--fault', 'crash', max_workers=8)
    for _ in range(2):
        with pytest.raises(AskingEndedError) as caught:
            model.generate([ask(str(number)) for number in range(20)])
        said = str(caught.value)
        assert said.startswith(
            'the engine of tiny: ended with exit status 1 before it was ready: RuntimeError: no such'
        )
        assert '  | loading the weights' in said and said.endswith('Everything answered is kept: run again with -r')
    assert (tmp_path / 'engine.log').read_text().count('loading the weights') == 1


def test_ctrl_c_while_it_loads(served: Any, tmp_path: Path) -> None:
    model = served('--fault', 'loading')

    def interrupt() -> None:
        until(lambda: len(processes(tmp_path)) == 2)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        model.generate([ask('a'), ask('b')])
    interrupting.join()
    model.close()
    assert not processes(tmp_path)


def test_address_key_and_proxy_are_not_ours_to_say(served: Any) -> None:
    for name in ('key', 'openai_api_base', 'openai_proxy_url'):
        with pytest.raises(ValueError, match=f'^{name}: an engine'):
            served(**{name: 'x'})
    for name, value in (('proxy', 'http://127.0.0.1:9'), ('proxies', {}), ('trust_env', True)):
        with pytest.raises(ValueError, match=f'^http_client_cfg: {name}: an engine that the task starts'):
            served(http_client_cfg={name: value})


@pytest.mark.parametrize('engine', ['vllm', 'sglang', 'lmdeploy', 'llamacpp', 'transformers'])
def test_ready_configs(engine: str) -> None:
    file = ROOT / 'opencompass_tooleval' / 'configs' / 'models' / f'tooleval_served_{engine}.py'
    (cfg,) = Config.fromfile(file)['models']
    model = build_model_from_cfg(cfg)
    assert isinstance(model, ToolEvalServed)
    words = ' '.join(cfg['engine']['command'])
    assert '{model}' in words and '{host}' in words and '{port}' in words
    assert 'key' not in words


# Through OpenCompass


def write_config(
    folder: Path, engine: dict[str, Any], path: str = 'tiny', abbrs: Sequence[str] = (REVIEW,), out_len: int = 8
) -> None:
    settings = {'path': path, 'max_out_len': out_len, 'max_workers': 1, 'timeout': 600, 'patience': 100_000}
    model = shared_model(folder, engine=engine, shared=False, **settings)
    (folder / 'mine.py').write_text(sweep_of(*abbrs, more=f'models = [{model!r}]\n'))


def start(folder: Path, *more: str) -> Fork:
    return start_opencompass('mine.py', '-w', 'out', *more, cwd=folder, output=folder / 'said.txt')


def rows_of(folder: Path, dataset: str = REVIEW) -> list[dict[str, Any]]:
    (predictions,) = folder.glob(f'out/*/predictions/served/{dataset}.json')
    return list(json.loads(predictions.read_text()).values())


def log_of(folder: Path, kind: str = 'out') -> str:
    (log,) = folder.glob(f'out/*/logs/infer/served/*.{kind}')
    return log.read_text()


def test_a_sweep_whose_engine_is_killed_and_that_goes_on(tmp_path: Path) -> None:
    write_config(tmp_path, scripted_engine(tmp_path, '--fault', 'once'), abbrs=(REVIEW, PLAN))
    assert start(tmp_path).wait() == 1
    said = log_of(tmp_path)
    assert 'AskingEndedError: the engine of tiny: ended by SIGKILL: RuntimeError: out of memory, or so (log: ' in said
    assert '  | loading the weights' in said
    (log,) = tmp_path.glob('out/*/logs/infer/served/*.out')
    for dataset in (REVIEW, PLAN):
        assert 'ended by SIGKILL: RuntimeError: out of memory, or so (log: ' in last_error(log, dataset)
    assert not processes(tmp_path)
    assert asked(tmp_path) == 2 and not list(tmp_path.glob('out/*/predictions/served/*.json'))
    assert start(tmp_path, '-r').wait() == 0, (tmp_path / 'said.txt').read_text()
    count = len(rows_of(tmp_path)) + len(rows_of(tmp_path, PLAN))
    assert asked(tmp_path) == count  # nothing is asked twice
    assert log_of(tmp_path, 'engine.log').count('loading the weights') == 2
    assert not processes(tmp_path)


@pytest.mark.parametrize(('whom', 'loading'), [
    pytest.param('task', False, id='task while it is asked'),
    pytest.param('runner', True, id='runner while it loads', marks=pytest.mark.long),
])  # fmt: skip
def test_a_sweep_that_is_killed_leaves_no_engine(tmp_path: Path, whom: str, loading: bool) -> None:
    fault = ('--fault', 'loading') if loading else ('--latency', '2')
    write_config(tmp_path, scripted_engine(tmp_path, *fault))
    sweep = start(tmp_path)
    until(lambda: len(processes(tmp_path)) == 2 and (loading or asked(tmp_path)))
    (lock,) = tmp_path.glob('out/*/predictions/served/.*.lock')
    task = int(json.loads(lock.read_text())['process'])
    if loading:
        assert 'is started, which may take' in json.loads(lock.read_text())['waiting']
    assert task != sweep.pid
    os.kill(task if whom == 'task' else sweep.pid, signal.SIGKILL)
    sweep.wait()
    until_gone(tmp_path)


@pytest.mark.long
def test_shards_have_an_engine_each_and_keys_are_nowhere(tmp_path: Path) -> None:
    """A key is on no command line, in no log, in no file of the sweep; the engine has it in its environment."""
    write_config(tmp_path, scripted_engine(tmp_path, '--latency', '0.2'))
    with (tmp_path / 'mine.py').open('a') as config:
        config.write(
            'from opencompass_tooleval.partitioner import ToolEvalNumWorkerPartitioner\n'
            "infer['partitioner'] = dict(type=ToolEvalNumWorkerPartitioner, num_worker=2, min_task_size=1)\n"
            "infer['runner']['max_num_workers'] = 2\n"
        )
    sweep = start(tmp_path)
    until(lambda: asked(tmp_path))
    engine = next(number for number, words in processes(tmp_path).items() if 'engine_script' in words)
    variables = Path(f'/proc/{engine}/environ').read_bytes().split(b'\0')
    (key,) = [variable.partition(b'=')[2] for variable in variables if variable.startswith(b'ENGINE_KEY=')]
    assert len(key) > 40
    assert not any(key in words for words in command_lines())
    assert sweep.wait() == 0
    files = [file for file in tmp_path.rglob('*') if file.is_file()]
    assert any(file.name.endswith('.engine.log') for file in files) and any(file.suffix == '.py' for file in files)
    assert not [file for file in files if key in file.read_bytes()]
    logs = [file.read_text() for file in tmp_path.glob('out/*/logs/infer/served/*.engine.log')]
    assert len(logs) == 2 and len({log.partition('--port ')[2].split()[0] for log in logs}) == 2
    assert len(list(tmp_path.glob('out/*/results/served/*.json'))) == 1
    assert not processes(tmp_path)


def test_torchrun_has_no_part_in_it(tmp_path: Path) -> None:
    engine = scripted_engine(tmp_path)
    model = dict(type=ToolEvalServed, abbr='m', path='m', engine=engine, run_cfg=dict(num_gpus=4))
    for kind in (ToolEvalServed, 'ToolEvalServed', 'opencompass_tooleval.models.served_model.ToolEvalServed'):
        cfg = Config(dict(models=[{**model, 'type': kind}], datasets=[[dict(abbr='d')]], work_dir=str(tmp_path)))
        task = ToolEvalInferTask(cfg)
        assert 'torch.distributed' not in task.get_command('params.py', '{task_cmd}')
        assert task.num_gpus == 4


# The real one


@pytest.fixture
def real() -> None:
    serving = pytest.importorskip('transformers.commands.serving', reason='no transformers serve in this version')
    if not serving.serve_dependencies_available:
        pytest.skip('what transformers serve needs is not installed')


@pytest.mark.long
def test_tool_calls_of_qwen_through_opencompass(real: None, tmp_path: Path) -> None:
    """The tools of a data set reach the engine's template, and its calls are scored."""
    dataset = 'tooleval-teval-instruct_v2-fc'
    arguments = {'city': 'Ghent', 'date': '2025-04-12', 'limit': 3}  # what the first record asks for
    folder = load_tool('make_tiny_model').make_calling_model(tmp_path / 'qwen', 'MuseumGuide_list_open', arguments)
    write_config(tmp_path, serve_engine(tmp_path), str(folder), [dataset], out_len=32)
    assert start(tmp_path).wait() == 0, (tmp_path / 'said.txt').read_text() + log_of(tmp_path)
    assert not processes(tmp_path)
    first, *others = rows_of(tmp_path, dataset)
    for row in (first, *others):
        assert row['infra'] is None
        assert [call['arguments'] for call in row['calls']] == [arguments]
    (result,) = tmp_path.glob(f'out/*/results/served/{dataset}.json')
    reasons = [detail['reason'] for detail in json.loads(result.read_text())['details']]
    assert reasons[0] == 'ok' and reasons.count('ok') < len(reasons)
