"""Faults of the official files: planted ones are found, and real ones counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.build_read import PlanSample, read_samples
from opencompass_tooleval.extras.preparing.ultratool_rows import (
    usage_row,
)
from tests.conftest import load_tool
from tests.extras.preparing.test_ultratool_rows import needs_real_data, official, real_samples, write_samples

AUDIT = load_tool('audit_ultratool')


def counts(files: dict[str, list[Any]], samples: list[PlanSample]) -> dict[str, int]:
    return {f'{item.task}: {item.what}': item.count for item in AUDIT.audit(files, samples) if item.count}


def test_the_script_passes_over_what_was_built_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    annotated, test_set = write_samples(tmp_path / 'test.json'), tmp_path / 'test_set'
    test_set.mkdir()
    rows = [usage_row(sample, published=True) for sample in read_samples(annotated)]
    (test_set / 'tool_usage.json').write_text('\n'.join(map(json.dumps, rows)), encoding='utf-8')
    (test_set / 'tool_selection.json').write_text('{"rebuilt": true}', encoding='utf-8')
    AUDIT.main([str(annotated), str(tmp_path)])
    printed = capsys.readouterr().out
    assert '     1  tool_usage: value cut at a comma (repaired) (rows 0)\n' in printed
    assert 'tool_selection' not in printed


@needs_real_data
@pytest.mark.parametrize(
    ('folder', 'by_fault'),
    [
        ('English-dataset', {'cut': 267, 'quoted': 21, 'script': 12, 'altered': 17, 'serves': 26}),
        ('Chinese-dataset', {'cut': 36, 'quoted': 24, 'script': 0, 'altered': 72, 'serves': 25}),
    ],
    ids=['en', 'zh'],
)
def test_official_files(folder: str, by_fault: dict[str, int]) -> None:
    files = {
        task: official(folder, task) for task in ('planning', 'tool_creation', 'tool_usage_awareness', 'tool_usage')
    }
    expected = {
        'tool_creation: tool to look at that could do a withheld step, by our criterion': by_fault['serves'],
        'tool_creation: later step that calls a withheld tool: not asked': 208,
        'tool_usage_awareness: leaf step that the plan marks as a parent: not asked': 63,
        'tool_usage_awareness: parent step that is asked': 294,
        'tool_usage: value cut at a comma (repaired)': by_fault['cut'],
        'tool_usage: value that kept its double quotes (repaired)': by_fault['quoted'],
        'tool_usage: step whose call was left out, with its tool': 100,
        'tool_usage: argument of the plan that its tool does not have: left out': 3,
        'tool_usage: empty value': 21,
        'tool_usage: value in Chinese script in an English file': by_fault['script'],
        'tool_usage: number or integer whose value is words': 40,
        'tool_usage: boolean, written true or false': 14,
        'tool_usage: value that the published reading alters in a right answer': by_fault['altered'],
    }
    assert counts(files, real_samples(folder)) == {key: value for key, value in expected.items() if value}
