"""Recorded calls of each format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.environments.bank import Bank, RecordedCall, write_bank
from opencompass_tooleval.environments.recordings import Source, find_sources, read_sources
from opencompass_tooleval.environments.recordings_cache import function_name

REVIEW = 'Goal: find it\nName: Web.search\nArgs: {args}\nResponse: {response}'


def calls(*paths: Path) -> list[RecordedCall]:
    return [*read_sources(find_sources(paths))]


def review(record_id: str, args: str, response: str, choice: str) -> dict[str, Any]:
    return {
        'meta_data': {'response_format': 'str'},
        'ground_truth': {'answer': choice},
        'origin_prompt': [{'role': 'user', 'content': REVIEW.format(args=args, response=response)}],
    }


def write(file: Path, content: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


def test_review(tmp_path: Path) -> None:
    rows = {
        'query_1_0_11': ("{'q': None, 'n': 1}", 'later', 'A'),
        'query_1_0_2': ('{"q": null}', "{'a': '\nResponse: no'}", 'E'),
        '7': ('no object', '', 'B'),
    }
    file = write(tmp_path / 'review_str_v2.json', {key: review(key, *row) for key, row in rows.items()})
    assert calls(file) == [
        RecordedCall(file.name, '', 'Web.search', 'no object', '', 'internal'),
        RecordedCall(file.name, 'query_1_0', 'Web.search', {'q': None}, "{'a': '\nResponse: no'}", 'unable'),
        RecordedCall(file.name, 'query_1_0', 'Web.search', {'q': None, 'n': 1}, 'later', ''),
    ]


def reason(*steps: tuple[str, str]) -> dict[str, Any]:
    history = [
        {'role': role, 'content': content}
        for step in steps
        for role, content in zip(('assistant', 'function'), step, strict=True)
    ]
    return {
        'meta_data': {'response_format': 'str'},
        'ground_truth': {'thought': 't', 'name': 'n', 'args': {}},
        'origin_prompt': [{'role': 'user', 'content': 'do'}, *history],
    }


def test_steps_that_later_records_repeat_count_once(tmp_path: Path) -> None:
    first = ('Thought: t\nName: Web.search\nArgs: {"q": "a"}', 'one')
    again = (json.dumps({'thought': 't', 'name': 'Web.search', 'args': {'q': 'a'}}), 'two')
    records = {
        'query_1_0_3': reason(first, again, ('I think about it.', 'three')),
        'query_1_0_1': reason(first),
        'query_1_0_2': reason(first, again),
        'query_2_0_1': reason(first),
    }
    file = write(tmp_path / 'reason_str_v2.json', records)
    assert [(call.task, call.name, call.arguments, call.response) for call in calls(file)] == [
        ('query_1_0', 'Web.search', {'q': 'a'}, 'one'),
        ('query_1_0', 'Web.search', {'q': 'a'}, 'two'),
        ('query_2_0', 'Web.search', {'q': 'a'}, 'one'),
    ]


def run(*messages: dict[str, Any]) -> dict[str, Any]:
    details = [{'role': 'tool', 'message': message, 'next': []} for message in messages]
    answer = {'method': 'm', 'total_steps': 1, 'final_answer': 'a', 'answer_details': details}
    return {'query': 'q', 'available_tools': [], 'answer': answer}


def test_trajectories(tmp_path: Path) -> None:
    message = {
        'name': 'search_for_web',
        'arguments': '{"q": 1}',
        'response': '{"error": "Timeout error", "response": ""}',
    }
    finish = {'name': 'Finish', 'arguments': {'return_type': 'give_answer'}, 'response': ''}
    file = tmp_path / 'runs.json.gz'
    file.write_bytes(gzip.compress(json.dumps({'588': run(message, finish)}).encode()))
    assert calls(file) == [
        RecordedCall('runs.json.gz', '588', 'search_for_web', {'q': 1}, message['response'], 'timeout')
    ]


def test_a_cache(tmp_path: Path) -> None:
    stored = {
        "{'q': 'a', 'n': None}": {'error': '', 'response': {'a': [1]}},
        '{"q": true}': 'text',
        'no dict': {'error': 'Rate limit', 'response': ''},
    }
    write(tmp_path / 'cache' / 'Movies' / 'web' / 'search.json', stored)
    write(tmp_path / 'cache' / 'Movies' / 'web' / 'read.json', {})
    found = calls(tmp_path / 'cache')
    assert [(call.file, call.task, call.name) for call in found] == [('cache', '', 'search_for_web')] * 3
    assert [(call.arguments, call.response, call.error) for call in found] == [
        ({'q': 'a', 'n': None}, '{"error": "", "response": {"a": [1]}}', ''),
        ({'q': True}, 'text', ''),
        ('no dict', '{"error": "Rate limit", "response": ""}', 'rate_limit'),
    ]


def test_names_are_cut_as_toolbench_cuts_them() -> None:
    assert function_name('a' * 60, 'tool') == 'a' * 55 + '_for_tool'
    assert function_name('search', 'web') == 'search_for_web'


@pytest.mark.parametrize('key', ['{' * 100_000, '[' * 1_000, "{'a': " + '1+' * 90_000 + '1}', '9' * 5_000, '\udc80'])
def test_a_cache_with_hostile_keys(tmp_path: Path, key: str) -> None:
    write(tmp_path / 'c' / 'a' / 'b' / 'c.json', {key: {'error': '', 'response': 'x' * 300_000}})
    built = write_bank(calls(tmp_path / 'c'), tmp_path / 'bank')
    assert built.calls + built.left_out == 1
    assert sum(Bank(tmp_path / 'bank').files().values()) == built.calls


@pytest.mark.parametrize('content', ['[1]', '{"a": 1}', '{"a": {}}', '{"a": ', '[' * 10_000])
def test_a_damaged_cache_names_its_file(tmp_path: Path, content: str) -> None:
    write(tmp_path / 'c' / 'a' / 'b' / 'broken.json', content)
    with pytest.raises(DataError, match=r'broken\.json'):
        calls(tmp_path / 'c')


def test_a_folder_is_read_but_for_what_is_of_another_format(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / 'a' / 'runs.json', {'1': run({'name': 'n', 'arguments': {}, 'response': 'r'})})
    write(tmp_path / 'a' / 'notes.json', {'some': 'thing'})
    write(tmp_path / 'b' / 'runs.json', {'1': run({'name': 'n', 'arguments': {}, 'response': 'r'})})
    found = find_sources([tmp_path / 'a', tmp_path / 'b' / 'runs.json'])
    assert [source.label for source in found] == ['a/runs.json', 'b/runs.json']
    assert 'notes.json: left out' in caplog.text


def test_what_there_is_not_and_what_is_there_twice(tmp_path: Path) -> None:
    file = write(tmp_path / 'runs.json', {'1': run({'name': 'n', 'arguments': {}, 'response': 'r'})})
    for path, said in (
        (tmp_path / 'none', 'no such file'),
        (write(tmp_path / 'x' / 'a.json', '{}').parent, 'no recorded'),
    ):
        with pytest.raises(DataError, match=said):
            find_sources([path])
    with pytest.raises(ValueError, match='twice'):
        find_sources([file, file])
    assert find_sources([file]) == [Source(file, 'trajectories', 'runs.json')]
