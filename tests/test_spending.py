"""Tokens, requests and cost through the real ``opencompass``: the sums are those of what the servers received.

A model, a simulator and a judge have a scripted server each. Requests fail, once or for good, at the first round of a
dialogue and later; answers come back empty and are paid for; and ``tooleval retry`` asks again.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.cli.status import show_status
from opencompass_tooleval.core.scoring.usage_summary import read_others
from opencompass_tooleval.report.build import write_report
from tests.conftest import ModelServer, start_server, sweep_of
from tests.forked import run_opencompass, run_tooleval, start_opencompass

PATIENCE = 1500
SCRIPT = Path(__file__).with_name('spending_script.py')
JUDGED = 'tooleval-toolbench_g1-agent-fc'
OTHERS = """
from opencompass_tooleval.agents.judged_adapter import ToolEvalAgentJudgedEvaluator
models[0]['prices'] = dict(input=2.0, output=8.0, cached=0.5)
for row in datasets:
    row['infer_cfg']['inferencer']['max_infra_share'] = 1
    if 'funcqa' in row['abbr']:
        row['infer_cfg']['inferencer']['dialogues']['max_requests'] = 2
    if 'agent' in row['abbr']:
        row['n'] = 2 if 'teval' in row['abbr'] else 1
        row['infer_cfg']['inferencer']['dialogues']['simulator'] = dict(
            model=dict(server, abbr='sim', openai_api_base='SIMULATOR', prices=dict(input=10.0, output=1.0)),
            cache=row['abbr'] + '.sqlite',
        )
    if row['abbr'] == 'tooleval-toolbench_g1-agent-fc':
        row['eval_cfg']['evaluator'] = dict(
            type=ToolEvalAgentJudgedEvaluator, name='toolbench_g1', judgement_kinds=['solved'], judgements_per_answer=2,
            judge_cfg=dict(server, abbr='gpt', openai_api_base='JUDGE', prices=dict(input=1.0, output=3.0)),
        )
"""
WANTED = ('tooleval-teval-review_str_v2', 'tooleval-funcqa-one_hop-easytool', 'tooleval-teval-agent-fc', JUDGED)
SETTINGS = dict(retry=1, timeout=60, backoff=0.01, max_workers=4)
CONFIG = sweep_of(*WANTED, more=OTHERS, **SETTINGS, openai_api_base='MODEL')
FAULTS = {
    'MODEL': ('500@2', 'empty@5', '500@~A beekeeper fills', 'empty@9', '500@21-24', '429@30=0'),
    'SIMULATOR': ('500@3', '500@5-6'),
    'JUDGE': ('500@2', 'empty@4'),
}
"""Once, and for good: of one question every try fails, and of 21 to 24 both tries of some."""
PRICES = {'MODEL': (2.0, 8.0, 0.5), 'SIMULATOR': (10.0, 1.0, 10.0), 'JUDGE': (1.0, 3.0, 1.0)}


@dataclass
class Sweep:
    """A sweep, and what the servers received from it."""

    folder: Path
    received: dict[str, Counter[str]]
    again: dict[str, Counter[str]]
    first: dict[str, Any]

    @property
    def run(self) -> Path:
        (run,) = (self.folder / 'out').iterdir()
        return run

    def results(self) -> dict[str, Any]:
        """Data set -> its result."""
        return {file.stem: json.loads(file.read_bytes()) for file in self.run.glob('results/api/*.json')}

    def rows(self) -> Iterator[dict[str, Any]]:
        for file in self.run.glob('predictions/api/*.json'):
            yield from json.loads(file.read_bytes()).values()


def received(server: ModelServer) -> Counter[str]:
    """Requests, tokens, and replies that reported them, since the last look."""
    stats = server.stats()
    server.reset()
    return Counter({'requests': stats['requests'], **stats['tokens']})


@pytest.fixture(scope='module')
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sweep]:
    """The sweep, and then what failed in it once more."""
    folder = tmp_path_factory.mktemp('spending')
    servers = {name: start_server('--script', f'{SCRIPT}:{name.lower()}') for name in FAULTS}
    text = CONFIG
    for name, server in servers.items():
        text = text.replace(f"'{name}'", repr(server.url))
        server.reset(*FAULTS[name])
    (folder / 'mine.py').write_text(text, encoding='utf-8')
    environment = {**os.environ, 'TOOLEVAL_CACHE': str(folder / 'cache'), 'TOOLEVAL_ENCODER': 'offline'}
    printed = folder / 'printed.txt'
    try:
        process = start_opencompass('mine.py', '-w', 'out', '--debug', cwd=folder, env=environment, output=printed)
        assert process.wait(PATIENCE) == 0, printed.read_text(encoding='utf-8', errors='replace')[-3000:]
        sweep = Sweep(folder, {name: received(server) for name, server in servers.items()}, {}, {})
        sweep.first = sweep.results()
        again = run_tooleval('retry', 'out', cwd=folder, env=environment)
        assert again.returncode == 0, again.stdout + again.stderr
        sweep.again = {name: received(server) for name, server in servers.items()}
        yield sweep
    finally:
        for server in servers.values():
            server.stop()


def spent(usages: list[dict[str, Any]]) -> Counter[str]:
    """Requests and tokens of some parts ``usage``."""
    totals = Counter[str]()
    for usage in usages:
        totals['requests'] += usage['requests']
        for name in ('prompt', 'completion', 'cached'):
            totals[name] += usage.get(name, {}).get('total', 0)
    return totals


def others(results: dict[str, Any], role: str) -> list[dict[str, Any]]:
    rows = (row for result in results.values() for row in result['usage'].get('auxiliary_models', ()))
    return [row for row in rows if row['role'] == role]


def check(usages: list[dict[str, Any]], server: str, expected: Counter[str]) -> None:
    """Compares what results say with what a server received, and the cost with its tokens."""
    names = ('requests', 'prompt', 'completion', 'cached')
    assert {name: spent(usages)[name] for name in names} == {name: expected[name] for name in names}
    prompt, completion, cached = PRICES[server]
    money = (expected['prompt'] - expected['cached']) * prompt + expected['cached'] * cached
    money += expected['completion'] * completion
    assert sum(usage['cost']['total'] for usage in usages) == pytest.approx(money / 1e6)


@pytest.mark.long
def test_sums_are_those_that_the_servers_received(sweep: Sweep) -> None:
    assert len(sweep.first) == 4 and all(counts['prompt'] for counts in sweep.received.values())
    check([result['usage'] for result in sweep.first.values()], 'MODEL', sweep.received['MODEL'])
    check(others(sweep.first, 'simulator'), 'SIMULATOR', sweep.received['SIMULATOR'])
    check(others(sweep.first, 'judge'), 'JUDGE', sweep.received['JUDGE'])
    assert {(row['role'], row['model']) for row in others(sweep.first, 'judge')} == {('judge', 'gpt')}
    assert [len(others({name: result}, 'simulator')) for name, result in sorted(sweep.first.items())] == [0, 1, 0, 1]
    # Dialogues that fail at their first request, and later.
    dialogues = sweep.first['tooleval-funcqa-one_hop-easytool'], sweep.first['tooleval-teval-agent-fc']
    assert all(result['samples']['infra'] for result in dialogues)
    assert dialogues[0]['usage']['answers']['unknown'] >= 1
    assert all(result['usage']['cached'].get('incomplete') for result in dialogues)
    assert all('cached_unknown' not in result['usage']['cost'] for result in sweep.first.values())


@pytest.mark.long
def test_what_is_asked_again_is_added(sweep: Sweep) -> None:
    results = sweep.results()
    assert sweep.again['MODEL']['requests'] and sweep.again['JUDGE']['requests']
    assert {row['infra'] for row in sweep.rows()} <= {None, 'infra:bad_request'}  # refused at its first time
    check([result['usage'] for result in results.values()], 'MODEL', sweep.received['MODEL'] + sweep.again['MODEL'])
    simulated = sweep.received['SIMULATOR'] + sweep.again['SIMULATOR']
    check(others(results, 'simulator'), 'SIMULATOR', simulated)
    (judge,) = others(results, 'judge')
    check([judge], 'JUDGE', sweep.again['JUDGE'])
    before = sweep.first[JUDGED]['usage']['auxiliary_models']
    cached, paid = judge['from_cache'], next(row for row in before if row['role'] == 'judge')
    # Equal, unless a fault hit a task that was judged at its first time, which depends on the order of requests.
    assert 0 < cached['prompt']['total'] <= paid['prompt']['total']
    assert cached['cost']['total'] <= paid['cost']['total']


@pytest.mark.long
def test_screens_say_the_same(sweep: Sweep, capsys: pytest.CaptureFixture[str]) -> None:
    results = sweep.results()
    expected: dict[str, Any] = {}
    for result in results.values():
        for other in read_others(result['usage']):
            expected[other.name] = expected[other.name] + other.spent if other.name in expected else other.spent
    show_status(sweep.run)
    printed = capsys.readouterr().out.splitlines()
    lines = [line for line in printed if line.startswith('tokens')]
    assert lines[1:] == [f'tokens   api, {name}: {spending}' for name, spending in expected.items()]
    prompts = sum(result['usage']['prompt']['total'] for result in results.values())
    assert lines[0].startswith(f'tokens   api: {prompts:,} of prompts, ') and 'cost ' in lines[0]
    out = write_report([sweep.run], sweep.folder / 'report').parent
    costs_in_all = [result['usage']['cost']['total'] for result in results.values()]
    costs_in_all += [one.cost for one in expected.values()]
    in_all = f'{sum(costs_in_all):,.2f}'
    assert f'cost     in all: {in_all}' in printed
    assert f'Cost in all, with judges and simulators: {in_all}.' in (out / 'index.html').read_text(encoding='utf-8')
    with (out / 'files' / 'others.csv').open(encoding='utf-8', newline='') as stream:
        rows = list(csv.DictReader(stream))
    assert {(row['data set'], row['role'], row['asked']) for row in rows} == {
        ('tooleval-teval-agent-fc', 'simulator', 'sim'), (JUDGED, 'simulator', 'sim'), (JUDGED, 'judge', 'gpt')
    }  # fmt: skip
    for role in ('simulator', 'judge'):
        of_role = others(results, role)
        shown = [row for row in rows if row['role'] == role]
        assert sum(int(row['requests']) for row in shown) == sum(row['requests'] for row in of_role)
        assert sum(int(row['prompts, tokens']) for row in shown) == sum(row['prompt']['total'] for row in of_role)
    page = (out / 'provenance.html').read_text(encoding='utf-8')
    assert 'Judges and simulators' in page and '>gpt<' in page
    with (out / 'files' / 'provenance.csv').open(encoding='utf-8', newline='') as stream:
        costs = {row['data set']: row['cost'] for row in csv.DictReader(stream)}
    assert costs == {name: f'{result["usage"]["cost"]["total"]:.4f}' for name, result in results.items()}


TWO = """
models = [
    dict(server, abbr='first', openai_api_base='MODEL', key='right', prices=dict(input=3000.0, output=7000.0)),
    dict(server, abbr='second', openai_api_base='MODEL', key='right', prices=dict(input=1000.0, output=1000.0)),
]
model_dataset_combinations = [dict(models=models, datasets=datasets[:1]), dict(models=models[:1], datasets=datasets)]
"""


def test_cost_beside_a_score_is_that_of_its_rows_and_the_money_is_that_of_status(
    tmp_path: Path, canned_server: ModelServer
) -> None:
    """One model is asked a second data set, which the ranking leaves out; it is a part of the cost in all."""
    shared, further = 'tooleval-teval-review_str_v2', 'tooleval-restbench-tmdb'
    text = sweep_of(shared, further, more=TWO, **SETTINGS, openai_api_base='MODEL')
    (tmp_path / 'mine.py').write_text(text.replace("'MODEL'", repr(canned_server.url)), encoding='utf-8')
    done = run_opencompass('mine.py', '-w', 'out', '--debug', cwd=tmp_path)
    (run,) = (tmp_path / 'out').iterdir()
    usages = {file.parent.name + file.stem: json.loads(file.read_bytes())['usage'] for file in run.glob('results/*/*')}
    costs = {name: usage['cost']['total'] for name, usage in usages.items()}
    per_1000 = [
        1000 * costs[model + shared] / usages[model + shared]['answers']['all'] for model in ('first', 'second')
    ]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ['cost', '1,000', 'answers', *(f'{cost:.2f}' for cost in per_1000)] in lines
    in_all = f'{sum(costs.values()):,.2f}'
    assert f'Cost in all, with judges and simulators: {in_all}' in done.stdout.splitlines()
    status = run_tooleval('status', run, cwd=tmp_path)
    assert f'cost     in all: {in_all}' in status.stdout.splitlines() and len(costs) == 3
    page = write_report([run], tmp_path / 'report').read_text(encoding='utf-8')
    assert f'Cost in all, with judges and simulators: {in_all}.' in page
    assert [f'<td>{cost:.2f}</td>' in page for cost in per_1000] == [True, True]
