"""Faulty gold steps, and that the benchmark's page lists them all."""

from __future__ import annotations

import json
import re
from dataclasses import asdict

import pytest

from opencompass_tooleval.benchmarks.restbench.data import (
    KINDS,
    UNLISTED,
    Inventory,
    find_errata,
    match_instructions,
    matches,
    repair,
)
from opencompass_tooleval.catalogue.benchmark import count_kinds
from tests.benchmarks.restbench.support import TOOLS, loaded, toolbox
from tests.conftest import ROOT
from tests.instructions.shared_data import real

INVENTORY = Inventory(TOOLS)
PAGE = ROOT / 'docs' / 'explanation' / 'restbench.md'
ROW = re.compile(r'^\| (\w+) \| (\d+) \| (\d+) \| `"?(.+?)"?` \| `(.+?)` \| (\w+) \|$', re.MULTILINE)


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
    listed = ROW.findall(PAGE.read_text(encoding='utf-8'))
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
