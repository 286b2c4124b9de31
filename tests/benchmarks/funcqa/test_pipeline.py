"""FuncQA through the real ``opencompass``: correct and wrong models on a real server, a tiny model, a kill."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.funcqa.records import TABLE, load_records
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from tests.conftest import ModelServer, start_server
from tests.forked import Fork, start_opencompass
from tests.instructions.shared_data import DEMO

SCRIPT = Path(__file__).resolve().parent / 'funcqa_script.py'
METHODS = ('zero_shot', 'cot', 'easytool')
COUNTS = {'one_hop': 13, 'multi_hop': 7}
PATIENCE = 1500

CONFIG = """
from mmengine.config import read_base
from opencompass.models import HuggingFacewithChatTemplate
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_funcqa_demo_gen import tooleval_funcqa_datasets
    from opencompass_tooleval.configs.summarizers.tooleval_funcqa import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [row for row in tooleval_funcqa_datasets if row['abbr'] not in LEFT_OUT]
for row in datasets:
    row['infer_cfg']['inferencer']['max_out_len'] = 8
    row['infer_cfg']['inferencer']['dialogues']['max_requests'] = 2
settings = dict(max_seq_len=8192, run_cfg=dict(num_gpus=0))
api = dict(type=ToolEvalOpenAI, path='tiny', key='none', temperature=0, backoff=0.01, max_workers=16,
           query_per_second=1000, batch_size=64, **settings)
models = MODELS
"""


@dataclass
class Bench:
    """One working directory of ``opencompass``."""

    folder: Path

    def start(self, models: str, left_out: tuple[str, ...] = (), *arguments: str) -> Fork:
        """Writes the config, and starts a run of it."""
        text = CONFIG.replace('MODELS', models).replace('LEFT_OUT', repr(list(left_out)))
        (self.folder / 'mine.py').write_text(text, encoding='utf-8')
        printed = self.folder / 'printed.txt'
        return start_opencompass('mine.py', '-w', 'out', '--debug', *arguments, cwd=self.folder, output=printed)

    def run(self, *arguments: Any) -> None:
        """Runs a config to its end."""
        assert self.start(*arguments).wait(PATIENCE) == 0, self.printed()

    def printed(self) -> str:
        """The end of what the runs printed."""
        return (self.folder / 'printed.txt').read_text(encoding='utf-8', errors='replace')[-3000:]

    def file(self, kind: str, model: str, subset: str, method: str) -> Any:
        """What the predictions or results file of one data set holds."""
        (file,) = self.folder.glob(f'out/*/{kind}/{model}/tooleval-funcqa-{subset}-{method}.json')
        return json.loads(file.read_text(encoding='utf-8'))

    def trajectories(self, model: str, subset: str, method: str) -> list[Trajectory]:
        """The trajectories in the predictions file."""
        rows = self.file('predictions', model, subset, method)
        assert [row['record_id'] for row in rows.values()] == [str(number) for number in range(COUNTS[subset])]
        return [parse_trajectory(row['prediction']) for row in rows.values()]


@pytest.fixture(scope='module')
def asked() -> dict[str, ModelServer]:
    """The two scripted servers, after the run of :func:`bench`."""
    return {}


@pytest.fixture(scope='module')
def bench(asked: dict[str, ModelServer], tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One run of two scripted servers and the tiny model over three methods."""
    asked |= {name: start_server('--script', f'{SCRIPT}:{name}') for name in ('right', 'wrong')}
    models = ', '.join(f'dict(api, abbr={name!r}, openai_api_base={server.url!r})' for name, server in asked.items())
    tiny = f"dict(type=HuggingFacewithChatTemplate, abbr='tiny', path={str(tiny_model)!r}, batch_size=8, **settings)"
    made = Bench(tmp_path_factory.mktemp('funcqa'))
    try:
        made.run(f'[{models}, {tiny}]')
        yield made
    finally:
        for server in asked.values():
            server.stop()


@pytest.mark.parametrize('subset', COUNTS)
@pytest.mark.parametrize('method', METHODS)
def test_a_server_that_works_it_out_has_100_and_no_errors(bench: Bench, subset: str, method: str) -> None:
    result = bench.file('results', 'right', subset, method)
    assert (result['accuracy'], result['strict_accuracy']) == (100.0, 100.0)
    assert result['reasons'] == {'ok': COUNTS[subset]}
    assert result['tool_error_rate'] == (0.0 if method == 'easytool' else None)
    assert result['provenance']['method'] == method and result['provenance']['gold'] == 'official'
    shown = 'functions_data.json ' if method == 'easytool' else ''
    assert result['provenance'].get('instructions', '').startswith(shown)
    assert result['provenance'].get('rounded', True) is True
    trajectories = bench.trajectories('right', subset, method)
    assert [detail['trajectory'] for detail in result['details']] == [item.to_dict() for item in trajectories]
    if method == 'easytool':
        records = load_records(DEMO / 'funcqa' / next(row.file for row in TABLE if row.name == subset), subset)
        assert [[call.name for call in item.calls] for item in trajectories] == [
            [step.tool for step in record.steps] for record in records
        ]
        assert [len(item.steps) for item in trajectories] == [asked_for(item, subset) for item in trajectories]
        assert {item.check for item in trajectories} == {'yes'}
        assert result['breakdown']['checks'] == {'yes': COUNTS[subset]}


def asked_for(trajectory: Trajectory, subset: str) -> int:
    """How often a model is asked that does everything right."""
    return 3 * len(trajectory.calls) + (2 if subset == 'one_hop' else 4)


def test_errors_are_counted_exactly(bench: Bench) -> None:
    for subset, count in COUNTS.items():
        result = bench.file('results', 'wrong', subset, 'easytool')
        names, parameters = len(range(0, count, 3)), len(range(1, count, 3))
        assert (result['accuracy'], result['strict_accuracy']) == (0.0, 0.0)
        assert result['tool_error_rate'] == pytest.approx(100 * (names + parameters) / count)
        assert result['tool_name_error_rate'] == pytest.approx(100 * names / count)
        assert result['parameter_error_rate'] == pytest.approx(100 * parameters / count)
        assert result['breakdown']['tool_errors'] == {'name:unknown_tool': names, 'args:not_a_number': 5 * parameters}
        assert result['breakdown']['stopped'] == {'name:unknown_tool': names}
        assert result['breakdown']['checks'] == {'unreadable': count - names}
        assert result['reasons'] == {
            'name:unknown_tool': names,
            'args:not_a_number': parameters,
            'answer:wrong_number': count - names - parameters,
        }


def test_the_summary_is_table_6(bench: Bench) -> None:
    (file,) = bench.folder.glob('out/*/summary/summary_*.csv')
    rows = [line.split(',') for line in file.read_text(encoding='utf-8').splitlines()]
    table = {(row[0], row[2]): row[4:6] for row in rows}
    assert table['tooleval-funcqa-easytool', 'one_hop'] == ['100.00', '0.00']
    assert table['tooleval-funcqa-easytool', 'one_hop_strict'] == ['100.00', '0.00']
    assert table['tooleval-funcqa-easytool', 'multi_hop_strict'] == ['100.00', '0.00']
    assert table['tooleval-funcqa-easytool', 'multi_hop'] == ['100.00', '0.00']
    one, two = 100 * 9 / 13, 100 * 5 / 7
    assert table['tooleval-funcqa-easytool', 'error'] == ['0.00', f'{(60 * one + 68 * two) / 128:.2f}']
    assert ('tooleval-funcqa-cot', 'error') not in table


def test_each_round_is_one_batch(bench: Bench, asked: dict[str, ModelServer]) -> None:
    """16 are in flight at once, and nothing is asked twice."""
    stats = asked['right'].stats()
    assert stats['most_in_flight'] >= 7
    expected = sum(
        asked_for(item, subset) for subset in COUNTS for item in bench.trajectories('right', subset, 'easytool')
    )
    assert stats['requests'] == expected + 2 * sum(COUNTS.values())
    assert len({request['digest'] for request in stats['asked']}) == stats['requests']


@pytest.mark.parametrize('method', METHODS)
def test_a_tiny_model_runs_every_method_to_its_end(bench: Bench, method: str) -> None:
    for subset, count in COUNTS.items():
        result = bench.file('results', 'tiny', subset, method)
        rows = bench.file('predictions', 'tiny', subset, method).values()
        cut = sum(row['finish_reason'] == 'length' for row in rows)
        assert result['samples'] == {'all': count, 'infra': 0, 'cut': cut}
        trajectories = bench.trajectories('tiny', subset, method)
        if method == 'easytool':  # nonsense: no tool is chosen, so that no call fails
            assert not any(item.calls for item in trajectories)
            assert (result['tool_error_rate'], result['accuracy']) == (0.0, 0.0)
            requests = 5 * (2 + 1) + 2 if subset == 'one_hop' else 2
            assert {len(item.steps) for item in trajectories} == {requests}
            assert set(result['reasons']) == {'step:no_result' if subset == 'one_hop' else 'plan:no_tasks'}


def test_a_killed_run_asks_only_what_is_missing(tmp_path: Path) -> None:
    server = start_server('--script', f'{SCRIPT}:right', '--latency', '0.02', '--fault', 'slow@32=3600')
    bench = Bench(tmp_path)
    left_out = tuple(f'tooleval-funcqa-{s}-{m}' for s in COUNTS for m in METHODS if (s, m) != ('multi_hop', 'easytool'))
    model = f"[dict(api, abbr='api', openai_api_base={server.url!r}, retry=0, max_workers=4)]"
    model = model.replace('dict(api,', '{**api, **dict(').replace(')]', ')}]')
    try:
        process = bench.start(model, left_out, '-m', 'infer')
        deadline = time.monotonic() + PATIENCE
        while (stats := server.stats())['requests'] < 32 or stats['in_flight'] > 1:
            assert process.poll() is None, bench.printed()
            assert time.monotonic() < deadline, 'the 32nd request never came'
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        (journal,) = tmp_path.glob('out/*/predictions/api/tmp_*.jsonl')
        kept = len(journal.read_text(encoding='ascii').splitlines())
        first = [request['digest'] for request in server.stats()['asked']]
        assert 0 < kept < len(first) and not list(tmp_path.glob('out/*/predictions/api/*.json'))
        server.reset()
        bench.run(model, left_out, '-r')
        second = [request['digest'] for request in server.stats()['asked']]
        assert bench.file('results', 'api', 'multi_hop', 'easytool')['accuracy'] == 100.0
        rounds = sum(len(item.steps) for item in bench.trajectories('api', 'multi_hop', 'easytool'))
        assert len(second) == rounds - kept
        assert len(set(first) & set(second)) == len(first) - kept <= 2 * 4  # in flight, or on its way to the disk
        assert not journal.exists()
    finally:
        server.stop()
