"""tooleval compare on runs of agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.scoring.breakdown import breakdown, settings_of
from opencompass_tooleval.agents.scoring.scoring import score_trajectory
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.scoring.aggregate import aggregate
from tests.cli.conftest import Command
from tests.report.agents import DATASET, PROVENANCE, add_agent, chain, tree
from tests.report.support import add

GOLD = (GoldCall('FlightBooking.search', {'destination': 'Rome'}), GoldCall('Hotel.book', {}))
METRICS = ('finish_rate', 'call_f1', 'unknown_tool_rate')


def result_of_agent(trajectories: list[Trajectory]) -> dict[str, Any]:
    """As the evaluator writes it."""
    scores = [
        score_trajectory(Task(f'query_{i}', 'teval', 'Go.', (), GOLD), trajectory)
        for i, trajectory in enumerate(trajectories)
    ]
    total = aggregate(scores, METRICS)
    return {
        **total.metrics,
        'standard_errors': total.standard_errors,
        'reasons': total.reasons,
        'samples': {'all': total.samples, 'infra': total.infra},
        'provenance': {**PROVENANCE, **settings_of(scores)},
        'breakdown': breakdown(scores),
        'details': [score.to_detail() for score in scores],
    }


def make_run(folder: Path) -> Path:
    for model, bank, trajectories in (('a', 'old', [chain(), tree()]), ('b', 'new', [tree(), tree('limit:calls')])):
        with_bank = [Trajectory(**{**vars(one), 'settings': {**one.settings, 'bank': bank}}) for one in trajectories]
        add(folder / '20260101_000000', model, DATASET, result_of_agent(with_bank))
        result = json.loads((folder / '20260101_000000' / 'results' / model / f'{DATASET}.json').read_bytes())
        add_agent(folder / '20260101_000000', model, with_bank)
        (folder / '20260101_000000' / 'results' / model / f'{DATASET}.json').write_text(json.dumps(result))
    return folder


def test_agents_are_compared(tooleval: Command, tmp_path: Path) -> None:
    run = make_run(tmp_path / 'run')
    done = tooleval('compare', run, 'a', 'b', '--json', '-')
    assert done.code == 0, done.err
    compared = json.loads(done.out)
    rows = {row['metric']: row for row in compared['datasets']}
    assert (rows['finish_rate']['a'], rows['finish_rate']['b'], rows['finish_rate']['delta']) == (100, 50, -50)
    assert rows['call_f1']['low'] <= rows['call_f1']['delta'] <= rows['call_f1']['high']
    (bank,) = [row for row in compared['findings'] if 'bank' in row['text'] and row['kind'] != 'result:no_response']
    assert bank['kind'] == 'result:differs' and 'bank differs: old (a); new (b)' in bank['text'], 'said once'
    shown = tooleval('compare', run, 'a', 'b').out
    assert 'lower is better: unknown' in shown and 'limit:calls' in shown
