"""``tooleval score agents``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command, write_json
from tests.instructions.shared_data import DEMO

RUNS = DEMO / 'agents' / 'toolbench' / 'runs.json'


@pytest.fixture
def g1(tmp_path: Path) -> Path:
    """The demo's tasks that have runs."""
    runs = json.loads(RUNS.read_text())
    records = json.loads((DEMO / 'toolbench' / 'G1_instruction.json').read_text())
    kept = [record for record in records if str(record['query_id']) in runs]
    return write_json(tmp_path / 'G1_instruction.json', kept)


def test_runs_in_toolevals_format(tooleval: Command, g1: Path, tmp_path: Path) -> None:
    details = tmp_path / 'details.jsonl'
    outcome = tooleval(
        'score', 'agents', 'toolbench_g1', '--predictions', RUNS, '--data', g1, '--json', '-', '--details', details
    )
    assert outcome.code == 0, outcome.err
    result = json.loads(outcome.out)
    runs = json.loads(RUNS.read_text())
    assert (result['benchmark'], result['subset'], result['samples']) == ('agents', 'toolbench_g1', len(runs))
    assert sum(result['sources'].values()) == result['calls']['total'] == result['sources']['exact']
    assert [json.loads(line)['id'] for line in details.read_text().splitlines()] == list(runs)
    assert 'NOTE observations come from the file' in outcome.err


def test_the_table_says_what_answered(tooleval: Command, g1: Path) -> None:
    outcome = tooleval('score', 'agents', 'toolbench_g1', RUNS, '--data', g1)
    assert outcome.code == 0, outcome.err
    assert 'observations: exact 100.0%' in outcome.out and 'calls: ' in outcome.out
