"""Recorded calls of each format."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.toolbench.answers import load_answers
from opencompass_tooleval.agents.toolbench.judged_answer import load_judged_answers
from opencompass_tooleval.benchmarks.toolbench.data import load_final_answers, read_runs
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text import json_members
from opencompass_tooleval.environments.bank import Bank, RecordedCall, write_bank
from opencompass_tooleval.environments.recordings import Source, find_sources, read_sources
from tests.growth import in_linear_time

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
    roles = ('assistant', 'function')
    history = [{'role': roles[n], 'content': content} for step in steps for n, content in enumerate(step)]
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


def test_a_cache(tmp_path: Path) -> None:
    """Laid out as StableToolBench's server writes it; a tool's folder may lack its category."""
    stored = {
        "{'q': 'a', 'n': None}": {'error': '', 'response': {'a': [1]}},
        '{"q": true}': 'text',
        'no dict': {'response': '\u00e9', 'error': 'Rate limit'},
    }
    write(tmp_path / 'cache' / 'News_Media' / 'web_for_search_for_News_Media' / 'find_it.json', stored)
    write(tmp_path / 'cache' / 'Movies' / 'web' / 'search.json', {'{}': {'error': '', 'response': ''}})
    write(tmp_path / 'cache' / 'Movies' / 'web_for_Data' / 'search.json', {'{}': {'response': 1}})
    write(tmp_path / 'cache' / 'Movies' / 'web' / 'read.json', {})
    found = calls(tmp_path / 'cache')
    assert {(call.file, call.task) for call in found} == {('cache', '')}
    assert [(call.name, call.arguments, call.response, call.error) for call in found] == [
        ('search_for_web', {}, '{"error": "", "response": ""}', 'empty'),
        ('search_for_web_for_Data', {}, '{"response": 1, "error": ""}', ''),
        ('find_it_for_web_for_search', {'q': 'a', 'n': None}, '{"error": "", "response": {"a": [1]}}', ''),
        ('find_it_for_web_for_search', {'q': True}, 'text', ''),
        ('find_it_for_web_for_search', 'no dict', '{"response": "\\u00e9", "error": "Rate limit"}', 'rate_limit'),
    ]


def nested_runs(**steps: int) -> str:
    """A file of runs with so many steps, each below the one before, as ToolBench writes them."""
    return '{' + ', '.join(f'"{name}": {_nested_run(count)}' for name, count in steps.items()) + '}'


def _nested_run(steps: int) -> str:
    messages = [{'name': 'search', 'arguments': json.dumps({'q': n}), 'response': str(n)} for n in range(steps)]
    nodes: list[dict[str, Any]] = [{'role': 'system', 'message': ''}, {'role': 'user', 'message': ''}]
    nodes += [{'role': 'tool', 'message': message} for message in messages]
    nested = ''.join(f'[{json.dumps(node)[:-1]}, "next": ' for node in nodes) + '[]' + '}]' * len(nodes)
    answer = f'{{"method": "m", "total_steps": {steps}, "final_answer": "a", "answer_details": {nested}}}'
    return f'{{"query": "q", "available_tools": [], "answer": {answer}}}'


def test_deep_runs_are_read(tmp_path: Path) -> None:
    steps = 500
    file = write(tmp_path / 'runs.json', nested_runs(a=2, b=steps, c=1))
    found = [(call.task, call.arguments['q']) for call in calls(file)]
    assert found == [('a', 0), ('a', 1), *(('b', number) for number in range(steps)), ('c', 0)]
    assert [len(run.nodes) for run in list(read_runs(file))] == [4, steps + 2, 3]
    assert [len(answer.trajectory.steps) for answer in load_answers(file)] == [2, steps, 1]
    assert [len(answer.nodes) for answer in load_judged_answers(file).values()] == [2, steps, 1]
    assert len(load_final_answers(file)) == 3


@pytest.mark.parametrize(('steps', 'message'), [(501, '500 steps'), (700, '1200 levels')])
def test_runs_that_are_too_deep_or_there_twice_say_so(tmp_path: Path, steps: int, message: str) -> None:
    file = write(tmp_path / 'runs.json', nested_runs(a=1, deep=steps))
    for load in (calls, lambda file: list(read_runs(file)), load_answers, load_judged_answers, load_final_answers):
        with pytest.raises(DataError, match=rf"runs\.json: record 'deep': .*nested deeper than {message}"):
            load(file)

    text = nested_runs(a=1)
    with pytest.raises(DataError, match=r"record 'a': the query occurs twice in the file"):
        calls(write(tmp_path / 'runs.json', f'{text[:-1]}, {text[1:]}'))


LARGE: dict[str, tuple[str, str, str, str]] = {
    'lines': ('a.json', '', '{"id": 1, "query": "where", "answer": "there"}\n', ''),
    'runs': ('a.json', '', '{"1": {"answer": {"answer_details": []}}}\n', ''),
    'a cache of zeros': ('a/b/c.json', '{"a": [', '0,', '0]}'),
}
"""Where a file is, how it begins, what it repeats, and how it ends."""


@pytest.mark.parametrize('name', LARGE)
def test_large_files_are_refused_in_linear_time_and_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(json_members, 'MAX_MEMBER', 1_000_000)
    place, start, unit, end = LARGE[name]
    source = tmp_path if '/' in place else tmp_path / place

    def refuse(megabytes: int) -> None:
        write(tmp_path / place, start + unit * (megabytes * 1_000_000 // len(unit)) + end)
        with pytest.raises(DataError, match=place):
            calls(source)

    in_linear_time(refuse, 10, 5)
    refuse(5)
    tracemalloc.start()
    with pytest.raises(DataError):
        calls(source)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000, 'the file has 5 MB, and as a list of zeros four times as much'


@pytest.mark.parametrize('key', ['{' * 100_000, "{'a': " + '1+' * 90_000 + '1}', '9' * 5_000, '\udc80'])
def test_a_cache_with_hostile_keys(tmp_path: Path, key: str) -> None:
    write(tmp_path / 'c' / 'a' / 'b' / 'c.json', {key: {'error': '', 'response': 'x' * 300_000}})
    built = write_bank(calls(tmp_path / 'c'), tmp_path / 'bank')
    assert built.calls + built.left_out == 1
    assert sum(Bank(tmp_path / 'bank').files().values()) == built.calls


@pytest.mark.parametrize('content', ['[1]', '{"a": 1}', '{"a": {}}', '{"a": '])
def test_a_damaged_cache_names_its_file(tmp_path: Path, content: str) -> None:
    write(tmp_path / 'c' / 'a' / 'b' / 'broken.json', content)
    with pytest.raises(DataError, match=r'broken\.json'):
        calls(tmp_path / 'c')


def test_a_folder_is_read_but_for_what_is_of_another_format(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / 'a' / 'runs.json', nested_runs(a=1))
    write(tmp_path / 'a' / 'notes.json', {'some': 'thing'})
    write(tmp_path / 'b' / 'runs.json', nested_runs(a=1))
    found = find_sources([tmp_path / 'a', tmp_path / 'b' / 'runs.json'])
    assert [source.label for source in found] == ['a/runs.json', 'b/runs.json']
    assert 'notes.json is left out' in caplog.text


def test_what_there_is_not_and_what_is_there_twice(tmp_path: Path) -> None:
    file = write(tmp_path / 'runs.json', nested_runs(a=1))
    with pytest.raises(DataError, match='the file or folder does not exist'):
        find_sources([tmp_path / 'none'])
    with pytest.raises(DataError, match='no recorded'):
        find_sources([write(tmp_path / 'x' / 'a.json', '{}').parent])
    with pytest.raises(ValueError, match='twice'):
        find_sources([file, file])
    assert find_sources([file]) == [Source(file, 'trajectories', 'runs.json')]
