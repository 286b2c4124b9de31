"""Shared by RestBench's tests: the real data if it exists, and records made by hand."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import opencompass_tooleval
from opencompass_tooleval.benchmarks.restbench.data import (
    Erratum,
    Record,
    Toolbox,
    find_subset,
    load_records,
    open_toolbox,
)
from tests.instructions.shared_data import real

ROOT = Path(__file__).resolve().parents[3]
SHARED = ROOT.parent / 'shared'
DEMO = Path(opencompass_tooleval.__file__).resolve().parent / 'demo' / 'restbench'

TOOLS = (
    'GET /search/movie',
    'GET /search/person',
    'GET /movie/popular',
    'GET /movie/{movie_id}',
    'GET /movie/{movie_id}/credits',
    'GET /person/{person_id}',
    'GET /me/tracks',
    'PUT /me/tracks',
)


@cache
def toolbox(name: str) -> Toolbox:
    return open_toolbox(real(f'restbench/{find_subset(name).document}'))


@cache
def loaded(name: str, gold: str = 'official') -> tuple[list[Record], list[Erratum]]:
    return load_records(real(f'restbench/{name}.json'), name, toolbox(name).inventory, gold)


def make_record(solution: list[str], repaired: list[str] | None = None, gold: str = 'official') -> Record:
    return Record('r', 'a request', tuple(solution), tuple(repaired or solution), gold, TOOLS)
