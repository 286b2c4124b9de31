"""Damaged values of the published gold, and their repair."""

from __future__ import annotations

import json
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.data import PlanSample, read_samples
from opencompass_tooleval.catalogue.benchmark import count_kinds
from opencompass_tooleval.extras.preparing.build_ultratool import KINDS, find_errata, plan_errata, repair_rows
from opencompass_tooleval.extras.preparing.ultratool_rows import PUBLISHED_WITHOUT, usage_row
from tests.extras.preparing.test_ultratool_rows import REAL, needs_real_data, official, real_samples, write_samples


@pytest.fixture
def samples(tmp_path: Path) -> list[PlanSample]:
    return read_samples(write_samples(tmp_path / 'test.json'))


def published(samples: list[PlanSample]) -> list[dict[str, Any]]:
    return [usage_row(sample, published=True) for sample in samples]


def test_found_and_repaired(samples: list[PlanSample]) -> None:
    rows = published(samples)
    before = json.dumps(rows)
    errata = find_errata(rows, samples)
    assert [astuple(erratum) for erratum in errata] == [
        (0, '1.2 Write', 'file_write', 'text', 'H', 'Hi, you', 'cut'),
        (0, '2.1 Mail', 'mail', 'to', '"x"', 'x', 'quoted'),
    ]
    assert count_kinds(errata, KINDS) == {'cut': 1, 'quoted': 1}
    assert repair_rows(rows, errata) == [usage_row(sample) for sample in samples]
    assert json.dumps(rows) == before
    assert find_errata(repair_rows(rows, errata), samples) == []


def test_rows_of_other_samples_are_refused(samples: list[PlanSample]) -> None:
    rows = published(samples)
    with pytest.raises(ValueError, match=r'row 0: test\.json has another question'):
        find_errata([{**rows[0], 'question': 'other'}], samples)
    with pytest.raises(ValueError, match=r'row 21: test\.json has another question'):
        find_errata([*rows, rows[0]], samples)
    rows[0]['reference'][0]['tool'] = 'mail'
    with pytest.raises(ValueError, match=r"row 0: the plan has no call of 'mail' in '1\.2 Write'"):
        find_errata(rows, samples)


@needs_real_data
@pytest.mark.parametrize(
    ('folder', 'cut', 'quoted'), [('English-dataset', 267, 21), ('Chinese-dataset', 36, 24)], ids=['en', 'zh']
)
def test_published_gold(folder: str, cut: int, quoted: int) -> None:
    rows, samples = official(folder, 'tool_usage'), real_samples(folder)
    errata = find_errata(rows, samples)
    assert sum(len(item['param']) for row in rows for item in row['reference']) == 6809
    assert count_kinds(errata, KINDS) == {'cut': cut, 'quoted': quoted}
    assert plan_errata(samples) == errata
    assert repair_rows(rows, errata) == [usage_row(sample, without=PUBLISHED_WITHOUT) for sample in samples]


@needs_real_data
@pytest.mark.parametrize('folder', ['English-dataset', 'Chinese-dataset'])
def test_the_issue_s_count(folder: str) -> None:
    """269 and 38 values cut short: with two arguments whose quoted names hid them in the value before."""
    unknown = [
        (sample.row, argument.name)
        for sample in real_samples(folder)
        for call in sample.calls.values()
        for argument in call.arguments
        if argument.name not in sample.tool(call.tool)['arguments']['properties']
    ]
    assert unknown == [(348, 'event'), (901, 'reminder_time'), (901, 'reminder_time')]
    text = (REAL / folder / 'test.json').read_text(encoding='utf-8')
    assert text.count(r', \"reminder_time\"=') == 2
