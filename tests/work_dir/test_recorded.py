"""work_dir/recorded: every format of recorded answers, and faults of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.fixed_models import ReplayModel
from opencompass_tooleval.models.model_calls import ask
from opencompass_tooleval.work_dir.recorded import RecordedAnswers, load_recorded

ROWS = [{'record_id': 'b', 'prediction': 'two\u2028'}, {'record_id': 'a', 'prediction': 'one'}]


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), encoding='utf-8')
    return path


def json_lines(path: Path, items: list[Any]) -> Path:
    path.write_text(''.join(json.dumps(item, ensure_ascii=False) + '\n' for item in items), encoding='utf-8')
    return path


def folder(path: Path, items: dict[str, Any]) -> Path:
    path.mkdir()
    for name, item in items.items():
        write(path / f'{name}.json', item)
    (path / 'notes.txt').write_text('not an answer')
    return path


TWO = 'two\u2028'


@pytest.mark.parametrize('content', [
    pytest.param({'b': {'prediction': TWO}, 'a': {'prediction': 'one'}}, id='id to record'),
    pytest.param({'b': TWO, 'a': 'one'}, id='id to text'),
    pytest.param({'b': {'output': TWO}, 'a': {'response': 'one', 'gold': 'x'}}, id='other keys'),
    pytest.param({'0': ROWS[0], '1': ROWS[1]}, id='positions with record ids'),
    pytest.param({'x': ROWS[0], 'y': ROWS[1]}, id='a record id beats the key'),
    pytest.param(ROWS, id='list with record ids'),
    pytest.param([{'id': 'b', 'answer': TWO}, {'id': 'a', 'answer': 'one'}], id='list with ids'),
])  # fmt: skip
def test_by_id(tmp_path: Path, content: Any) -> None:
    files = [write(tmp_path / 'answers.json', content)]
    if isinstance(content, list):
        files.append(json_lines(tmp_path / 'answers.jsonl', content))
    for recorded in map(load_recorded, files):
        assert (recorded.by_id, recorded.by_position) == ({'a': Answer('one'), 'b': Answer(TWO)}, {})
        assert recorded.answer('a', 7) == Answer('one')
        recorded.in_order(['a', 'b'])


PARTS = [{'type': 'text', 'text': 'one'}, {'type': 'output_text', 'text': ', two'}]


def test_parts_of_a_message_are_one_text(tmp_path: Path) -> None:
    parts, text = ({'prediction': {'role': 'assistant', 'content': content}} for content in (PARTS, 'one, two'))
    rows = {'a': PARTS, 'b': {'prediction': PARTS}, 'c': parts, 'd': text}
    recorded = load_recorded(write(tmp_path / 'answers.json', rows))
    assert recorded.by_id == dict.fromkeys('abcd', Answer('one, two'))
    steps = [{'id': 0, 'name': 'Map.route', 'args': {}}]
    assert load_recorded(write(tmp_path / 'answers.json', {'a': steps})).by_id == {'a': Answer(str(steps))}


@pytest.mark.parametrize('part', [{'type': 'image_url', 'image_url': {}}, {'type': 'text', 'text': ['one']}])
def test_a_part_that_is_no_text_is_refused(tmp_path: Path, part: Any) -> None:
    file = write(tmp_path / 'answers.json', {'a': [*PARTS, part]})
    message = rf"answers.json: record 'a': .*part of type '{part['type']}', which is not text"
    with pytest.raises(DataError, match=message):
        load_recorded(file)


def test_folder_of_one_file_per_id(tmp_path: Path) -> None:
    path = folder(tmp_path / 'answers', {'b_1.2': {'prediction': 'two'}, 'a': {'prediction': 'one', 'meta': 3}})
    assert load_recorded(path).by_id == {'a': Answer('one'), 'b_1.2': Answer('two')}


@pytest.mark.parametrize('content', [
    pytest.param({'0': {'prediction': 'one', 'gold': 'x'}, '1': {'prediction': 'two'}}, id='object'),
    pytest.param(['one', 'two'], id='texts'),
    pytest.param([{'prediction': 'one'}, {'prediction': 'two'}], id='rows'),
])  # fmt: skip
def test_by_position(tmp_path: Path, content: Any) -> None:
    files = [write(tmp_path / 'answers.json', content)]
    if isinstance(content, list):
        files.append(json_lines(tmp_path / 'answers.jsonl', content))
    for recorded in map(load_recorded, files):
        assert (recorded.by_id, recorded.by_position) == ({}, {0: Answer('one'), 1: Answer('two')})
        assert [recorded.answer(record, position).text for position, record in enumerate('ab')] == ['one', 'two']
        recorded.in_order(['a', 'b'])


DOUBLED = "record 'a': it is answered more than once"


@pytest.mark.parametrize(
    ('name', 'text', 'says'),
    [
        ('x.json', '{"a": ', 'cannot be read as JSON'),
        ('x.json', '3', 'the file is neither an object nor a list'),
        ('x.json', '{"a": {"text": "x"}}', "record 'a': it has no prediction"),
        ('x.json', '[{"id": "a", "output": "x"}, "y"]', 'some answers name their record and some do not'),
        ('x.jsonl', '{"id": "a", "output": "x"}\n{', 'cannot be read as JSON'),
        ('x.jsonl', '{"id": "a", "output": "x"}\n{"id": "a", "output": "y"}\n', DOUBLED),
        ('x.json', '[{"id": "a", "output": "x"}, {"id": "a", "output": "x"}]', DOUBLED),
        ('x.json', '{"a": {"prediction": "x"}, "b": "z", "a": {"prediction": "y"}}', "record 'a'"),
        ('x.json', '{"0": "x", "0": "y"}', "record '0'"),
    ],
)
def test_damaged_file(tmp_path: Path, name: str, text: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        load_recorded(path)
    assert str(caught.value).startswith(str(path)) and says in str(caught.value)


def test_what_an_answer_says_besides_its_text(tmp_path: Path) -> None:
    rows: list[tuple[dict[str, Any], Answer]] = [
        ({'prediction': '', 'infra': 'infra:timeout'}, Answer('', 'infra:timeout')),
        ({'prediction': '', 'infra': None}, Answer('')),
        ({'prediction': 'x', 'finish_reason': 'length'}, Answer('x', finish_reason='length')),
        ({'prediction': 'y', 'finish_reason': ['?']}, Answer('y')),
        ({'prediction': {'a': [1, None]}}, Answer("{'a': [1, None]}")),  # parsed: Python text, as in the reference
    ]
    recorded = load_recorded(
        json_lines(tmp_path / 'x.jsonl', [{'id': str(n), **row} for n, (row, _) in enumerate(rows)])
    )
    assert [recorded.answer(str(n), 0) for n in range(len(rows))] == [answer for _, answer in rows]
    for more, says in (({'prediction': None}, 'its answer is null'), ({'infra': True}, "its 'infra' is neither text")):
        with pytest.raises(DataError, match=says) as caught:
            load_recorded(write(tmp_path / 'x.json', {'a': {'prediction': '', **more}}))
        assert "record 'a'" in str(caught.value)


NUMBERED = 'answers without record ids are numbered 0, 1, 2, ...'


def test_answers_are_those_of_the_records(tmp_path: Path) -> None:
    path = tmp_path / 'x.json'
    for content, says in (
        ({'a': 'one'}, "record 'b': no answer is recorded for it"),
        ({'a': 'one', 'c': 'x', 'b': 'two', 'd': 'x'}, "record 'c': 2 answers belong to no record of the data"),
        ({'0': 'one', '2': 'x'}, f'{NUMBERED} in the order of the records; number 1 is missing'),
        ({'1': 'one', '0': 'x'}, f'{NUMBERED} in the order of the records; these are in another order'),
        (['x'], 'it holds 1 answers by position for 2 records'),
        (['x'] * 3, 'it holds 3 answers by position for 2 records'),
        ({}, 'it holds no answers'),
    ):
        with pytest.raises(DataError) as caught:
            load_recorded(write(path, content)).in_order(['a', 'b'])
        assert str(caught.value).startswith(f'{path}: {says}')
    with pytest.raises(DataError, match="record 'b': no answer is recorded for it"):
        load_recorded(write(path, {'a': 'one'})).answer('b', 0)
    assert load_recorded(write(path, {})) == RecordedAnswers(path)
    lines = tmp_path / 'x.jsonl'
    lines.write_text('"one"\n\n"two"\n')
    assert load_recorded(lines).by_position == {0: Answer('one'), 1: Answer('two')}, 'a blank line counts for nothing'


def test_missing_and_damaged_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r'none\.json: the file is missing'):
        load_recorded(tmp_path / 'none.json')
    with pytest.raises(DataError, match=r'the folder holds no \.json files'):
        load_recorded(tmp_path)
    for name in ('x.json', 'x.jsonl'):
        (tmp_path / name).write_bytes(b'{"id": "\xff"}\n')
        with pytest.raises(DataError, match='cannot be read as UTF-8'):
            load_recorded(tmp_path / name)
    path = folder(tmp_path / 'answers', {'a': 'one'})
    (path / 'b.json').write_text('{')
    with pytest.raises(DataError) as caught:
        load_recorded(path)
    assert str(caught.value).startswith(f'{path / "b.json"}: cannot be read as JSON')


def test_record_ids_that_are_numbers_are_no_positions(tmp_path: Path) -> None:
    """T-Eval's own shape, ids to records, for data whose ids are numbers in an order of their own."""
    recorded = load_recorded(write(tmp_path / 'x.json', {'1': {'prediction': 'to 1'}, '0': {'prediction': 'to 0'}}))
    recorded.in_order(['1', '0'])
    assert [recorded.answer('1', 0).text, recorded.answer('0', 1).text] == ['to 1', 'to 0']


def conversation(record_id: str, position: int, source: str) -> Conversation:
    prompt = Conversation([{'role': 'HUMAN', 'prompt': 'the same', 'content': 'the same'}])
    prompt.record_id, prompt.position, prompt.source, prompt.gold_answer = record_id, position, source, ''
    return prompt


def test_repeated_prompts_do_not_matter(tmp_path: Path) -> None:
    """36 records with one prompt, in two data sets, each with an answer of its own."""
    for source in ('first', 'second'):
        rows = {f'r{i}': {'prediction': f'{source} {i}'} for i in reversed(range(36))}
        write(tmp_path / f'{source}.json', rows)
    model = ReplayModel(str(tmp_path / '{dataset}.json'))
    asked = [conversation(f'r{i}', i, source) for i in range(36) for source in ('second', 'first')]
    answers = model.generate(asked, max_out_len=10)
    assert answers == [f'{source} {i}' for i in range(36) for source in ('second', 'first')]
    with pytest.raises(DataError, match=r"second\.json: record 'r36': no answer is recorded"):
        model.generate([conversation('r36', 0, 'second')], max_out_len=10)


GPT_ROW = {'data': {'input': 'q'}, 'init output': 'one'}
OPEN_ROW = {
    'question': {'input': 'q'},
    'original ans': 'g',
    'total output': {'init prompt': 'p', 'init output': ['one']},
}


@pytest.mark.parametrize(
    ('row', 'shape'),
    [
        (GPT_ROW, 'gpt'),
        (OPEN_ROW, 'open'),
        ({'prediction': 'one'}, None),
        ({'prediction': 'one', 'recorded_shape': 'gpt'}, 'gpt'),
        ({'prediction': 'one', 'recorded_shape': 5}, None),
    ],
)
def test_the_published_shape_of_a_row_travels_with_the_answer(tmp_path: Path, row: Any, shape: str | None) -> None:
    file = json_lines(tmp_path / 'first.json', [row, row])
    assert load_recorded(file).by_position == dict.fromkeys((0, 1), Answer('one', recorded_shape=shape))
    (answer,) = ask(ReplayModel(str(file)), [conversation('r', 1, 'first')], max_out_len=10)
    assert (answer.text, answer.recorded_shape) == ('one', shape)


@pytest.mark.parametrize('output', ['text', {}, {'init output': None}, None])
def test_an_open_models_row_without_an_answer_is_refused(tmp_path: Path, output: Any) -> None:
    file = json_lines(tmp_path / 'x.json', [{**OPEN_ROW, 'total output': output}] * 2)
    with pytest.raises(DataError, match="record '0': its answer is null"):
        load_recorded(file)
