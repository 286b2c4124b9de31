"""Answers are read as lists of steps, and steps are read, compared and found by named rules."""

from __future__ import annotations

from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.data import MAX_STEP_CHARS, Inventory, matches, normalise
from opencompass_tooleval.benchmarks.restbench.reading import MAX_STEPS, read_path
from opencompass_tooleval.core.calls.answer import Answer
from tests.benchmarks.restbench.support import TOOLS

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
