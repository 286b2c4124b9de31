"""The function behind ``tooleval score ultratool``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.cli.score_ultratool import UltraToolRequest, score_ultratool
from opencompass_tooleval.core.errors import DataError
from tests.ultratool.support import DATA, PREDICTIONS, real

RAW = {
    'question': 'q',
    'input': [{'step': '1.1 b', 'tool': 't', 'param': ''}],
    'toolset': [{'name': 't', 'arguments': {'properties': {'x': {}}}}],
    'reference': [{'step': '1.1 b', 'tool': 't', 'param': {'x': '12'}}],
}
RIGHT = '[{"step": "1.1 b", "tool": "t", "param": {"x": "12"}}]'
TWO_LISTS = f'[{{"step": "1.1 b", "param": {{"x": "1"}}}}] {RIGHT}'


def write(file: Path, rows: list[Any]) -> Path:
    file.write_text(''.join(json.dumps(row) + '\n' for row in rows), encoding='utf-8')
    return file


def result(folder: Path, **fields: Any) -> dict[str, Any]:
    out = folder / 'result.json'
    score_ultratool(UltraToolRequest(**{'task': 'tool_usage', **fields}, json_out=str(out)))
    loaded: dict[str, Any] = json.loads(out.read_text(encoding='utf-8'))
    return loaded


def test_the_authors_files_carry_their_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / 'gpt.json', [{'data': RAW, 'init output': RIGHT}, {'data': RAW, 'init output': '[]'}])
    said = result(tmp_path, predictions=file, details=tmp_path / 'details.jsonl')
    assert said['metrics'] == {'local_levenshtein': 50.0, 'json_rate': 100.0, 'json_rate_unrepaired': 100.0}
    assert (said['lists'], said['scoring'], said['gold'], said['language']) == ('span', 'official', 'official', 'en')
    assert said['reasons'] == {'ok': 1, 'step:missing': 1}
    details = [json.loads(line) for line in (tmp_path / 'details.jsonl').read_text(encoding='utf-8').splitlines()]
    assert [detail['id'] for detail in details] == ['0', '1']
    assert details[0]['steps'][0]['arguments'][0]['value'] == 1.0
    assert 'local_levenshtein' in capsys.readouterr().out


def test_the_shape_of_the_file_chooses_the_list(tmp_path: Path) -> None:
    gpt = write(tmp_path / 'gpt.json', [{'data': RAW, 'init output': TWO_LISTS}])
    other = write(tmp_path / 'open.json', [{'data': RAW, 'question': 'p', 'total output': TWO_LISTS}])
    assert result(tmp_path, predictions=gpt)['metrics']['local_levenshtein'] == 0.0
    assert result(tmp_path, predictions=gpt, lists='last')['metrics']['local_levenshtein'] == 100.0
    assert result(tmp_path, predictions=other)['metrics']['local_levenshtein'] == 100.0


def test_answers_in_other_shapes_need_the_records(tmp_path: Path) -> None:
    answers = write(tmp_path / 'answers.jsonl', [{'id': '0', 'prediction': f'<think>[]</think>{RIGHT}'}])
    with pytest.raises(DataError, match='say --data FILE'):
        result(tmp_path, predictions=answers)
    data = write(tmp_path / 'tool_usage.json', [RAW])
    assert result(tmp_path, predictions=answers, data=data)['metrics']['local_levenshtein'] == 100.0


def test_standard_output_is_json_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / 'gpt.json', [{'data': RAW, 'init output': RIGHT}])
    score_ultratool(UltraToolRequest('tool_usage', file, json_out='-'))
    assert json.loads(capsys.readouterr().out)['samples'] == 1


def test_answers_of_other_records_are_refused(tmp_path: Path) -> None:
    file = write(tmp_path / 'gpt.json', [{'data': RAW, 'init output': RIGHT}])
    other = write(tmp_path / 'tool_usage.json', [{**RAW, 'input': [{'step': '1.1 c'}]}])
    with pytest.raises(DataError, match='another record'):
        result(tmp_path, predictions=file, data=other)
    more = write(tmp_path / 'more.json', [RAW, RAW])
    with pytest.raises(DataError, match='1 answers for 2 records'):
        result(tmp_path, predictions=file, data=more)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'none\.json: the file is missing'):
        result(tmp_path, predictions=tmp_path / 'none.json')


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'task': 'planning', 'predictions': 'x'}, 'say --judgements FILE'),
        ({'task': 'tool_usage', 'judgements': 'x', 'predictions': 'x'}, 'leave --judgements out'),
        ({'task': 'tool_usage'}, 'say --predictions FILE'),
        ({'task': 'tool_usage', 'predictions': 'x', 'gold': 'repaired'}, 'say --data FILE'),
        ({'task': 'tool_use', 'predictions': 'x'}, 'has no subset'),
    ],
)
def test_options_that_do_not_fit(fields: dict[str, Any], message: str) -> None:
    paths = {name: Path(value) if name in {'predictions', 'judgements'} else value for name, value in fields.items()}
    with pytest.raises(ValueError, match=message):
        score_ultratool(UltraToolRequest(**paths))


def test_domains_of_the_real_records(tmp_path: Path) -> None:
    predictions = real(PREDICTIONS / 'gpt-4' / 'tool_usage.json')
    data = real(DATA / 'Chinese-dataset' / 'test_set' / 'tool_usage.json')
    said = result(tmp_path, predictions=predictions, data=data)
    assert round(said['metrics']['local_levenshtein'], 2) == 86.62
    assert len(said['domains']) == 22
    assert sum(domain['samples'] for domain in said['domains'].values()) == 1000


def test_published_judgements_alone(tmp_path: Path) -> None:
    said = result(tmp_path, task='planning', judgements=real(PREDICTIONS / 'gpt-4' / 'eval' / 'planning_eval.json'))
    assert round(said['metrics']['overall'], 2) == 76.39
    assert (said['samples'], said['unjudged'], said['language']) == (1000, 0, 'zh')
