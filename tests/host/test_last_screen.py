"""The last screen of a sweep: what is cut where 80 columns have no room, and what is not."""

from __future__ import annotations

from pathlib import Path

from opencompass_tooleval.host.last_screen import Headline, Missing, leaderboard, mend_of, missing_lines


def lines_of(models: list[str]) -> list[str]:
    rows = [Headline('tooleval-restbench-tmdb-easytool', 'correct_path_rate', ['100.00'] * len(models))]
    return leaderboard(models, rows)


def test_names_are_whole_where_there_is_room() -> None:
    header, row, *_ = lines_of(['oracle', 'oracle-noise-0.3'])
    assert header.split() == ['benchmark', 'metric', 'oracle', 'oracle-noise-0.3']
    assert row.split() == ['restbench-tmdb-easytool', 'correct_path_rate', '100.00', '100.00']


def test_names_that_are_cut_stay_apart() -> None:
    models = [f'a-model-with-a-rather-long-name-{number}' for number in range(3)]
    header, row, *_ = lines_of(models)
    shown = header.split()[2:]
    assert len(set(shown)) == 3 and [name[-2:] for name in shown] == ['-0', '-1', '-2']
    assert len(header) <= 80 and 'restbench-tmdb-easytool' in row and '…' not in row


def test_many_models_are_rows() -> None:
    models = [f'a-model-with-a-rather-long-name-of-{number}-billions' for number in range(5)]
    rows = [Headline(f'tooleval-restbench-subset-{i}', 'm', ['100.00'] * 5) for i in range(5)]
    lines = leaderboard(models, rows)
    assert all(len(line) <= 80 for line in lines) and len({line.split()[0] for line in lines[1:6]}) == 5


def test_a_data_set_is_named_once() -> None:
    missing = Missing('m', 'd', 'd.out', 'd: DataError: no file. Mend it with: tooleval prepare teval')
    head, why, mend = missing_lines([missing], Path('out/run'))
    assert (why, mend) == ('  why:  DataError: no file.', '  mend: tooleval prepare teval') and head.count(' d:') == 1


def test_a_key_that_is_not_set_is_what_mends_it() -> None:
    mend = mend_of('d: ValueError: OpenAI API key is not set.', Path('out/run'))
    assert mend == 'export OPENAI_API_KEY=... and opencompass CONFIG -w out -r run'
