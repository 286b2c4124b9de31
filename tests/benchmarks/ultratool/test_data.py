"""UltraTool's files become records; tool annotations of plans, as people and models write them."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.data import (
    TABLE,
    CallError,
    configured,
    data_file,
    find_subset,
    load_recorded_rows,
    load_records,
    parse_call,
    parse_payload,
)
from opencompass_tooleval.benchmarks.ultratool.tables import FOLDERS
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.recorded.ultratool import guess_language
from tests.benchmarks.ultratool.support import DATA, make_record, real

USAGE: dict[str, Any] = {
    'question': 'q',
    'input': [{'step': '1. a'}, {'step': '1.1 b', 'tool': 't', 'param': ''}],
    'toolset': [{'name': 't', 'arguments': {'type': 'object', 'properties': {'x': {}}}}],
    'reference': [{'step': '1.1 b', 'tool': 't', 'param': {'x': '1'}}],
}


def write(folder: Path, rows: list[Any], name: str = 'test_set/tool_usage.json') -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows)
    file.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return file


def test_a_record(tmp_path: Path) -> None:
    (record,) = load_records(write(tmp_path, [{**USAGE, 'domain': 'Hotel'}]), 'tool_usage', 'zh')
    assert (record.id, record.language, record.question, record.domain, record.rebuilt) == (
        '0',
        'zh',
        'q',
        'Hotel',
        False,
    )
    assert [(step.number, step.tool, step.param) for step in record.steps] == [('1.', None, None), ('1.1', 't', None)]
    assert record.toolset[0].name == 't' and record.toolset[0].properties == {'x'}
    assert record.reference[0].param == {'x': '1'}
    assert parse_payload(record.to_payload(), 'tool_usage') == record


def test_what_is_rebuilt_says_so() -> None:
    raw = {'input': [], 'reference': [{'step': '1.1 b', 'tool': '0'}]}
    for subset in ('tool_creation_awareness', 'tool_usage_awareness'):  # rows as the authors have them
        assert not make_record(subset, raw).rebuilt
        assert make_record(subset, {**raw, 'rebuilt': True}).rebuilt
    assert not make_record('tool_selection', raw).rebuilt
    assert make_record('tool_selection_32', raw).rebuilt  # the authors have no such set


@pytest.mark.parametrize(
    ('row', 'message'),
    [
        ('{"input": [', 'cut short or no JSON'),
        ([], 'a row is a JSON object'),
        ({**USAGE, 'input': 'x'}, "field 'input' is missing or not a list"),
        ({'input': []}, "field 'reference' is missing or not a list"),
        ({**USAGE, 'reference': []}, 'there is nothing to score'),
        ({**USAGE, 'reference': [{'step': ' '}]}, 'begins with its number'),
        ({**USAGE, 'reference': [{'step': '1 a', 'tool': 5, 'param': {}}]}, 'is not a name'),
        ({**USAGE, 'reference': [{'step': '1 a', 'tool': 't', 'param': ''}]}, 'is not an object'),
        ({**USAGE, 'toolset': [{'description': ''}]}, "needs a 'name'"),
    ],
)
def test_faults_name_file_row_and_fix(tmp_path: Path, row: Any, message: str) -> None:
    file = write(tmp_path, [USAGE, row])
    with pytest.raises(DataError, match=message) as caught:
        load_records(file, 'tool_usage', 'zh')
    assert str(file) in str(caught.value)
    assert "record '1'" in str(caught.value)
    assert 'tooleval prepare ultratool' in str(caught.value)


def test_missing_and_empty_files_and_awareness_that_is_no_bit(tmp_path: Path) -> None:
    file = write(tmp_path, [{'input': [], 'reference': [{'step': '1.1 b', 'tool': 'yes'}]}])
    with pytest.raises(DataError, match='neither 0 nor 1'):
        load_records(file, 'tool_usage_awareness', 'zh')
    with pytest.raises(DataError, match='is missing'):
        load_records(tmp_path / 'none.json', 'tool_usage', 'zh')
    with pytest.raises(DataError, match='is empty'):
        load_records(write(tmp_path, ['']), 'tool_usage', 'zh')
    with pytest.raises(DataError, match=r'Fix it with: tooleval prepare ultratool$'):
        load_records(tmp_path / 'none.json', 'tool_selection', 'zh')
    with pytest.raises(
        DataError, match=r'it with: cd .* && tooleval build ultratool --from test\.json .*--toolset-size 32'
    ):
        load_records(tmp_path / 'none.json', 'tool_selection_32', 'zh')


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match='no subset'):
        find_subset('tool_use')
    with pytest.raises(ValueError, match='languages zh, en'):
        load_records(tmp_path, 'tool_usage', 'fr')


def test_the_default_language_is_that_of_the_published_data() -> None:
    assert configured('planning') == configured('planning', language='ZH') != configured('planning', language='en')
    chinese, english = (configured('planning', language=language) for language in ('zh', 'en'))
    assert chinese.file == data_file(Path(), 'planning', 'zh') and english.file == data_file(Path(), 'planning', 'en')
    assert 'tooleval_ultratool_zh' in chinese.configs[0] and 'tooleval_ultratool_en' in english.configs[0]


def test_domains_come_from_the_annotated_samples(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, [{'question': 'q', 'domain': 'Train'}, {'question': 'other', 'domain': 'Alarm'}], 'test.json')
    with caplog.at_level(logging.WARNING):
        records = load_records(write(tmp_path, [USAGE, USAGE]), 'tool_usage', 'zh')
    assert [record.domain for record in records] == ['Train', '']
    assert '1 of 2 rows are not of these records' in caplog.text


@pytest.mark.parametrize('language', FOLDERS)
@pytest.mark.parametrize('subset', [subset.name for subset in TABLE if subset.official])
def test_the_real_files(subset: str, language: str) -> None:
    file = real(data_file(DATA, subset, language))
    records = load_records(file, subset, language)
    assert len(records) == 1000
    assert len({record.domain for record in records} - {''}) == 22
    assert all(record.domain for record in records)
    with file.open(encoding='utf-8') as stream:
        text = stream.read(4000)
    assert guess_language(Path('x.json'), text) == guess_language(file, '') == language
    assert guess_language(Path('x.json'), json.dumps(text)[:4000]) == language
    assert parse_payload(records[7].to_payload(), subset) == records[7]


OUTPUT = {'init prompt': 'p', 'init output': ['x', 'y']}


@pytest.mark.parametrize(
    ('row', 'shape', 'answer'),
    [
        ({'data': USAGE, 'init output': ['x', 'y']}, 'gpt', 'x'),
        ({'data': USAGE, 'init output': [{'step': '1.1 b'}]}, 'gpt', [{'step': '1.1 b'}]),
        ({'question': USAGE, 'original ans': [], 'total output': OUTPUT}, 'open', 'x'),
        ({'question': USAGE, 'original ans': [], 'total output': {**OUTPUT, 'init output': []}}, 'open', []),
    ],
)
def test_shapes_of_the_authors_files(tmp_path: Path, row: Any, shape: str, answer: Any) -> None:
    (recorded,) = load_recorded_rows(write(tmp_path, [row]), 'tool_usage', 'zh')
    assert (recorded.shape, recorded.answer) == (shape, answer)
    assert recorded.record is not None and recorded.record.question == 'q'


def test_answers_without_records(tmp_path: Path) -> None:
    (recorded,) = load_recorded_rows(write(tmp_path, [{'total output': OUTPUT}]), 'tool_usage', 'zh')
    assert recorded.record is None


@pytest.mark.parametrize(
    ('row', 'message'),
    [
        ({'data': USAGE}, "neither 'init output' nor 'total output'"),
        ({'data': USAGE, 'init output': 5}, 'neither text nor a list'),
        ({'question': USAGE, 'total output': {}}, 'neither text nor a list'),
        ({'question': 'p', 'total output': OUTPUT}, 'a row is a JSON object'),
    ],
)
def test_faults_of_the_authors_files(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_recorded_rows(write(tmp_path, [row]), 'tool_usage', 'zh')


def test_recorded_content_in_parts_is_its_text(tmp_path: Path) -> None:
    file = tmp_path / 'answers.json'
    parts: list[Any] = [{'type': 'text', 'text': '[{"step": '}, {'type': 'text', 'text': '"1 a"}]'}]
    file.write_text(json.dumps({'init output': parts}), encoding='utf-8')
    assert [row.answer for row in load_recorded_rows(file, 'tool_usage', 'zh')] == ['[{"step": "1 a"}]']
    file.write_text(json.dumps({'init output': [*parts, {'type': 'image_url'}]}), encoding='utf-8')
    with pytest.raises(DataError, match=r"answers.json: record '0': its answer has a part of type 'image_url'"):
        load_recorded_rows(file, 'tool_usage', 'zh')


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ("f(a='x', b='y')", {'a': 'x', 'b': 'y'}),
        ('f()', {}),
        ("f(a='')", {'a': ''}),
        ("f(a='Hello, AI', b=2)", {'a': 'Hello, AI', 'b': '2'}),
        ("f(a='Tom's plan', b='y')", {'a': "Tom's plan", 'b': 'y'}),
        ("f(a='say 'no', then go', b='y')", {'a': "say 'no', then go", 'b': 'y'}),
        ("f(a='x=1, b=2, y', b='z')", {'a': 'x=1, b=2, y', 'b': 'z'}),
        ("f(a='f(b='1')', b='z')", {'a': "f(b='1')", 'b': 'z'}),
        ('f(a="x, y", b="z")', {'a': 'x, y', 'b': 'z'}),
        ("f(\"a\"='x', b='y')", {'a': 'x', 'b': 'y'}),
        ("f(a='x，y', b='（z）')", {'a': 'x，y', 'b': '（z）'}),
        ('f（a=“x”, b=‘y’）', {'a': 'x', 'b': 'y'}),
        ("f(a=['p', 'q'], b={'c': 1, 'd': 2})", {'a': "['p', 'q']", 'b': "{'c': 1, 'd': 2}"}),
        ('f(a=<found ID>, b=true,c=-1.5)', {'a': '<found ID>', 'b': 'true', 'c': '-1.5'}),
        ("f(a=x y, z='1')", {'a': 'x y', 'z': '1'}),  # a name that is no property
        ("f(a='1\n2', b='3')", {'a': '1\n2', 'b': '3'}),
        ("f(ab='1', a='2')", {'ab': '1', 'a': '2'}),
    ],
)
def test_arguments(text: str, expected: dict[str, str]) -> None:
    found = parse_call(text, ['a', 'b', 'ab', 'c']).arguments
    assert {argument.name: argument.value for argument in found} == expected


@pytest.mark.parametrize('text', ['', 'f', "f(a='x'", "f('x')", "f('x', a='y')", 'some words'])
def test_no_call(text: str) -> None:
    with pytest.raises(CallError):
        parse_call(text, ['a'])
