"""The function behind ``tooleval score ultratool``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.catalogue.benchmark import find_benchmark
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.recorded.score import score_recorded
from tests.benchmarks.support import write_rows
from tests.benchmarks.ultratool.support import PREDICTIONS, real

RAW = {
    'question': 'q',
    'input': [{'step': '1.1 b', 'tool': 't', 'param': ''}],
    'toolset': [{'name': 't', 'arguments': {'properties': {'x': {}}}}],
    'reference': [{'step': '1.1 b', 'tool': 't', 'param': {'x': '12'}}],
}
RIGHT = '[{"step": "1.1 b", "tool": "t", "param": {"x": "12"}}]'
TWO_LISTS = f'[{{"step": "1.1 b", "param": {{"x": "1"}}}}] {RIGHT}'


ULTRATOOL = find_benchmark('ultratool')


def result(folder: Path, **fields: Any) -> dict[str, Any]:
    out = folder / 'result.json'
    score_recorded(ULTRATOOL, **{'subset': 'tool_usage', **fields}, json_out=str(out))
    loaded: dict[str, Any] = json.loads(out.read_text(encoding='utf-8'))
    return loaded


def test_the_authors_files_carry_their_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_rows(tmp_path / 'gpt.json', [{'data': RAW, 'init output': RIGHT}, {'data': RAW, 'init output': '[]'}])
    outcome = result(tmp_path, predictions=file, details=tmp_path / 'details.jsonl')
    assert outcome['metrics'] == {'local_levenshtein': 50.0, 'json_rate': 100.0, 'json_rate_unrepaired': 100.0}
    rules = [outcome[name] for name in ('list_choice', 'scoring', 'gold', 'language', 'prompt_style')]
    assert rules == ['span', 'official', 'official', 'en', 'gpt']
    assert outcome['reasons'] == {'ok': 1, 'step:missing': 1}
    details = [json.loads(line) for line in (tmp_path / 'details.jsonl').read_text(encoding='utf-8').splitlines()]
    assert [detail['id'] for detail in details] == ['0', '1']
    assert details[0]['steps'][0]['arguments'][0]['value'] == 1.0
    assert 'local_levenshtein' in capsys.readouterr().out


def test_answers_in_another_language_are_refused(tmp_path: Path) -> None:
    """A number of 1,000 Chinese samples that says it is of English ones would stand in the wrong column."""
    chinese = json.loads(json.dumps(RAW).replace('"q"', '"我想预订一张去北京的机票"'))
    for rows, language, other in (([chinese], 'zh', 'en'), ([RAW], 'en', 'zh')):
        file = write_rows(tmp_path / f'{language}.json', [{'data': row, 'init output': RIGHT} for row in rows])
        data = write_rows(tmp_path / 'data.json', rows)
        assert result(tmp_path, predictions=file, language=language)['language'] == language
        for more in ({}, {'data': data}):
            with pytest.raises(DataError, match=f'set --language {language}, or leave it out'):
                result(tmp_path, predictions=file, language=other, **more)


def test_the_shape_of_the_file_chooses_the_list(tmp_path: Path) -> None:
    gpt = write_rows(tmp_path / 'gpt.json', [{'data': RAW, 'init output': TWO_LISTS}])
    output = {'init prompt': 'p', 'init output': [TWO_LISTS]}
    other = write_rows(tmp_path / 'open.json', [{'question': RAW, 'original ans': [], 'total output': output}])
    assert result(tmp_path, predictions=gpt)['metrics']['local_levenshtein'] == 0.0
    assert result(tmp_path, predictions=gpt, list_choice='last')['metrics']['local_levenshtein'] == 100.0
    assert result(tmp_path, predictions=other)['metrics']['local_levenshtein'] == 100.0
    assert result(tmp_path, predictions=other)['list_choice'] == 'last'
    assert result(tmp_path, predictions=other)['prompt_style'] == 'open'
    assert result(tmp_path, predictions=other, list_choice='span')['metrics']['local_levenshtein'] == 0.0
    assert result(tmp_path, predictions=gpt, list_choice='last')['prompt_style'] is None


def test_answers_in_other_shapes_need_the_records(tmp_path: Path) -> None:
    answers = write_rows(tmp_path / 'answers.jsonl', [{'id': '0', 'prediction': f'<think>[]</think>{RIGHT}'}])
    with pytest.raises(DataError, match='add --data FILE'):
        result(tmp_path, predictions=answers)
    data = write_rows(tmp_path / 'tool_usage.json', [RAW])
    assert result(tmp_path, predictions=answers, data=data)['metrics']['local_levenshtein'] == 100.0


def test_answers_of_other_records_are_refused(tmp_path: Path) -> None:
    file = write_rows(tmp_path / 'gpt.json', [{'data': RAW, 'init output': RIGHT}])
    other = write_rows(tmp_path / 'tool_usage.json', [{**RAW, 'input': [{'step': '1.1 c'}]}])
    with pytest.raises(DataError, match='another record'):
        result(tmp_path, predictions=file, data=other)
    more = write_rows(tmp_path / 'more.json', [RAW, RAW])
    with pytest.raises(DataError, match='1 answers for 2 records'):
        result(tmp_path, predictions=file, data=more)


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'subset': 'planning'}, 'add --predictions or --judgements'),
        ({'subset': 'planning', 'predictions': 'none.json'}, 'none.json: the file is missing'),
        ({'subset': 'tool_usage', 'judgements': 'x', 'predictions': 'x'}, 'leave out --judgements'),
        ({'subset': 'tool_usage'}, 'add --predictions FILE'),
        ({'subset': 'tool_usage', 'predictions': 'x', 'gold': 'repaired'}, 'add --data FILE'),
        ({'subset': 'tool_use', 'predictions': 'x'}, 'has no subset'),
    ],
)
def test_options_that_do_not_fit(fields: dict[str, Any], message: str) -> None:
    paths: dict[str, Any] = {
        name: Path(value) if name in {'predictions', 'judgements'} else value for name, value in fields.items()
    }
    with pytest.raises(ValueError, match=message):
        score_recorded(ULTRATOOL, **paths)


PLAN = {'input': 'q', 'reference': '1. gold'}
TOOL = {'name': 't'}
CREATION = {'input': [{'step': '1.1 b'}], 'reference': [{'step': '1.1 b', 'tool': TOOL}]}


def test_without_judgements_answers_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plans = write_rows(
        tmp_path / 'plans.json', [{'data': PLAN, 'init output': '1. a'}, {'data': PLAN, 'init output': ''}]
    )
    outcome = result(tmp_path, subset='planning', predictions=plans, details=tmp_path / 'details.jsonl')
    assert set(outcome['metrics'].values()) == {None}
    assert (outcome['judged'], outcome['samples']) == (False, 2)
    assert outcome['reasons'] == {'judge:not_asked': 1, 'answer:empty': 1}
    details = [json.loads(line) for line in (tmp_path / 'details.jsonl').read_text(encoding='utf-8').splitlines()]
    assert [detail['parsed'] for detail in details] == ['1. a', '']
    assert 'NOTE no judgements: the answers were only parsed' in capsys.readouterr().out
    answers = [json.dumps([{'step': '1.1 b', 'tool': TOOL}]), 'none']
    tools = write_rows(tmp_path / 'tools.json', [{'data': CREATION, 'init output': answer} for answer in answers])
    metrics = result(tmp_path, subset='tool_creation', predictions=tools)['metrics']
    assert (metrics['json_rate'], metrics['json_rate_unrepaired'], metrics['overall']) == (50.0, 50.0, None)


def test_open_models_files_need_no_data(tmp_path: Path) -> None:
    """The real GPT answers, as the authors' script for open models writes them."""
    rows = [json.loads(line) for line in real(PREDICTIONS / 'gpt-4' / 'tool_usage.json').open(encoding='utf-8')]
    open_rows = [
        {
            'question': row['data'],
            'original ans': row['data']['reference'],
            'total output': {'init prompt': 'p', 'init output': [row['init output']]},
        }
        for row in rows
    ]
    outcome = result(tmp_path, predictions=write_rows(tmp_path / 'tool_usage.json', open_rows))
    assert (round(outcome['metrics']['local_levenshtein'], 2), outcome['list_choice']) == (84.74, 'last')
