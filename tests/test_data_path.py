"""data_path: the places of data files."""

from __future__ import annotations

from pathlib import Path

import pytest

import opencompass_tooleval
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import ENV, candidate_paths, resolve_data_path

PATH = 'data/teval/EN'


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The three roots, all empty; ``COMPASS_DATA_CACHE`` is set."""
    roots = {name: tmp_path / name for name in ('cache', 'home', 'work')}
    for root in roots.values():
        root.mkdir()
    monkeypatch.setenv(ENV, str(roots['cache']))
    monkeypatch.setenv('HOME', str(roots['home']))
    monkeypatch.chdir(roots['work'])
    return roots


def make(root: Path, path: str = PATH) -> Path:
    folder = root / path
    folder.mkdir(parents=True)
    return folder


def test_data_cache_comes_first(places: dict[str, Path]) -> None:
    expected = make(places['cache'])
    make(places['home'] / '.cache' / 'opencompass')
    make(places['work'])
    assert resolve_data_path(PATH, 'x') == expected


def test_home_cache_comes_second(places: dict[str, Path]) -> None:
    expected = make(places['home'] / '.cache' / 'opencompass')
    make(places['work'])  # not looked at: COMPASS_DATA_CACHE is set
    assert resolve_data_path(PATH, 'x') == expected


@pytest.mark.parametrize('value', [None, ''], ids=['not set', 'empty'])
def test_working_directory_without_data_cache(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv(ENV) if value is None else monkeypatch.setenv(ENV, value)
    make(places['cache'])
    expected = make(places['work'])
    make(places['home'] / '.cache' / 'opencompass')
    assert resolve_data_path(PATH, 'x').resolve() == expected


def test_package(places: dict[str, Path]) -> None:
    package = Path(opencompass_tooleval.__file__).resolve().parent
    assert resolve_data_path('tooleval:demo/teval/EN', 'x') == package / 'demo' / 'teval' / 'EN'
    assert (resolve_data_path('tooleval:demo/teval/EN', 'x') / 'plan_json_v2.json').is_file()


def test_absolute(places: dict[str, Path]) -> None:
    expected = make(places['work'])
    assert resolve_data_path(str(expected), 'x') == expected
    assert candidate_paths(str(expected)) == [expected]


@pytest.mark.parametrize('path', [PATH, 'tooleval:demo/none', '/no/such/folder'])
def test_error_names_every_place_and_the_fix(places: dict[str, Path], path: str) -> None:
    with pytest.raises(DataError) as caught:
        resolve_data_path(path, 'tooleval prepare teval')
    looked = ', '.join(str(candidate) for candidate in candidate_paths(path))
    assert str(caught.value) == (
        f'{path}: not found; looked at {looked} (COMPASS_DATA_CACHE moves the first). '
        'Fix it with: tooleval prepare teval'
    )


def test_places_in_the_error(places: dict[str, Path]) -> None:
    with pytest.raises(DataError) as caught:
        resolve_data_path(PATH, 'x')
    assert f'{places["cache"]}/{PATH}' in str(caught.value)
    assert f'{places["home"]}/.cache/opencompass/{PATH}' in str(caught.value)
