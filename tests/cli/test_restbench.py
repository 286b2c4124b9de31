"""``tooleval score``, ``prepare`` and ``list`` on RestBench."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.data import gold_answer
from tests.benchmarks.restbench.support import DEMO, SHARED, loaded
from tests.cli.conftest import Command
from tests.instructions.shared_data import real

SPECS = DEMO / 'specs' / 'tmdb_oas.json'


def write(folder: Path, answers: list[str]) -> Path:
    file = folder / 'answers.jsonl'
    rows = [{'id': str(row), 'prediction': answer} for row, answer in enumerate(answers)]
    file.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return file


def golds() -> list[list[str]]:
    return [row['solution'] for row in json.loads((DEMO / 'tmdb.json').read_text(encoding='utf-8'))]


def score(command: Command, predictions: Path, *more: object) -> Any:
    files = ('--data', DEMO / 'tmdb.json', '--specs', SPECS, '--predictions', predictions)
    return command('score', 'restbench', 'tmdb', *files, *more)


def test_score(tooleval: Command, tmp_path: Path) -> None:
    answers = [gold_answer(path) for path in golds()]
    answers[0], answers[1] = '["GET /search/plant", "GET /plants/{plant_id}"]', 'GET /garden/{garden_id}'
    details = tmp_path / 'details.jsonl'
    done = score(tooleval, write(tmp_path, answers), '--json', '-', '--details', details)
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result['metrics'] == {'correct_path_rate': 60.0, 'tool_name_error_rate': 20.0}
    assert result['reasons'] == {'ok': 3, 'name:unknown_tool': 1, 'calls:missing': 1}
    assert (result['gold'], result['samples'], result['unknown_tools']) == ('official', 5, 1)
    rows = [json.loads(line) for line in details.read_text(encoding='utf-8').splitlines()]
    assert [row['id'] for row in rows] == ['0', '1', '2', '3', '4']
    assert rows[0]['unknown_tools'] == ['GET /plants/{plant_id}']
    done = score(tooleval, write(tmp_path, [gold_answer(path) for path in golds()]), '--gold', 'repaired')
    assert 'correct_path_rate' in done.out and '100.00' in done.out
    assert 'repaired gold' in done.out and '5 samples of 100: not comparable' in done.out


@pytest.mark.parametrize(('gold', 'rate'), [('official', 95.0), ('repaired', 100.0)])
def test_the_right_tools_officially_lose_the_errata(gold: str, rate: float, tooleval: Command, tmp_path: Path) -> None:
    predictions = write(tmp_path, [gold_answer(record.repaired) for record in loaded('tmdb')[0]])
    files = ('--data', real('restbench/tmdb.json'), '--specs', real('restbench/specs/tmdb_oas.json'))
    done = tooleval('score', 'restbench', 'tmdb', *files, '--predictions', predictions, '--gold', gold, '--json', '-')
    result = json.loads(done.out)
    assert result['metrics'] == {'correct_path_rate': rate, 'tool_name_error_rate': 0.0}
    assert result['reasons'].get('gold:erratum', 0) == (5 if gold == 'official' else 0)
    assert result['errata'] == {'blank': 4, 'placeholder': 1, 'unlisted': 0}


def test_prepare_and_list(tooleval: Command, tmp_path: Path) -> None:
    for place in ('restbench/specs/tmdb_oas.json', 'restbench/tmdb.json', 'easytool/tmdb_tool.json'):
        shutil.copy(real(place), tmp_path / Path(place).name)
    done = tooleval('prepare', 'restbench', '--from', tmp_path)
    assert done.code == 1
    assert 'tmdb: 100 records, 54 tools, 5 errata (blank 4, placeholder 1), 54 instructions' in done.out
    assert 'DAMAGED spotify' in done.out and 'spotify_oas.json: the file is missing' in done.out
    for place in ('restbench/specs/tmdb_oas.json', 'restbench/tmdb.json', 'easytool/tmdb_tool.json'):
        assert (tmp_path / 'data-cache' / 'data' / place).read_bytes() == real(place).read_bytes()
    assert 'kept' in tooleval('prepare', 'restbench', '--from', tmp_path).out
    rows = [line.split('  ') for line in tooleval('list', 'restbench').out.splitlines()]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows if row[0] in ('tmdb', 'spotify')] == [
        ['tmdb', '100 records, 54 tools', '100 records, 54 tools, 5 errata (blank 4, placeholder 1), 54 instructions'],
        ['spotify', '57 records, 40 tools', '-'],
    ]


def log_line(question: str, path: list[str]) -> dict[str, Any]:
    return {'ID': 1, 'question': question, 'task_path': ['as text'], 'tool_choice_ls': path}


def write_log(folder: Path, rows: list[Any]) -> Path:
    file = folder / 'log.jsonl'
    file.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return file


def demo_log() -> list[dict[str, Any]]:
    rows = json.loads((DEMO / 'tmdb.json').read_text(encoding='utf-8'))
    return [log_line(row['query'], row['solution']) for row in reversed(rows)]


def test_log_of_the_authors_script(tooleval: Command, tmp_path: Path) -> None:
    log = demo_log()
    log[0]['tool_choice_ls'] = [*log[0]['tool_choice_ls'], 'GET /search/plant']  # more than the gold, and still right
    log[1]['tool_choice_ls'] = []
    result = json.loads(score(tooleval, write_log(tmp_path, log), '--json', '-').out)
    assert result['metrics'] == {'correct_path_rate': 80.0, 'tool_name_error_rate': 0.0}
    assert (result['exact_paths'], result['method']) == (3, 'easytool')
    assert 'exact paths: 3 of 5' in score(tooleval, write_log(tmp_path, log)).out


@pytest.mark.parametrize(
    ('change', 'fault'),
    [
        ({'question': 'another'}, "line 2': its question is not in the data"),
        ({'question': 5}, "line 2': 'question' is not a string"),
        ({'tool_choice_ls': 'GET /x'}, "line 2': 'tool_choice_ls' is not a list of texts"),
        ({'tool_choice_ls': ['GET /x'] * 101}, "line 2': 'tool_choice_ls' has more than 100 steps"),
        ({'question': demo_log()[0]['question']}, "line 2': its question already has a line"),
        (None, "record '3': no line has its question, nor those of 0 more records"),
    ],
)
def test_damaged_log(change: dict[str, Any] | None, fault: str, tooleval: Command, tmp_path: Path) -> None:
    first, second, *others = demo_log()
    changed = [] if change is None else [second | change]
    done = score(tooleval, write_log(tmp_path, [first, *changed, *others]))
    assert done.code == 1 and fault in done.err and done.err.count('\n') == 1
    done = score(tooleval, tmp_path / 'none.jsonl')
    assert done.code == 1 and 'none.jsonl: the file is missing' in done.err


def test_published_log_of_chatgpt(tooleval: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    real('restbench/tmdb.json')
    log = SHARED / 'expected' / 'easytool' / 'restbench_tmdb_chatgpt.jsonl'
    if not log.exists():
        pytest.skip('the published log is not in ../shared/expected beside the repository')
    monkeypatch.setenv('COMPASS_DATA_CACHE', str(SHARED))
    done = tooleval('score', 'restbench', 'tmdb', '--predictions', log, '--json', '-')
    assert done.code == 0, done.err
    result = json.loads(done.out)
    assert result['metrics'] == {'correct_path_rate': 70.0, 'tool_name_error_rate': 0.0}
    assert (result['exact_paths'], result['samples']) == (55, 100)
