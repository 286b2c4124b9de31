"""Agreement of two judges: the correlation, its items, and the command's function."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opencompass_tooleval.benchmarks.ultratool.data import find_subset
from opencompass_tooleval.benchmarks.ultratool.judge import LABELS, Judged, Scores
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.recorded.agreement import agree, agreement, pearson
from opencompass_tooleval.judging.judgement import FAILED, JUDGED, MISSING
from tests.benchmarks.ultratool.support import PREDICTIONS, real

PLANNING, CREATION = find_subset('planning'), find_subset('tool_creation')


def judged(record: str, score: float, step: str = '', task: str = 'planning', **others: float) -> Judged:
    return Judged(record, step, JUDGED, Scores({**dict.fromkeys(LABELS[task], score), **others}))


def write(file: Path, judgements: list[Judged]) -> Path:
    rows = [judgement.to_row(Scores.to_row) for judgement in judgements]
    file.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return file


@pytest.mark.parametrize(
    ('first', 'second', 'expected'),
    [
        ([1, 2, 3], [9, 8, 7], -1.0),
        ([1, 2, 1, 2], [1, 1, 2, 2], 0.0),
        ([0.1, 0.1, 0.1], [1, 2, 3], None),  # constant, and its mean rounds
        ([7], [8], None),
        ([], [], None),
    ],
)
def test_pearson_by_hand(first: list[float], second: list[float], expected: float | None) -> None:
    assert pearson(first, second) == (expected if expected is None else pytest.approx(expected))


def test_only_what_both_judged_counts() -> None:
    first = [judged('a', 1), judged('b', 5), judged('c', 9), judged('d', 2), Judged('e', '', FAILED)]
    second = [judged('e', 9), judged('c', 8), judged('b', 6), judged('a', 2), Judged('d', '', FAILED)]
    found = agree(PLANNING, first, second)
    assert (found.compared, found.only_first, found.only_second) == (3, 1, 1)
    assert found.correlations['overall'] == pytest.approx(np.corrcoef([1, 5, 9], [2, 6, 8])[0, 1])
    assert found.means['overall'] == pytest.approx((5, 16 / 3))


def test_created_tools_are_compared_step_by_step() -> None:
    task = 'tool_creation'
    first = [judged('a', 1, '1.1', task), judged('a', 9, '1.2', task), Judged('b', '1.1', MISSING)]
    second = [judged('a', 8, '1.2', task), judged('a', 2, '1.1', task), judged('b', 3, '1.1', task)]
    found = agree(CREATION, first, second)
    assert (found.compared, found.only_first, found.only_second) == (2, 0, 1)
    assert found.correlations == dict.fromkeys(LABELS[task], pytest.approx(1))


def test_the_command_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = [random.Random(i).randint(1, 10) for i in range(30)]
    first = write(tmp_path / 'a.jsonl', [judged(str(i), score) for i, score in enumerate(scores)])
    second = write(tmp_path / 'b.jsonl', [judged(str(i), 11 - score) for i, score in enumerate(scores[:20])])
    agreement(first, second, json_out='-')
    result = json.loads(capsys.readouterr().out)
    assert (result['compared'], result['only_first'], result['only_second']) == (20, 10, 0)
    assert result['correlations'] == dict.fromkeys(LABELS['planning'], pytest.approx(-1))

    agreement(first, second, json_out=str(tmp_path / 'out.json'))
    assert json.loads((tmp_path / 'out.json').read_text(encoding='utf-8')) == result
    shown = capsys.readouterr().out
    for said in ('20 judged by both', 'structural_rationality', '-1.000', '10 judged only by the first'):
        assert said in shown
    same = write(tmp_path / 'same.jsonl', [judged('0', 7), judged('1', 7)])
    agreement(same, same, json_out=str(tmp_path / 'out.json'))
    assert '7.00' in capsys.readouterr().out
    written: dict[str, Any] = json.loads((tmp_path / 'out.json').read_text(encoding='utf-8'))
    assert set(written['correlations'].values()) == {None}


def test_the_command_says_what_does_not_fit(tmp_path: Path) -> None:
    first = write(tmp_path / 'a.jsonl', [judged('0', 7)])
    second = write(tmp_path / 'b.jsonl', [judged('1', 7)])
    with pytest.raises(ValueError, match='tool_usage has no judge'):
        agreement(first, first, 'tool_usage')
    with pytest.raises(ValueError, match='share no judged item'):
        agreement(first, second)
    with pytest.raises(DataError, match='missing'):
        agreement(first, tmp_path / 'none.jsonl')
    with pytest.raises(OSError, match='cannot write'):
        agreement(first, first, json_out=str(tmp_path / 'no' / 'folder.json'))


def test_judgements_of_different_answers_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def row(answer: str, score: int) -> dict[str, Any]:
        evaluation = [{labels[0]: score} for labels in LABELS['planning'].values()]
        return {'data': {'data': {'input': 'q', 'reference': '1. r'}, 'init output': answer}, 'eval': evaluation}

    def authors(name: str, *rows: dict[str, Any]) -> Path:
        file = tmp_path / name
        file.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
        return file

    first = authors('a.json', row('1. walk', 3), row('1. run', 8))
    agreement(first, authors('b.json', row('1. walk', 4), row('1. run', 9)), json_out='-')
    result = json.loads(capsys.readouterr().out)
    assert (result['coefficient'], result['unnamed_answers']) == ('pearson', 0)
    with pytest.raises(ValueError, match=r'judge different answers to 1 of 2 items \(the first: record 1\)'):
        agreement(first, authors('c.json', row('1. walk', 4), row('1. swim', 9)))
    silent = write(tmp_path / 'silent.jsonl', [judged('0', 4), judged('1', 9)])
    agreement(first, silent)
    shown = capsys.readouterr().out
    assert "Pearson's r" in shown and 'NOTE 2 judgements do not identify their answers' in shown


def test_the_published_judgements_against_numpy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Judgements of two models' plans are refused; here those of the second stand as if they were of the first's."""
    files = [real(PREDICTIONS / model / 'eval' / 'planning_eval.json') for model in ('gpt-3.5', 'gpt-4')]
    with pytest.raises(ValueError, match='judge different answers to 1000 of 1000 items'):
        agreement(files[0], files[1])
    rows = [[json.loads(line) for line in file.read_text(encoding='utf-8').splitlines()] for file in files]
    other = tmp_path / 'other.json'
    lines = [json.dumps({'data': a['data'], 'eval': b['eval']}) for a, b in zip(*rows, strict=True)]
    other.write_text('\n'.join(lines), encoding='utf-8')
    agreement(files[0], other, json_out='-')
    result = json.loads(capsys.readouterr().out)
    assert (result['compared'], result['unnamed_answers']) == (1000, 0)
    for name, (label, _) in LABELS['planning'].items():
        first, second = ([float(next(d[label] for d in row['eval'] if label in d)) for row in of] for of in rows)
        assert result['correlations'][name] == pytest.approx(np.corrcoef(first, second)[0, 1], abs=1e-12), name
    agreement(files[0], files[0], json_out='-')
    assert json.loads(capsys.readouterr().out)['correlations'] == dict.fromkeys(LABELS['planning'], pytest.approx(1))
