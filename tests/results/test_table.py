"""Results of several work directories: which count, and their dates."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.catalogue.comparable import why_not_comparable
from opencompass_tooleval.findings.of_results import unlike
from opencompass_tooleval.report.provenance import older_table, results_table
from opencompass_tooleval.results.table import read
from tests.report.support import add, detail, result_of, write

REVIEW = 'tooleval-teval-review_str_v2'
PROVENANCE = {'benchmark': 'teval', 'subset': 'review_str', 'version': '3', 'records_sha256': 'a' * 64, 'bank': 'one'}


def dated(folder: Path, date: str, right: float, dataset: str = REVIEW, **provenance: Any) -> Path:
    """A run of a day, with one result."""
    run = folder / date / f'{date}_120000'
    add(run, 'm', dataset, result_of([detail('r', right)], provenance={**PROVENANCE, **provenance}))
    return run


def test_of_equal_settings_the_newest_result_counts(tmp_path: Path) -> None:
    days = {'20260201': 0.25, '20260301': 1.0, '20260101': 0.5}
    found = read([dated(tmp_path, day, right) for day, right in days.items()])
    (entry,) = found.scored
    assert (entry.model, entry.number('review_quality'), entry.date) == ('m', 100.0, '2026-03-01 12:00:00')
    assert [row[3] for row in results_table(found, {}).rows] == ['2026-03-01 12:00:00']
    assert [row[3:] for row in older_table(found).rows] == [
        ('2026-02-01 12:00:00', '25.00'),
        ('2026-01-01 12:00:00', '50.00'),
    ]
    renamed = [run.rename(run.with_name(run.parent.name)) for run in tmp_path.glob('*/*')]
    for run in renamed:
        file = run / 'results' / 'm' / f'{REVIEW}.json'
        os.utime(file, (int(run.name), int(run.name)))
    assert read(renamed).scored[0].number('review_quality') == 100.0


def test_a_result_that_one_of_two_runs_lacks_is_not_missing(tmp_path: Path) -> None:
    runs = [dated(tmp_path, '20260101', 1.0), dated(tmp_path, '20260201', 1.0, 'tooleval-teval-plan_json_v2')]
    write(runs[1], 'predictions', 'm', REVIEW, {})
    for run in runs:
        write(run, 'predictions', 'm', 'e', {})
    found = read(runs)
    assert (len(found.scored), [gap.dataset for gap in found.missing]) == (2, ['e'])


@pytest.mark.parametrize(
    ('changes', 'compares'),
    [
        *(({key: 'another'}, True) for key in ('simulated_by', 'opencompass', 'judgements')),
        *(({key: 'another'}, False) for key in ('bank', 'judge_prompt', 'loop', 'a_new_setting')),
    ],
)
def test_the_gate_and_the_report_agree(tmp_path: Path, changes: dict[str, Any], compares: bool) -> None:
    found = read([dated(tmp_path, '20260101', 1.0), dated(tmp_path, '20260201', 0.5, **changes)])
    results = [{**entry.result, 'details': []} for entry in (*found.scored, *found.older)]
    assert (len(found.scored) == 1) == compares == (not list(why_not_comparable(*results)))
    assert compares == (not list(unlike({(str(i), REVIEW): result for i, result in enumerate(results)})))


def test_what_a_repetition_has_in_common(tmp_path: Path) -> None:
    """Another temperature or number of records is no repetition, and another package does not tell its settings."""
    first = dated(tmp_path, '20260101', 1.0)
    hot = dated(tmp_path, '20260201', 1.0, sampling=[{'temperature': 1}])
    assert [entry.model for entry in read([first, hot]).scored] == ['m (20260101_120000)', 'm (20260201_120000)']
    others = [tmp_path / day for day in ('20260301_120000', '20260401_120000')]
    for run in others:
        add(run, 'm', 'gsm8k', result_of([detail('r')], provenance={}))
    assert len(read(others).scored) == 2
