"""The test files, and their faults."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.toolbench.data import FILE_TABLE, KINDS, TABLE, find_file, find_subset, load_data
from opencompass_tooleval.catalogue.benchmark import count_kinds
from opencompass_tooleval.core.errors import DataError
from tests.benchmarks.toolbench.support import DEMO, demo, published

ERRATA = {
    'G1': {'shared_name': 1, 'parameter_twice': 2, 'unfit_default': 2, 'undescribed': 57},
    'G2': {'relevant_twice': 2, 'query_twice': 1, 'unfit_default': 1, 'undescribed': 54},
    'G3': {'unfit_default': 1, 'undescribed': 2},
}


@pytest.mark.parametrize('file', FILE_TABLE, ids=lambda file: file.name)
def test_published_files(file: Any) -> None:
    data = published(file.name)
    apis = sum(len(tool.functions) for tool in data.tools.values())
    found = (len(data.records), len(data.tools), apis, len(data.errata))
    assert found == (file.records, file.tools, file.apis, file.errata)
    counts = count_kinds(data.errata, KINDS)
    assert list(counts) == list(KINDS)
    assert {kind: count for kind, count in counts.items() if count} == ERRATA[file.name]
    for record in data.records:
        assert set(record.relevant) <= set(record.apis)
        assert {tool for tool, _ in record.apis} <= set(data.tools)


def test_every_request_of_g1_is_fulfilled_by_a_single_tool() -> None:
    assert {len(record.tools) for record in published('G1').records} == {1}
    assert {len(record.tools) for record in published('G2').records} == {2, 3, 4}


def test_an_api_that_is_relevant_twice_counts_once() -> None:
    (record,) = [record for record in demo('G2').records if record.id == '202']
    assert record.relevant == (('Loaf Finder', 'Search Bread'), ('Coin Press', 'Convert'))
    assert record.tools == ('Loaf Finder', 'Coin Press')


def rows() -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((DEMO / 'G2_category.json').read_text(encoding='utf-8'))
    return loaded


def broken(change: Callable[[list[dict[str, Any]]], object], folder: Path) -> Path:
    changed = rows()
    change(changed)
    file = folder / 'G2_category.json'
    file.write_text(json.dumps(changed), encoding='utf-8')
    return file


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda r: r.clear(), 'not a list of records'),
        (lambda r: r[1].pop('query_id'), "record 'row 1': field 'query_id'"),
        (lambda r: r[1].update(query_id=201), "record '201': two records"),
        (lambda r: r[1].update(query=' '), "record '202': field 'query'"),
        (lambda r: r[1].update(api_list=[{'tool_name': 'x'}]), "record '202': field 'api_list'"),
        (lambda r: r[1].update({'relevant APIs': [['Coin Press']]}), "record '202': field 'relevant APIs'"),
        (lambda r: r[1].update({'relevant APIs': [['Coin Press', 'Mint']]}), "record '202'.*Mint.*not in its api_list"),
        (lambda r: r[1]['api_list'][0].update(required_parameters=3), "Search Bread.*'required_parameters'"),
    ],
)
def test_damage_is_named(change: Callable[[list[dict[str, Any]]], object], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load_data(broken(change, tmp_path), 'G2')
    assert 'G2_category.json' in str(caught.value)


def test_errata_of_every_kind(tmp_path: Path) -> None:
    def change(changed: list[dict[str, Any]]) -> None:
        changed[1]['query'] = changed[0]['query'].upper()
        api = next(api for api in changed[1]['api_list'] if api['api_name'] == 'Convert')
        api['category_name'] = 'Arts'
        api['optional_parameters'].append(dict(api['required_parameters'][0]))
        api['required_parameters'][0]['default'] = 'a lot'

    counts = count_kinds(load_data(broken(change, tmp_path), 'G2').errata, KINDS)
    assert counts == dict.fromkeys(KINDS, 1)


def test_other_counts_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        load_data(DEMO / 'G3_instruction.json', 'G3')
    assert '2 records, not 61' in caplog.text


def test_names_that_are_not_there() -> None:
    with pytest.raises(ValueError, match='it has G1, G2, G3'):
        find_file('G4')
    with pytest.raises(ValueError, match='selection_5'):
        find_subset('selection_7')
    assert [subset.candidates for subset in TABLE if subset.kind == 'selection'] == [5, 10, 20, 50]
