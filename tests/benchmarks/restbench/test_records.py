"""Files to records: counts, named faults, and no lost rows."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.data import Inventory, find_subset, load_records
from opencompass_tooleval.core.errors import DataError
from tests.benchmarks.restbench.support import TOOLS, loaded, toolbox

INVENTORY = Inventory(TOOLS)
ROW = {'query': 'Who made it?', 'solution': ['GET /search/movie', 'GET /movie/{movie_id}/credits']}


def write(folder: Path, value: Any) -> Path:
    file = folder / 'tmdb.json'
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding='utf-8')
    return file


@pytest.mark.parametrize('name', ['tmdb', 'spotify'])
def test_published_counts(name: str, caplog: pytest.LogCaptureFixture) -> None:
    loaded.cache_clear()
    with caplog.at_level(logging.WARNING):
        records, errata = loaded(name)
    assert not caplog.records
    subset = find_subset(name)
    assert len(records) == subset.records
    assert sum(len(record.published) for record in records) == subset.steps
    assert len(toolbox(name).inventory.names) == subset.tools
    assert len(errata) == subset.errata
    assert [record.id for record in records] == [str(row) for row in range(subset.records)]
    assert len({record.query for record in records}) == subset.records


def test_other_counts_are_said_and_accepted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    records, errata = load_records(write(tmp_path, [ROW]), 'tmdb', INVENTORY)
    assert (len(records), errata) == (1, [])
    assert '1 records, not 100; 2 steps, not 226; 8 tools, not 54; 0 errata, not 5' in caplog.text


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda row: row.update(query=' '), "record '1': field 'query' is not a string"),
        (lambda row: row.update(solution=[]), "record '1': field 'solution' is not a list of steps"),
        (lambda row: row.update(solution=['GET /search/movie', 1]), "record '1': field 'solution' is not a list"),
        (lambda row: row.update(solution=['GET /films']), "record '1': the gold step 'GET /films' is not a tool"),
    ],
)
def test_damaged_records_are_named(change: Callable[[dict[str, Any]], Any], message: str, tmp_path: Path) -> None:
    row = dict(ROW)
    change(row)
    with pytest.raises(DataError, match=message) as caught:
        load_records(write(tmp_path, [ROW, row]), 'tmdb', INVENTORY)
    assert 'tmdb.json' in str(caught.value) and 'tooleval prepare restbench' in str(caught.value)


@pytest.mark.parametrize('text', ['[{"query"', '{}', '[' * 100_000])
def test_files_that_are_no_list_of_records(text: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'cut short or no JSON|not a list of records'):
        load_records(write(tmp_path, text), 'tmdb', INVENTORY)


def test_what_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='no subset'):
        load_records(write(tmp_path, [ROW]), 'imdb', INVENTORY)
    with pytest.raises(ValueError, match='gold official and repaired'):
        load_records(write(tmp_path, [ROW]), 'tmdb', INVENTORY, 'strict')
