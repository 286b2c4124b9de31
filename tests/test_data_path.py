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


def test_the_data_cache_comes_first_and_then_the_home_cache(
    places: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working directory is a place where COMPASS_DATA_CACHE is not set, or empty."""
    work, home = make(places['work']), make(places['home'] / '.cache' / 'opencompass')
    assert resolve_data_path(PATH, 'x') == home
    cache = make(places['cache'])
    assert resolve_data_path(PATH, 'x') == cache
    monkeypatch.setenv(ENV, '')
    assert resolve_data_path(PATH, 'x').resolve() == work
    monkeypatch.delenv(ENV)
    assert resolve_data_path(PATH, 'x').resolve() == work


def test_the_package_and_an_absolute_path(places: dict[str, Path]) -> None:
    package = Path(opencompass_tooleval.__file__).resolve().parent
    assert resolve_data_path('tooleval:demo/teval/EN', 'x') == package / 'demo' / 'teval' / 'EN'
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
    roots = (places['cache'], places['home'] / '.cache' / 'opencompass')
    assert path != PATH or all(f'{root}/{PATH}' in str(caught.value) for root in roots)
