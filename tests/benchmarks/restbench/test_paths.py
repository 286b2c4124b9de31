"""Steps are read, compared and found by named rules."""

from __future__ import annotations

import pytest

from opencompass_tooleval.benchmarks.restbench.paths import MAX_STEP_CHARS, Inventory, matches, normalise
from tests.benchmarks.restbench.support import TOOLS

READ = [
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


@pytest.mark.parametrize(('text', 'method', 'path', 'rules'), [case[1:] for case in READ], ids=[c[0] for c in READ])
def test_reading(text: str, method: str, path: str, rules: tuple[str, ...]) -> None:
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
