"""Servers that tasks share: started once, found again after each death, ended with the last task."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from opencompass.utils import build_model_from_cfg
from opencompass.utils.prompt import PromptList

from opencompass_tooleval.benchmarks.ultratool.judge import LABELS
from opencompass_tooleval.models.model_calls import AskingEndedError
from opencompass_tooleval.models.settings import setting_faults
from opencompass_tooleval.models.shared_servers import placed, shared_servers
from opencompass_tooleval.runners.local_servers import prepare_server
from opencompass_tooleval.tasks.planned_jobs import make_plan
from opencompass_tooleval.work_dir.run_context import in_context
from opencompass_tooleval.work_dir.server_file import read_server, server_file, server_lines
from tests.conftest import sweep_of
from tests.engines import none_left, processes, scripted_engine, until, until_gone
from tests.forked import Fork, start_opencompass

SERVED = 'opencompass_tooleval.models.served_model.ToolEvalServed'
JUDGED = ('tooleval-ultratool-planning_zh', 'tooleval-ultratool-tool_creation_zh', 'tooleval-ultratool-planning_en')
REVIEW, PLAN = 'tooleval-teval-review_str_v2', 'tooleval-teval-plan_json_v2'
ORACLE = dict(type='opencompass_tooleval.models.fixed_models.OracleModel', batch_size=8, run_cfg=dict(num_gpus=0))
MORE = """
for row in datasets:
    if JUDGE:
        row['eval_cfg']['evaluator']['judge_cfg'] = JUDGE
eval['partitioner']['n'] = 1
infer['runner']['max_num_workers'] = eval['runner']['max_num_workers'] = 3
"""


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    with none_left(tmp_path):
        yield


def shared_model(folder: Path, *arguments: str, engine: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    model = dict(type=SERVED, abbr='served', path='tiny', shared=True, retry=0, max_workers=2, backoff=0.01)
    model.update(query_per_second=1000, max_seq_len=100_000, max_out_len=8, batch_size=2, run_cfg=dict(num_gpus=0))
    return {**model, 'engine': engine or scripted_engine(folder, *arguments), **more}


def write_config(folder: Path, abbrs: tuple[str, ...], models: Any = (), judge: Any = None) -> None:
    models = list(models) or [{**ORACLE, 'abbr': abbr} for abbr in ('m1', 'm2')]
    more = f'models = {models!r}{MORE}'.replace('JUDGE', repr(judge))
    (folder / 'mine.py').write_text(sweep_of(*abbrs, more=more))


def start(folder: Path, *more: str) -> Fork:
    environment = {**os.environ, 'TOOLEVAL_CACHE': str(folder / 'cache')}
    return start_opencompass('mine.py', '-w', 'out', *more, cwd=folder, env=environment, output=folder / 'said.txt')


def run(folder: Path, *more: str) -> None:
    assert start(folder, *more).wait() == 0, said(folder)


def said(folder: Path) -> str:
    return (folder / 'said.txt').read_text()


def starts(folder: Path) -> int:
    logs = folder.glob('out/*/logs/**/*.engine.log')
    return sum(log.read_text().count('loading the weights') for log in logs)


def asked(folder: Path) -> int:
    return len((folder / 'asked').read_text()) if (folder / 'asked').exists() else 0


def judge(folder: Path, *arguments: str) -> dict[str, Any]:
    labels = {label: 'SCORE' for task in LABELS.values() for names in task.values() for label in names}
    (folder / 'reply').write_text(json.dumps(labels, ensure_ascii=False))
    return shared_model(folder, '--reply', str(folder / 'reply'), *arguments, abbr='judge')


def results(folder: Path) -> int:
    return len(list(folder.glob('out/*/results/*/*.json')))


# Settings


def test_an_engine_without_a_key_is_refused_unless_it_is_open(tmp_path: Path) -> None:
    keyless = scripted_engine(tmp_path, key_variable=None)
    texts = {
        'shared: its engine uses no key': shared_model(tmp_path, engine=keyless),
        'open: only a shared engine': shared_model(tmp_path, engine=keyless, shared=False, open=True),
        'open: only a shared engine without a key': shared_model(tmp_path, open=True),
    }
    for text, cfg in texts.items():
        (fault,) = setting_faults([cfg], [])
        assert fault.text.startswith(text)
        with pytest.raises(ValueError, match=text):
            build_model_from_cfg(cfg)
    for cfg in (shared_model(tmp_path, engine=keyless, open=True), shared_model(tmp_path)):
        assert not setting_faults([cfg], [])


def task_of(stage: str, models: list[Any], *judges: Any) -> dict[str, Any]:
    evaluators = [{'eval_cfg': {'evaluator': {'judge_cfg': judge}}, 'infer_cfg': {}} for judge in judges]
    return {'models': models, 'datasets': [evaluators] * len(models)}


def test_models_with_the_same_engine_share_a_server(tmp_path: Path) -> None:
    first, second = shared_model(tmp_path), shared_model(tmp_path, abbr='other', temperature=1.0)
    third = shared_model(tmp_path, '--latency', '1')
    two, one = ([*shared_servers(stage, task_of(stage, [first, third], second))] for stage in ('infer', 'eval'))
    assert len(two) == 2 and one == two[:1] and one[0].startswith('tiny-')
    assert not shared_servers('infer', task_of('infer', [shared_model(tmp_path, shared=False)], first))
    simulated = task_of('infer', [first])
    simulated['datasets'] = [[{'infer_cfg': {'inferencer': {'dialogues': {'simulator': {'model': third}}}}}]]
    assert [*shared_servers('infer', simulated)] == two
    first['run_cfg'] = second['run_cfg'] = dict(num_gpus=2)
    before = task_of('eval', [first], second, second)
    after = placed('eval', before, tmp_path)
    assert second['shared'] is True and after['models'] == [first]
    for row in after['datasets'][0]:
        judge = row['eval_cfg']['evaluator']['judge_cfg']
        assert judge['run_cfg']['num_gpus'] == 0
        assert judge['shared'] == str(server_file(tmp_path, *shared_servers('eval', before)))


# One server, without a runner


def ask(text: str) -> PromptList:
    return PromptList([{'role': 'HUMAN', 'prompt': text, 'content': text}])


class Server:
    """The program of a server, and models of tasks that use it."""

    def __init__(self, folder: Path, *arguments: str, **more: Any) -> None:
        self.folder = folder
        self.cfg = shared_model(folder, *arguments, **more)
        task = {'models': [self.cfg], 'datasets': [[]]}
        (server,) = shared_servers('infer', task).values()
        self.command, _ = prepare_server(server, folder, folder / 'out', starter=os.getpid())
        self.file = server_file(folder, server.name)
        (self.placed,) = placed('infer', task, folder)['models']
        self.program: Any = None

    def start(self) -> None:
        self.program = subprocess.Popen(self.command)

    def model(self) -> Any:
        return build_model_from_cfg(self.placed)

    def stage(self) -> str:
        state = read_server(self.file)
        return state.stage if state else ''

    def engine(self) -> int:
        (engine,) = [number for number, words in processes(self.folder).items() if 'engine_script' in words]
        return engine


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    servers = []

    def build(*arguments: str, **more: Any) -> Server:
        servers.append(Server(tmp_path, *arguments, **more))
        return servers[-1]

    yield build
    for one in servers:
        if one.program:
            one.program.kill()
            one.program.wait()


def test_it_loads_no_model_before_a_request(server: Callable[..., Server], tmp_path: Path) -> None:
    shared = server()
    shared.start()
    shared.model()
    shared.program.send_signal(signal.SIGTERM)
    assert shared.program.wait() in (0, -signal.SIGTERM) and not list(tmp_path.rglob('*.engine.log'))


@pytest.mark.long
def test_it_is_waited_for_and_found_again(server: Callable[..., Server], tmp_path: Path) -> None:
    shared = server()
    model, waits = shared.model(), list[str]()
    assert shared.stage() == 'queued'
    threading.Timer(0.5, shared.start).start()
    with in_context(report_wait=waits.append):
        assert model.generate([ask('a'), ask('b')]) == ['Answer: A'] * 2
    assert waits[0].startswith('waiting for the shared engine of tiny: queued since') and waits[-1] == ''
    first = read_server(shared.file)
    assert first and first.stage == 'ready' and len(first.key) > 40
    assert shared.file.stat().st_mode & 0o777 == 0o600
    assert first.key not in repr(first) and first.key not in (tmp_path / 'out').rglob('*.log').__next__().read_text()
    os.kill(shared.engine(), signal.SIGKILL)
    assert model.generate([ask('c')]) == ['Answer: A']  # retry=0: the lost connection counts as no try
    second = read_server(shared.file)
    assert second and second.stage == 'ready' and (second.url, second.key) != (first.url, first.key)
    assert shared.model().generate([ask('d')]) == ['Answer: A']  # of another task
    shared.program.send_signal(signal.SIGTERM)
    assert shared.program.wait() == 0 and not processes(tmp_path) and shared.stage() == 'queued'
    shared.start()
    assert model.generate([ask('e')]) == ['Answer: A']


@pytest.mark.long
def test_the_address_of_a_killed_program_is_stale(server: Callable[..., Server], tmp_path: Path) -> None:
    """Its guard ends the engine; tasks wait until it is started again, or as long as their patience."""
    shared = server()
    shared.start()
    model = shared.model()
    assert model.generate([ask('a')]) == ['Answer: A']
    shared.program.kill()
    shared.program.wait()
    until_gone(tmp_path)
    assert shared.stage() == 'ready'
    shared.placed['patience'] = 0.1
    with pytest.raises(AskingEndedError, match=r'ready since .*, unreachable: no connection to .* \(refused\)'):
        shared.model().generate([ask('b')])
    threading.Timer(0.5, shared.start).start()
    assert model.generate([ask('c')]) == ['Answer: A']


def test_a_server_that_never_gets_ready_ends_its_tasks(server: Callable[..., Server], tmp_path: Path) -> None:
    one = server('--fault', 'crash')
    one.start()
    for _ in range(2):
        with pytest.raises(AskingEndedError) as caught:
            one.model().generate([ask('a'), ask('b')])
        words = str(caught.value)
        assert 'the shared engine of tiny: ended with exit status 1 before it was ready: RuntimeError: no such' in words
        assert '  | loading the weights' in words and words.endswith('Everything answered is kept: run again with -r')
    assert one.program.wait() == 3 and one.stage() == 'failed'
    one.file.unlink()
    with pytest.raises(AskingEndedError, match='its runner has ended, or'):
        one.model().generate([ask('a')])


@pytest.mark.long
def test_an_engine_that_ends_again_and_again_is_given_up(server: Callable[..., Server]) -> None:
    one = server('--fault', 'always')
    one.start()
    with pytest.raises(AskingEndedError, match='started 10 times: ended by SIGKILL: RuntimeError: out of memory'):
        one.model().generate([ask(str(number)) for number in range(100)])
    assert one.program.wait() == 3


def test_one_without_a_key(server: Callable[..., Server], tmp_path: Path) -> None:
    one = server(engine=scripted_engine(tmp_path, key_variable=None), open=True)
    one.start()
    assert one.model().generate([ask('a')]) == ['Answer: A']


# Through OpenCompass


def test_one_judge_for_two_models_and_several_data_sets(tmp_path: Path) -> None:
    """It is killed once, and started again."""
    write_config(tmp_path, JUDGED, judge=judge(tmp_path, '--fault', 'once'))
    (line,) = make_plan(tmp_path / 'mine.py').servers
    assert line.endswith(': one job with 0 GPUs, for which 6 evaluation jobs wait')
    run(tmp_path)
    assert results(tmp_path) == 6 and starts(tmp_path) == 2
    assert not processes(tmp_path) and not list(tmp_path.glob('out/*/tmp/local/*'))


@pytest.mark.long
@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGINT], ids=str)
def test_a_killed_sweep_leaves_no_server_and_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    write_config(tmp_path, (REVIEW, PLAN), [shared_model(tmp_path, '--latency', '1', max_workers=1)])
    sweep = start(tmp_path)
    until(lambda: asked(tmp_path) > 1 or sweep.poll() is not None)
    (work_dir,) = tmp_path.glob('out/*')
    (line,) = server_lines(work_dir)
    assert ': ready since ' in line and 'its runner has ended' not in line
    other = start(tmp_path, '-r')  # a second sweep in the same folder
    assert other.wait() == 1 and 'is locked by process' in said(tmp_path)
    sweep.send_signal(number)
    sweep.wait()
    until_gone(tmp_path)
    left = [*server_lines(work_dir)]
    assert len(left) == (number == signal.SIGKILL) and all(line.endswith('; its runner has ended') for line in left)
    run(tmp_path, '-r')
    assert starts(tmp_path) == 2 and not processes(tmp_path) and not [*server_lines(work_dir)]
    rows = [row for file in work_dir.glob('predictions/served/*.json') for row in json.loads(file.read_text()).values()]
    assert len(rows) <= asked(tmp_path) <= len(rows) + 1


@pytest.mark.long
def test_two_judges_on_one_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One after the other, each loaded once; the tasks need no GPU."""
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '3')
    write_config(tmp_path, JUDGED, judge=judge(tmp_path))
    other = {**judge(tmp_path), 'path': 'other', 'run_cfg': dict(num_gpus=1)}
    with (tmp_path / 'mine.py').open('a') as config:
        config.write("datasets[0]['eval_cfg']['evaluator']['judge_cfg']['run_cfg'] = dict(num_gpus=1)\n")
        config.write(f"datasets[1]['eval_cfg']['evaluator']['judge_cfg'] = {other!r}\n")
    run(tmp_path)
    logs = [file.read_text() for file in tmp_path.glob('out/*/logs/servers/*.engine.log')]
    assert sorted(log.partition('GPUs ')[2].split()[0] for log in logs if 'GPUs 3' in log) == ['3', '3']
    assert all(log.count('loading the weights') == 1 for log in logs)
    assert results(tmp_path) == 6 and not processes(tmp_path)
