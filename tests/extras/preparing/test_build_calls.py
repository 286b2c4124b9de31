"""Tool annotations of plans, as people and models write them."""

from __future__ import annotations

import pytest

from opencompass_tooleval.benchmarks.ultratool.data import (
    CallError,
    parse_call,
)


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
