"""Faults of the official files: planted ones are found, and real ones counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.data import PlanSample, read_samples
from opencompass_tooleval.extras.preparing.ultratool_rows import (
    creation_row,
    planning_row,
    usage_awareness_row,
    usage_row,
)
from tests.conftest import load_tool
from tests.extras.preparing.test_ultratool_rows import needs_real_data, official, real_samples, tool, write_samples

AUDIT = load_tool('audit_ultratool')
SHOWN = [tool('ant_ash'), tool('bee_fir')]


@pytest.fixture
def samples(tmp_path: Path) -> list[PlanSample]:
    return read_samples(write_samples(tmp_path / 'test.json'))[:1]


def official_files(sample: PlanSample) -> dict[str, list[Any]]:
    return {
        'planning': [planning_row(sample)],
        'tool_creation': [creation_row(sample, {'mail'}, SHOWN)],
        'tool_usage_awareness': [usage_awareness_row(sample)],
        'tool_usage': [usage_row(sample)],
    }


def counts(files: dict[str, list[Any]], samples: list[PlanSample]) -> dict[str, int]:
    return {f'{item.task}: {item.what}': item.count for item in AUDIT.audit(files, samples) if item.count}


def test_sound_files(samples: list[PlanSample]) -> None:
    """But for the plan's own fault: an argument that its tool does not have."""
    left_out = 'tool_usage: argument of the plan that its tool does not have: left out'
    findings = AUDIT.audit(official_files(samples[0]), samples)
    assert {f'{item.task}: {item.what}': item.count for item in findings if item.count} == {left_out: 1}
    lines = AUDIT.format_findings(findings).splitlines()
    assert len(lines) == len(findings) and f'     1  {left_out} (rows 0)' in lines


@pytest.mark.parametrize(
    ('task', 'change', 'expected'),
    [
        ('planning', {'reference': 'x'}, 'row that differs from the plan'),
        ('tool_usage_awareness', {'reference': []}, 'step that is asked, without gold'),
        ('tool_creation', {'toolset': [tool('mail')]}, 'withheld tool among the tools to look at'),
        ('tool_creation', {'reference': [{'step': '2.1 Mail', 'tool': tool('mail')}]}, 'gold tool that differs from'),
        ('tool_creation', {'reference': [{'step': '9. None', 'tool': tool('mail', 'to')}]}, 'gold step that is not in'),
        ('tool_usage', {'toolset': []}, 'gold tool not in the toolset'),
        ('tool_usage', {}, 'step without any argument'),
        ('tool_usage', {'other': 'x'}, 'gold argument not in the properties of its tool'),
        ('tool_usage', {}, 'argument of the plan that is left out otherwise'),
    ],
)
def test_planted_faults(task: str, change: dict[str, Any], expected: str, samples: list[PlanSample]) -> None:
    """Those that the official files have stand below."""
    files = official_files(samples[0])
    if task == 'tool_usage' and 'toolset' not in change:
        files[task][0]['reference'][-1]['param'] = change
    else:
        files[task][0].update(change)
    assert any(found.startswith(f'{task}: {expected}') for found in counts(files, samples))


def test_other_length(samples: list[PlanSample]) -> None:
    with pytest.raises(ValueError, match='planning has 0 rows'):
        AUDIT.audit({'planning': []}, samples)


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
