"""The published answers that `make showcase` shows score as published."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencompass_tooleval.catalogue.tables import published_columns
from opencompass_tooleval.report.board import boards
from opencompass_tooleval.report.overview import overview
from opencompass_tooleval.report.samples import SampleFiles
from opencompass_tooleval.results.table import read
from tools.showcase import ANSWERS, ultratool_answers


@pytest.mark.long
@pytest.mark.skipif(not ANSWERS.is_dir(), reason=f'no published answers in {ANSWERS}')
def test_the_first_screen_has_no_gap_and_says_that_the_scores_are_the_papers(tmp_path: Path) -> None:
    for answers in ultratool_answers():
        answers.write(tmp_path / 'run')
    material, samples = read([tmp_path / 'run']), SampleFiles(tmp_path / 'samples')
    spent = samples.write_all(material)
    page = overview(boards(material, published_columns()), samples.digest, spent)
    assert page.headline.startswith('GPT-4 leads GPT-3.5 by ') and page.models == ('GPT-4', 'GPT-3.5')
    assert list(page.as_published.values()) == ['GPT-4, GPT-3.5'] and page.caveats == ()
    assert all(cell.value is not None and not cell.lacks for row in page.rows for cell in row.cells)
