"""Budgets through the real ``opencompass``: what servers receive is never beyond them, and a higher one continues.

Two data sets are asked at the same time, by a process each with 64 requests in flight, and a judge grades one of them.
Every request is as expensive as it may be.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ModelServer, start_server, sweep_of
from tests.forked import run_tooleval
from tests.test_kill import DATASETS, JUDGED, Sweep

MORE = """
infer['partitioner']['n'] = 1
infer['runner']['max_num_workers'] = 2
for row in datasets:
    row['n'] = 2
"""
SERVER = dict(max_workers=64, max_out_len=600, temperature=0.7, prices=dict(input=1.0, output=2.0))
CONFIG = sweep_of(*DATASETS, more=JUDGED + MORE, **SERVER)
SLACK = 2000
"""Tokens that the last requests reserve and do not take."""


def received(server: ModelServer) -> Counter[str]:
    """Requests, and tokens of their prompts and answers, since the last look."""
    stats = server.stats()
    server.settle()
    return Counter(
        {'requests': stats['requests'], **{name: stats['tokens'].get(name, 0) for name in ('prompt', 'completion')}}
    )


def tokens(counts: Counter[str]) -> int:
    return counts['prompt'] + counts['completion']


@dataclass
class BudgetSweep(Sweep):
    """A sweep whose config can get another budget."""

    debug: bool = False
    config: str = CONFIG

    def run(self, budget: str, *more: str) -> tuple[int, str]:
        """Runs with a budget; returns the exit status, and what it printed."""
        self.write(f'models[0].update({budget})\n')
        printed = self.folder / 'said.txt'
        printed.unlink(missing_ok=True)
        status = self.start(*more).wait(1500)
        return status, printed.read_text(errors='replace')

    @property
    def ledgers(self) -> dict[str, Any]:
        """Name -> content."""
        return {file.name: json.loads(file.read_bytes()) for file in self.folder.glob('out/*/budgets/**/*.json')}


@pytest.fixture(scope='module')
def server() -> Iterator[ModelServer]:
    server = start_server('--script', f'{Path(__file__).with_name("budget_script.py")}:answer')
    yield server
    server.stop()


@dataclass(frozen=True)
class Undisturbed:
    """The sweep without a budget: its table, what its model received, and its judge."""

    table: bytes
    model: Counter[str]
    judge: Counter[str]


@pytest.fixture(scope='module')
def undisturbed(server: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    sweep = BudgetSweep(tmp_path_factory.mktemp('undisturbed') / 'sweep', server)
    server.settle()
    status, printed = sweep.run('', '-m', 'infer')
    assert status == 0, printed
    model = received(server)
    status, printed = sweep.run('', '-r')
    assert status == 0, printed
    assert not sweep.ledgers
    return Undisturbed(sweep.table(), model, received(server))


@pytest.mark.long
def test_nothing_is_sent_beyond_a_budget_and_a_higher_one_continues(
    server: ModelServer, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    sweep, spent = BudgetSweep(tmp_path / 'sweep', server), Counter[str]()
    needed = tokens(undisturbed.model), tokens(undisturbed.judge)

    def run(limit: int, *more: str) -> tuple[int, str, Counter[str]]:
        status, printed = sweep.run(f'budget=dict(tokens={limit})', *more)
        now = received(server)
        spent.update(now)
        assert tokens(spent) <= limit
        ledger = sweep.ledgers['api.tokens.json']
        assert (ledger['spent'], ledger['in_flight']) == (tokens(spent), {})
        return status, printed, now

    limit = needed[0] // 2
    status, printed, first = run(limit)
    assert status == 1 and tokens(first) > limit - SLACK and not sweep.results()
    assert f'WARNING api: the budget of {limit:,} tokens is used up ({tokens(first):,} tokens spent): ' in printed
    assert ', since each may take more than the rest. Fix it with: raise `budget`' in printed
    notes = sweep.ledgers['api.tokens.json']['not_asked']
    of_datasets = [counts for name, counts in notes.items() if name.startswith('tooleval-')]
    unsent = undisturbed.model['requests'] - first['requests']
    assert [sum(numbers) for numbers in zip(*of_datasets, strict=True)] == [unsent, undisturbed.model['requests']]
    count, samples = (sum(numbers) for numbers in zip(*notes.values(), strict=True))  # a judge may have come too late
    assert f'{count} of {samples} requests were not sent' in printed, printed
    assert 'fix: raise `budget` in mine.py' in printed
    status_of = run_tooleval('status', 'out', cwd=sweep.folder, env=sweep.environment)
    assert f'WARNING api: the budget of {limit:,} tokens is used up' in status_of.stdout

    again = run_tooleval('retry', 'out', cwd=sweep.folder, env=sweep.environment)
    assert again.returncode == 1 and 'is used up' in again.stdout and received(server)['requests'] == 0

    limit = needed[0] + needed[1] // 2
    status, printed, more = run(limit, '-r')
    assert status == 1 and first['requests'] + more['requests'] > undisturbed.model['requests']
    assert 'judgements of ' in printed and sweep.results() == 1, printed

    status, printed, _ = run(sum(needed) + SLACK, '-r')
    assert status == 0 and 'used up' not in printed, printed
    assert sweep.table() == undisturbed.table
    assert spent == undisturbed.model + undisturbed.judge  # nothing was asked twice
