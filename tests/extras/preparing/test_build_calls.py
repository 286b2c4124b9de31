"""Tool annotations of plans, as people and models write them."""

from __future__ import annotations

import pytest

from opencompass_tooleval.benchmarks.ultratool.calls import (
    Argument,
    CallError,
    call_name,
    is_parent,
    needs_no_tool,
    parse_call,
    published_value,
)


def arguments(text: str, *properties: str) -> dict[str, str]:
    return {argument.name: argument.value for argument in parse_call(text, properties).arguments}


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        pytest.param("f(a='x', b='y')", {'a': 'x', 'b': 'y'}, id='plain'),
        pytest.param('f()', {}, id='no arguments'),
        pytest.param("f(a='')", {'a': ''}, id='empty value'),
        pytest.param("f(a='Hello, AI', b=2)", {'a': 'Hello, AI', 'b': '2'}, id='comma in a value'),
        pytest.param("f(a='Tom's plan', b='y')", {'a': "Tom's plan", 'b': 'y'}, id='apostrophe'),
        pytest.param("f(a='say 'no', then go', b='y')", {'a': "say 'no', then go", 'b': 'y'}, id='quotes in quotes'),
        pytest.param("f(a='x=1, b=2, y', b='z')", {'a': 'x=1, b=2, y', 'b': 'z'}, id='equals signs in a value'),
        pytest.param("f(a='f(b='1')', b='z')", {'a': "f(b='1')", 'b': 'z'}, id='a call in a value'),
        pytest.param('f(a="x, y", b="z")', {'a': 'x, y', 'b': 'z'}, id='double quotes'),
        pytest.param("f(\"a\"='x', b='y')", {'a': 'x', 'b': 'y'}, id='quoted name'),
        pytest.param("f(a='x，y', b='（z）')", {'a': 'x，y', 'b': '（z）'}, id='full width in values'),
        pytest.param("f(a='x'，b='y')", {'a': 'x', 'b': 'y'}, id='full width between values'),
        pytest.param('f（a=“x”, b=‘y’）', {'a': 'x', 'b': 'y'}, id='full width around everything'),
        pytest.param("f(a=['p', 'q'], b={'c': 1, 'd': 2})", {'a': "['p', 'q']", 'b': "{'c': 1, 'd': 2}"}, id='nested'),
        pytest.param('f(a=<found ID>, b=true,c=-1.5)', {'a': '<found ID>', 'b': 'true', 'c': '-1.5'}, id='bare'),
        pytest.param("f(a=x y, z='1')", {'a': 'x y', 'z': '1'}, id='a name that is no property'),
        pytest.param("f(a='1\n2', b='3')", {'a': '1\n2', 'b': '3'}, id='line break'),
        pytest.param("f(ab='1', a='2')", {'ab': '1', 'a': '2'}, id='a name within a name'),
    ],
)
def test_arguments(text: str, expected: dict[str, str]) -> None:
    assert arguments(text, 'a', 'b', 'ab', 'c') == expected


@pytest.mark.parametrize('text', ['', 'f', "f(a='x'", "f('x')", "f('x', a='y')", 'some words'])
def test_no_call(text: str) -> None:
    with pytest.raises(CallError):
        parse_call(text, ['a'])


def test_the_other_annotations() -> None:
    assert is_parent(None) and is_parent('null') and not is_parent('No tool required')
    assert needs_no_tool('No tool required') and needs_no_tool('不需要工具') and not needs_no_tool("f(a='x')")
    assert call_name(" f.g(a='(')") == 'f.g'


@pytest.mark.parametrize(
    ('raw', 'published', 'right'),
    [
        ("'Hello, AI'", 'Hell', 'Hello, AI'),
        ("'Hello'", 'Hello', 'Hello'),
        ('"Hello"', '"Hello"', 'Hello'),
        ('"Hello, AI"', '"Hello', 'Hello, AI'),
        ("['p', 'q']", "['p'", "['p', 'q']"),
        ('3', '3', '3'),
        ("''", '', ''),
    ],
)
def test_published_damage(raw: str, published: str, right: str) -> None:
    argument = Argument('a', raw)
    assert (published_value(argument), argument.value) == (published, right)
