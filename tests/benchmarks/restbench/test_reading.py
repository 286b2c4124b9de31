"""Answers are parsed by named rules: steps as text, and, for EasyTool's prompt, numbers as its script reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.data import (
    MAX_STEP_CHARS,
    Inventory,
    Record,
    gold_choices,
    load_records,
    matches,
    normalise,
    open_toolbox,
    parse_payload,
)
from opencompass_tooleval.benchmarks.restbench.prompts import PUBLISHED, PUBLISHED_SYSTEM, published_prompt
from opencompass_tooleval.benchmarks.restbench.reading import MAX_STEPS, read_choices, read_path
from opencompass_tooleval.benchmarks.restbench.scoring import score_answer
from opencompass_tooleval.benchmarks.restbench.task import RestBenchDialogues
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.literal_reply import TRIES
from opencompass_tooleval.core.errors import DataError
from tests.benchmarks.hostile import HOSTILE
from tests.benchmarks.restbench.support import DEMO, SHARED, TOOLS
from tests.benchmarks.support import digest
from tests.instructions.shared_data import real
from tests.run_alone import run_alone

AB = ['GET /a', 'PUT /b/{id}']
JSON = '["GET /a", "PUT /b/{id}"]'

READ = [
    ('a JSON list', JSON, 'literal', AB),
    ('a Python list', "['GET /a', 'PUT /b/{id}']", 'literal', AB),
    ('an empty list', '[]', 'literal', []),
    ('fenced in prose', f'Here it is:\n```\n{JSON}\n```\nThat is all.', 'fence', AB),
    ('in prose', f'The path is {JSON}.', 'prose', AB),
    ('the last of several lists', f'First ["GET /x"], better {JSON} [1].', 'prose', AB),
    ('within an object', f'{{"path": {JSON}}}', 'prose', AB),
    ('arrows behind a number, in prose', 'Path:\n1. GET /a → PUT /b/{id}\n', 'arrows', AB),
    ('numbered lines', '1. GET /a\n2) PUT /b/{id}', 'lines', AB),
    ('steps and bullets', 'Plan:\n- Step 1: find it\n- GET /a\nStep 2: PUT /b/{id}', 'lines', AB),
    ('one step alone', 'GET /a', 'lines', ['GET /a']),
    ('behind thoughts', f'<think>["GET /x"]</think>{JSON}', 'literal', AB),
    ('a list to begin with', AB, 'value', AB),
]


@pytest.mark.parametrize(
    ('answer', 'parse_method', 'steps'), [case[1:] for case in READ], ids=[case[0] for case in READ]
)
def test_reading(answer: Any, parse_method: str, steps: list[str]) -> None:
    parsed = read_path(answer)
    assert (parsed.value, parsed.parse_method, parsed.reason) == (steps, parse_method, '')


UNREAD = [
    ('empty', ' \n', 'answer:empty'),
    ('prose', 'I would search for the movie.', 'parse:no_brackets'),
    ('an object', '{"a": 1}', 'parse:not_a_list'),
    ('a number', '5', 'parse:not_a_list'),
    ('objects', '[{"tool": "GET /a"}]', 'parse:not_text'),
    ('too many', str(['GET /a'] * (MAX_STEPS + 1)), 'parse:too_many_calls'),
    ('too deep', '[' * 90_000 + ']' * 90_000, 'parse:not_json'),
    ('ten megabytes', 'GET /a\n' * 1_500_000, 'answer:too_long'),
    ('thoughts without end', '<think>["GET /a"]', 'answer:truncated_reasoning'),
    ('a failure', Answer('', 'infra:timeout'), 'infra:timeout'),
]


@pytest.mark.parametrize(('answer', 'reason'), [case[1:] for case in UNREAD], ids=[case[0] for case in UNREAD])
def test_what_cannot_be_read(answer: Any, reason: str) -> None:
    parsed = read_path(answer)
    assert (parsed.value, parsed.parse_method, parsed.reason) == (None, 'none', reason)


def test_the_longest_path() -> None:
    assert read_path(str(['GET /a'] * MAX_STEPS)).ok


STEPS = [
    ('as it is', 'GET /movie/{movie_id}', 'GET', '/movie/{movie_id}', ()),
    ('blanks around', ' \tGET /search/movie \n', 'GET', '/search/movie', ('blank',)),
    ('quotes and bold', '**"GET /search/movie"**', 'GET', '/search/movie', ('marks',)),
    ('closing mark before more', '`GET /search/movie`: finds it', 'GET', '/search/movie', ('marks', 'words')),
    ('lower case', 'get /search/movie', 'GET', '/search/movie', ('method_case',)),
    ('no method', '/search/movie', '', '/search/movie', ('no_method',)),
    ('words behind', 'GET /search/movie to get its id', 'GET', '/search/movie', ('words',)),
    ('query', 'GET /search/tv?query=Friends&page=1', 'GET', '/search/tv', ('query',)),
    ('query with blanks', 'GET /search/tv?query=Black Mirror', 'GET', '/search/tv', ('words', 'query')),
    ('slash and query', 'GET /search/tv/?page=2', 'GET', '/search/tv', ('query', 'slash')),
    ('case of the path stays', 'GET /Search/TV', 'GET', '/Search/TV', ()),
    ('a URL is not a path', 'GET https://host/3/search/tv', 'GET', '', ()),
    ('no such method', 'FETCH /search/tv', '', '', ()),
    ('prose', 'search for the movie', '', '', ()),
    ('too long', 'GET /' + 'a' * MAX_STEP_CHARS, '', '', ('too_long',)),
]


@pytest.mark.parametrize(('text', 'method', 'path', 'rules'), [case[1:] for case in STEPS], ids=[c[0] for c in STEPS])
def test_reading_steps(text: str, method: str, path: str, rules: tuple[str, ...]) -> None:
    step = normalise(text)
    assert (step.method, step.path, step.rules) == (method, path, rules)


MATCHES = [
    ('several ids', 'GET /tv/{tv_id}/season/{season_number}', 'GET /tv/9/season/2', True),
    ('query and slash', 'GET /movie/{movie_id}', 'GET /movie/456/?language=en', True),
    ('no method on one side', 'GET /movie/{movie_id}', '/movie/456', True),
    ('no method on the other', '/movie/{movie_id}', 'GET /movie/456', True),
    ('no id', 'GET /movie/{movie_id}/keywords', 'GET /movie//keywords', False),
    ('id left out', 'GET /movie/{movie_id}/keywords', 'GET /movie/keywords', False),
    ('one segment more', 'GET /movie/{movie_id}', 'GET /movie/456/keywords', False),
    ('a slash in the id', 'GET /movie/{movie_id}', 'GET /movie/4/56', False),
    ('a placeholder for a literal part', 'GET /movie/popular', 'GET /movie/{movie_id}', False),
    ('empty braces are no placeholder', 'GET /a/{}', 'GET /a/5', False),
    ('no path', 'GET /search', 'GET', False),
]


@pytest.mark.parametrize(('template', 'concrete', 'same'), [case[1:] for case in MATCHES], ids=[c[0] for c in MATCHES])
def test_matching(template: str, concrete: str, same: bool) -> None:
    assert matches(template, concrete) is same


@pytest.mark.parametrize(
    ('text', 'tool'),
    [
        ('GET /movie/456/credits', 'GET /movie/{movie_id}/credits'),
        ('POST /search/movie', None),
        ('the credits', None),
    ],
)
def test_finding(text: str, tool: str | None) -> None:
    assert Inventory(TOOLS).find(normalise(text)) == tool


def test_the_earliest_literal_part_wins() -> None:
    tools = Inventory(['GET /{a}/b', 'GET /a/{b}', 'GET /{a}/{b}'])
    assert tools.find(normalise('GET /a/b')) == 'GET /a/{b}'
    assert tools.find(normalise('GET /x/b')) == 'GET /{a}/b'
    assert tools.find(normalise('GET /x/y')) == 'GET /{a}/{b}'


@pytest.mark.parametrize('names', [['GET /a', 'GET /a'], ['/a'], ['GET /a/'], ['GET a'], ['get /a']])
def test_inventories_are_checked(names: list[str]) -> None:
    with pytest.raises(ValueError, match=r'not a method and path|twice'):
        Inventory(names)


NUMBERS = dict(enumerate(TOOLS, start=1))
DOCUMENT, INSTRUCTIONS = DEMO / 'specs' / 'tmdb_oas.json', DEMO / 'tmdb_tool.json'


def chosen(*ids: Any) -> str:
    return repr([{'Task': 'a task', 'ID': number} for number in ids])


def record(*path: str) -> Record:
    return Record('r', 'a request', path, path, 'official', TOOLS, tuple(NUMBERS))


@pytest.mark.parametrize(
    ('answer', 'path', 'reason', 'unknown'),
    [
        (chosen(1, 4), [1, 4], '', []),
        ('[{"Task": "x", "ID": 1}, {"Task": "y", "ID": -1}]', [1], '', []),
        (chosen([1, 2], 3), [1, 2, 3], '', []),
        ('  [{"ID": 2}]\n\nThese are the tools [{"ID": 1}].', [2], '', []),
        ('<think>[{"ID": 1}]\n\n</think>[{"ID": 2}]', [2], '', []),
        (chosen(), [], '', []),
        *((text, [], '', []) for text in ('""', "''", '{}', '()')),  # the script goes over no items
        (chosen(1, 99), [1], '', ['99']),  # skipped
        (chosen('1'), [], 'id:quoted', []),
        (chosen([1, '2']), [], 'id:quoted', []),
        (chosen(99, [1, 98]), [], 'id:unknown_in_list', ['99', '98']),
        (chosen('one'), [], 'id:not_a_number', []),
        ('[{"ID": 1e999}]', [], 'id:not_a_number', []),
        ('[{"Task": "x"}]', [], 'id:missing', []),
        ('{"Task": "x", "ID": 1}', [], 'parse:not_a_list', []),
        (chosen(*[1] * 101), [], 'parse:too_many_calls', []),
        (chosen([1] * 101), [], 'parse:too_many_calls', []),
        ('```json\n[{"ID": 1}]\n```', [], 'parse:not_json', []),
        ('', [], 'answer:empty', []),
        (['GET /search/movie'], [], 'parse:not_text', []),
        (Answer('', 'infra:timeout'), [], 'infra:timeout', []),
    ],
)
def test_choices(answer: Any, path: list[int], reason: str, unknown: list[str]) -> None:
    read = read_choices(answer, NUMBERS)
    assert (list(read.path), read.reason, list(read.unknown)) == ([NUMBERS[n] for n in path], reason, unknown)


def test_scores() -> None:
    gold = record('GET /search/movie', 'GET /movie/{movie_id}')
    scores = [
        score_answer(gold, answer)
        for answer in (chosen(1, 2, 4), chosen(4, 1), chosen(1, 99, 4), chosen(1, '4'), 'I cannot', chosen(1))
    ]
    assert [score.values['correct_path_rate'] for score in scores] == [1, 0, 1, 0, 0, 0]
    assert [score.values['tool_name_error_rate'] for score in scores] == [0, 0, 1, 0, 0, 0]
    reasons = ['ok', 'calls:order', 'name:unknown_tool', 'id:quoted', 'answer:refused', 'calls:missing']
    assert [score.reason for score in scores] == reasons
    assert scores[2].to_detail()['unknown_tools'] == ['99'] and scores[2].rules == ('skipped',)


def test_hostile_choices() -> None:
    for text in HOSTILE.values():
        read = read_choices(text, NUMBERS)
        assert read.reason and not read.path
        json.dumps(score_answer(record(TOOLS[0]), text).to_detail(), allow_nan=False).encode('utf-8')


def test_asks_again_until_it_can_be_read() -> None:
    row = {'messages': json.dumps([{'role': 'user', 'content': 'x'}]), 'gold_answer': chosen(1)}
    assert run_alone(RestBenchDialogues()(row), ['Sure!', '```\n[]\n```', chosen('1')]) == Answer(chosen('1'))
    assert run_alone(RestBenchDialogues()(row), ['no'] * TRIES) == Answer('no')
    assert run_alone(RestBenchDialogues(tries=1)(row), ['no']) == Answer('no')
    with pytest.raises(ValueError, match='tries must be at least 1'):
        next(RestBenchDialogues(tries=0)(row))


@pytest.mark.official('RestBench', 'the prompt that chooses tools')
def test_prompt_is_the_published_one() -> None:
    """The digest is that of ``restbench.task_decompose`` in ``expected/easytool/prompts.json``, both its messages."""
    filled = PUBLISHED.format(tools='{Tool_dic}', query='{question}')
    text = f'{PUBLISHED_SYSTEM}\n{filled}'
    assert digest(text) == '2e90b4c772ec4852'
    expected = SHARED / 'expected' / 'easytool' / 'prompts.json'
    if expected.exists():
        system, human = json.loads(expected.read_text(encoding='utf-8'))['restbench']['task_decompose']
        assert system == PUBLISHED_SYSTEM
        assert filled == human.replace('{{', '{').replace('}}', '}')


def test_prompt_of_the_published_tools() -> None:
    file = real('easytool/tmdb_tool.json')
    tools = open_toolbox(real('restbench/specs/tmdb_oas.json'), file, 'easytool')
    published = json.loads(file.read_text(encoding='utf-8'))
    text = published_prompt(tools.entries, 'Who {is} it?')[1].content
    assert f'following tools:\n{published}You need' in text
    assert "This is the user's question: Who {is} it?\nOutput:" in text
    assert dict(zip(tools.inventory.names, tools.ids, strict=True)) == {t['tool_usage']: t['ID'] for t in published}


def test_oracle_answers_with_numbers() -> None:
    tools = open_toolbox(DOCUMENT, INSTRUCTIONS, 'easytool')
    records, _ = load_records(DEMO / 'tmdb.json', 'tmdb', tools.inventory, ids=tools.ids)
    for one in records:
        again = parse_payload(one.to_payload())
        assert again == one
        assert score_answer(again, gold_choices(again)).reason == 'ok'


def test_faults_of_instructions_and_options(tmp_path: Path) -> None:
    entries = json.loads(INSTRUCTIONS.read_text(encoding='utf-8'))
    file = tmp_path / 'tools.json'
    for number, said in ((1, "two tools have the same 'ID'"), ('two', "'ID' must be a number from 0")):
        entries[1]['ID'] = number
        file.write_text(json.dumps(entries), encoding='utf-8')
        with pytest.raises(DataError, match=said):
            open_toolbox(DOCUMENT, file, 'easytool')
    unnumbered = [{key: value for key, value in entry.items() if key != 'ID'} for entry in entries]
    file.write_text(json.dumps(unnumbered), encoding='utf-8')
    assert sorted(open_toolbox(DOCUMENT, file, 'easytool').ids) == list(range(1, len(entries) + 1))
    with pytest.raises(ValueError, match="methods names, easytool, function_calling, not 'paths'"):
        open_toolbox(DOCUMENT, INSTRUCTIONS, 'paths')
    with pytest.raises(ValueError, match="method 'easytool' needs instructions"):
        open_toolbox(DOCUMENT, None, 'easytool')
