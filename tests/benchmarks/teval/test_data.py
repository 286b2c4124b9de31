"""T-Eval's files: their records, and errors with file, record and the command that fixes it."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.teval.data import (
    CallGold,
    InstructGold,
    PlannedCall,
    ReviewGold,
    file_stem,
    find_subset,
    load_samples,
    parse_payload,
    split_stem,
)
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.errors import DataError
from tests.benchmarks.teval.support import real_samples

PROMPT = [{'role': 'system', 'content': 'S'}, {'role': 'user', 'content': 'U'}, {'role': 'function', 'content': 'F'}]
REVIEW = {'origin_prompt': PROMPT, 'template': '', 'ground_truth': {'answer': 'B', 'thought': ''}}
CALL = {'thought': 't', 'name': 'a.b', 'args': {'x': None}}


def written(folder: Path, content: Any, name: str = 'review_str_v2.json') -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding='utf-8')
    return file


def test_prompt_as_json_text_is_the_same(tmp_path: Path) -> None:
    file = written(tmp_path, {'a': REVIEW, 'b': {**REVIEW, 'origin_prompt': json.dumps(PROMPT)}})
    first, second = load_samples(file, 'review_str')
    assert (
        first.messages == second.messages == tuple(Message(message['role'], message['content']) for message in PROMPT)
    )
    assert first.record.gold == ReviewGold('B')


@pytest.mark.parametrize('gold', [CALL, json.dumps(CALL), str(CALL)], ids=['dict', 'json', 'python'])
def test_call_gold_as_dict_json_or_python(gold: Any, tmp_path: Path) -> None:
    raw = {'origin_prompt': PROMPT, 'meta_data': {'response_format': 'json'}, 'ground_truth': gold}
    name = 'reason_retrieve_understand_json'
    (sample,) = load_samples(written(tmp_path, {'a': raw}), name)
    assert sample.record.gold == CallGold('t', 'a.b', {'x': None})
    (text,) = load_samples(written(tmp_path, {'a': {**raw, 'meta_data': {'response_format': 'str'}}}), 'understand_str')
    assert text.record.gold == CallGold('t', 'a.b', "{'x': None}")


def test_instruct_formats(tmp_path: Path) -> None:
    gold = {'action': 'a.b', 'args': {'x': 1}}
    marks = ('thought_start', 'thought_end', 'action_start', 'action_end', 'args_start', 'args_end')
    raw = {
        'j': {'template': {'thought': 't', 'action': 'n', 'args': 'a'}, 'meta_data': {'response_format': 'json'}},
        's': {'template': dict.fromkeys(marks, '|'), 'meta_data': {'response_format': 'string'}},
    }
    content = {key: {**value, 'origin_prompt': PROMPT, 'ground_truth': gold} for key, value in raw.items()}
    json_sample, string_sample = load_samples(written(tmp_path, content), 'instruct')
    assert (json_sample.record.format, string_sample.record.format) == ('json', 'string')
    assert json_sample.record.gold == InstructGold('a.b', {'x': 1})
    assert dict(string_sample.record.template) == dict.fromkeys(marks, '|')


def test_real_data() -> None:
    counts = {subset: len(real_samples(subset)) for subset in ('plan_json', 'plan_str', 'review_str')}
    assert counts == {'plan_json': 553, 'plan_str': 553, 'review_str': 487}
    first = real_samples('plan_json')[0]
    assert first.record.id == 'query_0_1'
    assert isinstance(first.record.gold, tuple)
    assert first.record.gold[0] == PlannedCall(0, 'AirbnbSearch.search_property_by_place', "{'place': 'Berlin'}")
    prompts = [sample.messages for sample in real_samples('review_str')]
    assert len(prompts) - len(set(prompts)) > 0  # so that answers must go by record
    queries = {subset: {sample.record.query for sample in real_samples(subset)} - {''} for subset in counts}
    assert {subset: len(names) for subset, names in queries.items()} == {
        'plan_json': 553, 'plan_str': 553, 'review_str': 196,
    }  # fmt: skip
    assert queries['plan_json'] == queries['plan_str'] >= queries['review_str']
    assert sum(bool(sample.record.query) for sample in real_samples('review_str')) == 236, 'the others have a number'


def test_steps_share_the_query_of_their_id_or_of_their_request(tmp_path: Path) -> None:
    asked = {'query_3_1_0': 'same', 'query_3_1_2': 'other', 'demo_1': 'Book.', 'demo_2': 'Book.'}
    asked |= {'demo_3': 'Cancel.', 'query_3': 'Cancel.', '7': 'query_3_1'}
    content = {
        key: {'origin_prompt': [{'role': 'user', 'content': text}, PROMPT[2]], 'ground_truth': CALL}
        for key, text in asked.items()
    }
    samples = load_samples(written(tmp_path, content), 'reason_str')
    records = [parse_payload(sample.payload, 'reason_str') for sample in samples]
    assert [sample.record for sample in samples] == records
    a, b, c, d, e, f, g = (record.query for record in records)
    assert a == b == 'teval/query_3_1' and c == d and e == f and len({a, c, e, g}) == 4 and all((c, e, g))
    (review,) = load_samples(written(tmp_path, {'demo_1': REVIEW}), 'review_str')
    assert review.record.query == '', 'a review is no step, and its request is an instruction'


PLAN = {'origin_prompt': PROMPT, 'meta': {'prompt_type': 'str', 'API_list': ['a.b']}}
STEP = {'id': 0, 'name': 'a', 'args': {}}
FINISH = {**STEP, 'name': 'FinishAction'}
ACTION = {'action': 'a', 'args': {}}
INSTRUCT = {'origin_prompt': PROMPT, 'meta_data': {'response_format': 'json'}, 'ground_truth': ACTION}
STRING = {**INSTRUCT, 'meta_data': {'response_format': 'string'}}
FAULTS: dict[str, tuple[str, Any, str]] = {
    'no prompt': ('review_str', {'ground_truth': REVIEW['ground_truth']}, "'origin_prompt' is missing"),
    'prompt is not a list': ('review_str', {**REVIEW, 'origin_prompt': {}}, 'not a list of messages'),
    'prompt text is no json': ('review_str', {**REVIEW, 'origin_prompt': '[{'}, 'not JSON'),
    'odd role': ('review_str', {**REVIEW, 'origin_prompt': [{'role': 'narrator', 'content': ''}]}, "'role', one of"),
    'no content': ('review_str', {**REVIEW, 'origin_prompt': [{'role': 'user'}]}, "text 'content'"),
    'no gold': ('review_str', {'origin_prompt': PROMPT}, "'ground_truth' is missing"),
    'choice F': ('review_str', {**REVIEW, 'ground_truth': {'answer': 'F'}}, 'A to E'),
    'json review': ('review_str', {**REVIEW, 'meta_data': {'response_format': 'json'}}, "format 'json'"),
    'meta_data is not an object': ('review_str', {**REVIEW, 'meta_data': 'str'}, "'meta_data' is not an object"),
    'no record': ('review_str', [], 'the record is not a JSON object'),
    'gold text cut': ('reason_str', {**REVIEW, 'ground_truth': '{"thought": '}, 'is not a dict'),
    'gold without thought': ('reason_str', {**REVIEW, 'ground_truth': {'name': 'a'}}, "has no 'thought'"),
    'gold without args': ('understand_str', {**REVIEW, 'ground_truth': {'thought': 'a'}}, "has no 'args'"),
    'plan without steps': ('plan_str', {**PLAN, 'ground_truth': []}, 'not a list of steps'),
    'plan of finish only': ('plan_str', {**PLAN, 'ground_truth': [FINISH]}, 'not a list of steps'),
    'plan without apis': ('plan_str', {**PLAN, 'meta': {}, 'ground_truth': [STEP]}, "'API_list' is missing"),
    'instruct without template': ('instruct', INSTRUCT, "'template' is missing"),
    'instruct with half a template': ('instruct', {**STRING, 'template': {'thought_start': ''}}, 'needs the texts'),
    'instruct without args': ('instruct', {**INSTRUCT, 'ground_truth': {'action': 'a'}}, "a dict 'args'"),
}


@pytest.mark.parametrize('name', FAULTS)
def test_faulty_records_are_named(name: str, tmp_path: Path) -> None:
    subset, raw, said = FAULTS[name]
    file = written(tmp_path, {'query_7': raw})
    with pytest.raises(DataError) as caught:
        load_samples(file, subset)
    for part in (str(file), "'query_7'", said, 'tooleval prepare teval'):
        assert part in str(caught.value)


def test_faulty_files_are_named(tmp_path: Path) -> None:
    for content, said in (('{"a": {"b": 1', 'cut short'), ('[]', 'not a JSON object')):
        file = written(tmp_path, content)
        with pytest.raises(DataError, match=said) as caught:
            load_samples(file, 'review_str')
        assert str(file) in str(caught.value)
        assert 'tooleval prepare teval' in str(caught.value)
    with pytest.raises(DataError, match='the file is missing'):
        load_samples(tmp_path / 'plan_json_v2.json', 'plan_json')


def test_a_doubled_id_is_named(tmp_path: Path) -> None:
    record = json.dumps(REVIEW)
    file = written(tmp_path, f'{{"query_1": {record}, "query_2": {record}, "query_1": {record}}}')
    with pytest.raises(DataError, match=r"'query_1'.*more than once"):
        load_samples(file, 'review_str')


def test_another_count_than_the_published_one_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = written(tmp_path, {'a': REVIEW})
    with caplog.at_level(logging.WARNING):
        load_samples(file, 'review_str', 'v2')
        assert caplog.text == ''  # none is published
        load_samples(file, 'review_str', 'v1')
    assert 'has 1 records; the published v1 of review_str has 487' in caplog.text


def test_each_step_of_a_plan_is_a_record_of_the_steps() -> None:
    golds: list[Any] = [sample.record.gold for sample in real_samples('plan_json')]
    steps = [step for gold in golds for step in gold]
    counts = {name: find_subset(name).counts['v1'] for name in ('instruct', 'reason_str', 'retrieve_str')}
    assert counts['instruct'] == sum(step.name != 'FinishAction' for step in steps)
    assert counts['reason_str'] == counts['retrieve_str'] == len(steps)
    assert round(len(steps) / find_subset('plan_json').counts['v1'], 1) == 5.8  # App. A


def test_the_plans_have_the_published_tools() -> None:
    apis = {name for sample in real_samples('plan_str') for name in sample.record.apis}
    assert len({name.partition('.')[0] for name in apis}) == 15  # Section 2.3
    assert len(apis) == 50


def test_names_of_files() -> None:
    assert file_stem('plan_json', 'v2_subset', 'ZH') == 'plan_json_v2_subset_zh'
    assert split_stem('plan_json_v2_subset_zh') == ('plan_json', 'v2_subset', 'ZH')
    assert split_stem('reason_retrieve_understand_json_v1') == ('reason_retrieve_understand_json', 'v1', 'EN')
    for stem in ('plan_json', 'plan_xml_v1', 'plan_json_v3', 'plan_json_v1_de'):
        with pytest.raises(ValueError, match='not a name of a T-Eval data file'):
            split_stem(stem)
    with pytest.raises(ValueError, match='has no subset'):
        find_subset('plan')
