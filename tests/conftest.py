"""Fixtures that several test files share: a tiny model, and a server that fails on demand."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import signal
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from opencompass_tooleval.core.text import redaction
from tests.forked import Fork, share_server, start_python, worker_spec

# Before torch is imported, and for every process that a test starts: two processes with a thread per core each, on few
# cores, wait for one another and take forty times as long.
os.environ.setdefault('OMP_NUM_THREADS', '1')
os.environ.setdefault('TOKENIZERS_PARALLELISM', 'false')
os.environ.setdefault('HF_HUB_OFFLINE', '1')


def hear_signals() -> None:
    """Undoes what shells do to jobs in the background, and nohup: tests and what they start would ignore signals."""
    if threading.current_thread() is threading.main_thread():
        for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, handler)


hear_signals()

# A test of Hypothesis does not fail because the machine is slow.
settings.register_profile('tooleval', deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile('tooleval')

ROOT = Path(__file__).resolve().parent.parent
LONGEST = """
cli/test_run.py extras/tasks/test_check.py test_hostile_readers.py test_bound_results.py test_end_to_end.py
cli/test_answer_limits.py twins/test_gold.py extras/tasks/test_gold_file.py tasks/test_tasks.py report/test_browser.py
fixes/test_fixes.py test_budget.py cli/test_other_settings.py test_spending.py cli/test_sweep.py
work_dir/test_replicas.py twins/test_exactness.py test_kill_agents.py benchmarks/teval/test_differential.py
models/test_shared_model.py models/api/test_native_datasets.py work_dir/test_shards.py cli/test_twins.py
cli/test_watch.py report/test_browser_agents.py inferencers/test_trials.py summarizers/test_server_evidence.py
models/api/test_engine.py models/test_budget.py extras/tasks/test_adapter.py test_refusals.py test_kill.py
benchmarks/funcqa/test_pipeline.py runners/test_models_at_once.py models/test_served_model.py
test_documentation.py
"""
"""Files whose tests take longest. They come first, so that no processor is left with one of them at the end."""


def import_share(worker: dict[str, Any]) -> None:
    """Has a worker of pytest-xdist import its share of the test files first, and keep it compiled for the others."""
    files = sorted((ROOT / 'tests').rglob('test_*.py'))
    for file in files[int(worker['workerid'].removeprefix('gw')) :: worker['workercount']]:
        with suppress(Exception, pytest.skip.Exception):  # collection reports it
            importlib.import_module('.'.join(file.relative_to(ROOT).with_suffix('').parts))


@pytest.hookimpl(hookwrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Keeps the garbage collector from walking, again and again, through the modules and tests that stay to the end."""
    gc.disable()
    if worker := getattr(session.config, 'workerinput', None):
        import_share(worker)
    yield
    gc.enable()
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """Makes the workers of pytest-xdist forks of the process that their tests fork, too."""
    if workers := config.getoption('numprocesses', None):  # not in a worker
        share_server()
        config.option.tx = [worker_spec()] * workers


def pytest_sessionfinish() -> None:
    """Shows everything to the collector again, of whom Hypothesis asks who refers to a random generator."""
    gc.unfreeze()


def pytest_unconfigure() -> None:
    """Hides everything from pytest's last collections, which take seconds."""
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest first; ``--no-loadscope-reorder`` keeps the order."""
    order = {ROOT / 'tests' / name: place for place, name in enumerate(LONGEST.split())}
    assert all(file.is_file() for file in order)
    items.sort(key=lambda item: order.get(item.path, len(order)))


@pytest.fixture(autouse=True)
def keys_of_one_test() -> Iterator[None]:
    """Forgets the keys that a test used: they would be removed from the texts of all later tests."""
    before = set(redaction._keys)
    yield
    redaction._keys.clear()
    redaction._keys.update(before)


@pytest.fixture(autouse=True)
def log_level_of_one_test() -> Iterator[None]:
    """Restores the level of OpenCompass's logger, which commands that print JSON raise for their whole process."""
    yield
    if utils := sys.modules.get('opencompass.utils'):
        utils.get_logger().setLevel('INFO')


def load_tool(name: str) -> ModuleType:
    """Imports ``tools/NAME.py``, which is a script and no package; NAME may have a folder."""
    file = ROOT / 'tools' / f'{name}.py'
    name = file.stem
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@dataclass
class ModelServer:
    """A running ``tools/serve_model.py``."""

    process: Fork
    url: str

    def stats(self) -> dict[str, Any]:
        """What it was asked since the last :meth:`reset`."""
        stats: dict[str, Any] = self._send('/stats')
        return stats

    def reset(self, *faults: str, latency: float = 0.0) -> None:
        """Forgets what was asked, and fails like this from now on."""
        self._send('/reset', json.dumps({'faults': faults, 'latency': latency}).encode())

    def settle(self) -> None:
        """Answers what waits, and forgets everything: no faults, nothing asked, nobody waiting."""
        self.reset()
        while self.stats()['in_flight']:
            time.sleep(0.02)
        self.reset()

    def _send(self, path: str, body: bytes | None = None) -> Any:
        # Not by httpx, whose every client reads the certificates of all authorities, twenty times a second in loops.
        request = urllib.request.Request(
            self.url.removesuffix('/v1') + path, body, {'Content-Type': 'application/json'}
        )
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)

    def stop(self) -> None:
        """Ends the process."""
        self.process.kill()
        self.process.wait()


SWEEP = """
from mmengine.config import read_base
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import *
    from opencompass_tooleval.configs.summarizers.tooleval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

rows = [row for name, rows in locals().items() if name.endswith('_datasets') for row in rows]
datasets = [next(row for row in rows if row['abbr'] == name) for name in WANTED]
server = dict(type=ToolEvalOpenAI, path='tiny', key='right', openai_api_base='URL', retry=2, timeout=30, max_out_len=64,
              query_per_second=1000, max_seq_len=100000)
server.update(SETTINGS)
models = [dict(server, abbr='api', run_cfg=dict(num_gpus=0))]
"""


def sweep_of(*wanted: str, more: str = '', **settings: Any) -> str:
    """The config of a sweep over data sets of the demo, with settings of the server; ``more`` is Python behind it."""
    config = SWEEP.replace('WANTED', repr(wanted))
    return config.replace('SETTINGS', f'**{settings!r}') + more


SERVE = ROOT / 'tools' / 'serve_model.py'


def start_server(*arguments: str | Path) -> ModelServer:
    """Starts ``tools/serve_model.py``, in a fork of a process that has imported torch; returns once it listens."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, 'url')
        code = 'import runpy, sys; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name="__main__")'
        process = start_python('-c', code, SERVE, *arguments, output=output, errors=Path(os.devnull))
        while not (output.exists() and (url := output.read_text(encoding='utf-8')).endswith('\n')):
            assert process.poll() is None, f'the server ended with status {process.wait()}'
            time.sleep(0.05)
    return ModelServer(process, url.strip())


@pytest.fixture(scope='session')
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny HF chat model."""
    folder: Path = load_tool('make_tiny_model').make_tiny_model(tmp_path_factory.mktemp('models') / 'tiny')
    return folder


@pytest.fixture(scope='session')
def canned_process() -> Iterator[ModelServer]:
    """A server that answers ``Answer: A`` to key ``right``, without a model; see :func:`canned_server`."""
    server = start_server('--canned', 'Answer: A', '--key', 'right')
    yield server
    server.stop()


@pytest.fixture
def canned_server(canned_process: ModelServer) -> ModelServer:
    """The server of :func:`canned_process`, with no faults, nothing asked yet and nobody waiting."""
    canned_process.settle()
    return canned_process


@pytest.fixture(scope='session')
def tiny_server(tiny_model: Path) -> Iterator[ModelServer]:
    """A server that answers with :func:`tiny_model`."""
    server = start_server(tiny_model)
    yield server
    server.stop()


@pytest.fixture(scope='session')
def echo_server() -> Iterator[ModelServer]:
    """A server that answers each request with the request itself, as JSON."""
    server = start_server('--script', f'{ROOT / "tests" / "models" / "queue_script.py"}:echo')
    yield server
    server.stop()
