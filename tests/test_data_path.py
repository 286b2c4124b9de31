"""data_path: the places of data files."""

from __future__ import annotations

from pathlib import Path

import pytest

import opencompass_tooleval
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.data_path import ENV, candidate_paths, resolve_data_path

PATH = 'data/teval/EN'


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The three roots, all empty; ``COMPASS_DATA_CACHE`` is set."""
    (tmp_path / 'work').mkdir()
    monkeypatch.setenv(ENV, str(tmp_path / 'cache'))
    monkeypatch.setenv('HOME', str(tmp_path / 'home'))
    monkeypatch.chdir(tmp_path / 'work')


def make(root: Path) -> Path:
    (root / PATH).mkdir(parents=True)
    return root / PATH


def test_the_data_cache_comes_first_and_then_the_home_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory is a place where COMPASS_DATA_CACHE is not set, or empty."""
    work, home = make(tmp_path / 'work'), make(tmp_path / 'home' / '.cache' / 'opencompass')
    assert resolve_data_path(PATH, 'x') == home
    cache = make(tmp_path / 'cache')
    assert resolve_data_path(PATH, 'x') == cache
    monkeypatch.setenv(ENV, '')
    assert resolve_data_path(PATH, 'x').resolve() == work
    monkeypatch.delenv(ENV)
    assert resolve_data_path(PATH, 'x').resolve() == work


def test_the_package_and_an_absolute_path(tmp_path: Path) -> None:
    package = Path(opencompass_tooleval.__file__).resolve().parent
    assert resolve_data_path('tooleval:demo/teval/EN', 'x') == package / 'demo' / 'teval' / 'EN'
    expected = make(tmp_path / 'work')
    assert resolve_data_path(str(expected), 'x') == expected
    assert candidate_paths(str(expected)) == [expected]


@pytest.mark.parametrize('path', [PATH, 'tooleval:demo/none', '/no/such/folder'])
def test_error_names_every_place_and_the_fix(tmp_path: Path, path: str) -> None:
    with pytest.raises(DataError) as caught:
        resolve_data_path(path, 'tooleval prepare teval')
    looked = ', '.join(str(candidate) for candidate in candidate_paths(path)[:2])
    assert str(caught.value) == (
        f'{path}: not found; looked at {looked} (COMPASS_DATA_CACHE moves the first). '
        'Fix it with: tooleval prepare teval'
    )
    roots = (tmp_path / 'cache', tmp_path / 'home' / '.cache' / 'opencompass')
    assert path != PATH or all(f'{root}/{PATH}' in str(caught.value) for root in roots)
