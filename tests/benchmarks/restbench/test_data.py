"""RestBench's files become records, with named faults. The page lists all faulty gold steps. Texts of tools."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.data import (
    KINDS,
    UNLISTED,
    Inventory,
    find_errata,
    find_subset,
    load_records,
    match_instructions,
    matches,
    open_toolbox,
    repair,
)
from opencompass_tooleval.benchmarks.restbench.prompts import build_prompt
from opencompass_tooleval.catalogue.benchmark import count_kinds
from opencompass_tooleval.core.errors import DataError
from tests.benchmarks.restbench.support import DEMO, TOOLS, loaded, toolbox
from tests.conftest import ROOT
from tests.instructions.shared_data import real

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


PAGE = ROOT / 'docs' / 'explanation' / 'restbench.md'
ERRATUM = re.compile(r'^\| (\w+) \| (\d+) \| (\d+) \| `"?(.+?)"?` \| `(.+?)` \| (\w+) \|$', re.MULTILINE)


@pytest.mark.parametrize(
    ('published', 'repaired', 'kind'),
    [
        ('GET /search/movie ', 'GET /search/movie', 'blank'),
        ('GET /person/{movie_id}', 'GET /person/{person_id}', 'placeholder'),
    ],
)
def test_found_and_repaired(published: str, repaired: str, kind: str) -> None:
    solution = ['GET /me/tracks', published]
    errata = find_errata('7', solution, INVENTORY)
    assert [asdict(erratum) for erratum in errata] == [
        {'record': '7', 'step': 1, 'published': published, 'repaired': repaired, 'kind': kind}
    ]
    assert repair(solution, errata) == ('GET /me/tracks', repaired)
    assert find_errata('7', repair(solution, errata), INVENTORY) == []


def test_unlisted_paths_are_known_one_by_one() -> None:
    (published,) = UNLISTED
    with pytest.raises(ValueError, match='not a tool of the OpenAPI document'):
        find_errata('0', [published], INVENTORY)
    errata = find_errata('0', [published], Inventory([*TOOLS, 'GET /tracks/{id}']))
    assert count_kinds(errata, KINDS) == {'blank': 0, 'placeholder': 0, 'unlisted': 1}


@pytest.mark.parametrize(
    'step', ['/me/tracks', 'get /search/movie', 'GET /search/movie/', 'GET /search/movie?query=x', 'GET /x']
)
def test_other_faults_are_not_guessed_at(step: str) -> None:
    with pytest.raises(ValueError, match='not a tool of the OpenAPI document'):
        find_errata('0', [step], INVENTORY)


def test_the_page_lists_the_published_ones() -> None:
    listed = ERRATUM.findall(PAGE.read_text(encoding='utf-8'))
    found = [
        (title, erratum.record, str(erratum.step + 1), erratum.published, erratum.repaired, erratum.kind)
        for title, name in (('TMDB', 'tmdb'), ('Spotify', 'spotify'))
        for erratum in loaded(name)[1]
    ]
    assert listed == found


def test_published_instructions_are_of_the_documents_tools_in_its_order() -> None:
    inventory = toolbox('tmdb').inventory
    file = real('easytool/tmdb_tool.json')
    entries = json.loads(file.read_text(encoding='utf-8'))
    assert [entry['tool_usage'] for entry in entries] == list(inventory.names)
    assert [instruction.functions[0].name for instruction in match_instructions(file, inventory)] == [*inventory.names]
    for entry in entries:
        call = entry['Example']['Parameters']['input']
        assert entry['tool_usage'] == f'GET {entry["tool_name"]}'
        assert matches(entry['tool_usage'], call), entry['ID']


DOUBTFUL = {
    ('tmdb', 30): ['GET /company/{company_id}', 'GET /company/{company_id}/images'],
    ('tmdb', 93): ['GET /search/movie', 'GET /person/{person_id}/tv_credits'],
    ('tmdb', 76): ['GET /search/tv', 'GET /tv/{tv_id}/season/{season_number}/credits'],
    ('tmdb', 96): ['GET /search/movie', 'GET /movie/{movie_id}/credits'],
    ('spotify', 9): ['GET /me/player/currently-playing', 'GET /tracks/{id}', 'PUT /me/following'],
    ('spotify', 36): ['GET /me', 'GET /playlists/{playlist_id}', 'PUT /me/following'],
}


@pytest.mark.parametrize(('name', 'row'), DOUBTFUL)
def test_doubtful_gold_is_left_alone(name: str, row: int) -> None:
    for gold in ('official', 'repaired'):
        assert list(loaded(name, gold)[0][row].path) == DOUBTFUL[name, row]


DOCUMENT = DEMO / 'specs' / 'spotify_oas.json'
INSTRUCTIONS = DEMO / 'spotify_tool.json'


def changed(folder: Path, change: Callable[[list[dict[str, Any]]], Any]) -> Path:
    entries = json.loads(INSTRUCTIONS.read_text(encoding='utf-8'))
    change(entries)
    file = folder / 'tool.json'
    file.write_text(json.dumps(entries), encoding='utf-8')
    return file


def test_documentation() -> None:
    tools = open_toolbox(DOCUMENT)
    assert len(tools.texts) == len(tools.inventory.names) == 8
    assert tools.texts[tools.inventory.names.index('PUT /me/bookings/{booking_id}')] == (
        'PUT /me/bookings/{booking_id}\n'
        'Description: Move a booking to another day, under the same rules as a new one.\n'
        'Parameters:\n'
        '  - booking_id (integer, required): Number of the booking. E.g. 9.\n'
        '  - day (string, required): The new day.'
    )
    assert tools.texts[tools.inventory.names.index('GET /me')].count('\n') == 1
    assert {key: len(value) for key, value in tools.shown.items() if key.endswith('sha256')} == {'document_sha256': 64}
    assert tools.shown['tools'] == 'documentation'


def test_instructions() -> None:
    tools = open_toolbox(DOCUMENT, INSTRUCTIONS)
    assert len(tools.texts) == 8
    assert json.loads(tools.texts[0])['tool_usage'] == tools.inventory.names[0] == 'GET /tools'
    assert 'ID' not in json.loads(tools.texts[0])
    assert (tools.shown['tools'], tools.shown['instructions']) == ('instructions', 'spotify_tool.json')
    assert len(tools.shown['instructions_sha256']) == 64


def test_prompts_differ_in_the_tools_only() -> None:
    query = 'Book {item_id} "now" {tools}'
    shown = [open_toolbox(DOCUMENT), open_toolbox(DOCUMENT, INSTRUCTIONS)]
    prompts = [build_prompt(tools.texts, query) for tools in shown]
    cut = [prompt.replace('\n\n'.join(tools.texts), '') for prompt, tools in zip(prompts, shown, strict=True)]
    assert cut[0] == cut[1] != prompts[0]
    assert all(prompt.endswith(f'Request: {query}\nAnswer:') for prompt in prompts)
    assert all(name in prompt for prompt in prompts for name in shown[0].inventory.names)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda e: e.pop(), r'1 tools without an instruction: PUT /me/wishes'),
        (
            lambda e: e.append({**e[0], 'ID': 9, 'tool_name': 'x', 'tool_usage': 'GET /saws'}),
            r'1 instructions for unknown tools: GET /saws',
        ),
        (lambda e: e.append({**e[0], 'ID': 9, 'tool_name': 'x'}), r'1 tools with several instructions: GET /tools'),
    ],
)
def test_instructions_of_other_tools_are_refused(
    change: Callable[[list[dict[str, Any]]], Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=message) as caught:
        open_toolbox(DOCUMENT, changed(tmp_path, change))
    assert f'tooleval easytool generate --source openapi --input {DOCUMENT}' in str(caught.value)


def test_a_missing_document_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'none\.json: the OpenAPI document is missing.*tooleval prepare restbench'):
        open_toolbox(tmp_path / 'none.json')
