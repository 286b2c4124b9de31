"""Replies of the EasyTool method -> values: as the published runs evaluate them, without evaluating anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from opencompass_tooleval.instructions.method_replies import (
    Unreadable,
    read_check,
    read_choice,
    read_parameters,
    read_parameters_depend,
    read_python,
    read_tasks,
    read_topology,
)

VALUES = [
    ('{"ID": 1}', {'ID': 1}),
    ("  {'ID': '1'}\n", {'ID': '1'}),
    ('\n{"ID": 1}', {'ID': 1}),
    ('[1, (2, 3), {4}, None, True]', [1, (2, 3), {4}, None, True]),
    ('1/31', 0.03225806451612903),
    ('10**0.5', 3.1622776601683795),
    ('[0.01*(1 + 2), 7//2, 7 % 4, -2**2, +1]', [0.03, 3, 3, -4, 1]),
    ('True + 1', 2),
    ('{"a": "b" "c"}', {'a': 'bc'}),
]
UNREADABLE = [
    '',
    'Output: {"ID": 1}',
    '```json\n{"ID": 1}\n```',
    '{"a": true}',
    '{"a": null}',
    '{"a": 1/0}',
    '{"a": 2.0**5000}',
    '{"a": "b" * 3}',
    '{"a": [1] * 3}',
    '{"a": "b" + "c"}',
    '{"a": "%d" % 3}',
    '{**{}}',
    '{[]: 1}',
    '{{1: 2}}',
    'f"{1}"',
    'x',
    'x := 1',
    '[n for n in (1, 2)]',
    'sum([1, 2])',
    '__import__("os").system("true")',
    '(lambda: 1)()',
    'a.b',
    '1 < 2',
    'not 1',
    '~1',
    '1 << 2',
    '9**9**9',
    '9**(9**9)',
    '(-8)**0.5 + 1',
    '0x' + 'f' * 5_000,
    '9' * 5_000,
    '[' * 150 + ']' * 150,
    '(' * 150 + '1' + ')' * 150 + ' if 1 else 2',
    ' \n {"a": 1}',
    '\x00',
    '\ud83d',
]


@pytest.mark.parametrize(('text', 'value'), VALUES, ids=range(len(VALUES)))
def test_values(text: str, value: Any) -> None:
    assert read_python(text) == value


@pytest.mark.parametrize('text', UNREADABLE, ids=range(len(UNREADABLE)))
def test_what_is_no_value_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        read_python(text)


HOSTILE = ['{"a":' * 39_000, '1+' * 99_000 + '1', '9**' * 60_000 + '9', '[' + '9**9999,' * 20_000 + ']', 'x' * 200_001]


@pytest.mark.parametrize('read', [read_choice, read_tasks, read_topology, read_parameters, read_parameters_depend])
def test_hostile_replies_are_unreadable_to_all(read: Callable[[str, str], Any]) -> None:
    for text in HOSTILE:
        assert read_check(text) == 'unreadable'
        for reading in ('official', 'strict'):
            with pytest.raises(Unreadable):
                read(text, reading)


def test_a_choice_ends_at_the_first_bracket() -> None:
    assert read_choice(' {"ID": 4} (power_)', 'official') == {'ID': 4}
    with pytest.raises(Unreadable):
        read_choice('{"ID": (4)}', 'official')
    assert read_choice('{"ID": (4)}', 'strict') == {'ID': 4}


def test_tasks_end_at_the_first_blank_line() -> None:
    assert read_tasks('{"Tasks": ["a"]}\n\nThese are the tasks.', 'official') == ['a']
    assert read_tasks('{"Tasks": "ab"}', 'official') == 'ab'
    for text in ('\n\n{"Tasks": ["a"]}', '{"tasks": ["a"]}', '["a"]'):
        with pytest.raises(Unreadable):
            read_tasks(text, 'official')


DEPENDENCIES = [('-1', [-1]), ('[1, "2"]', [1, 2]), ('"1, 2"', [1, 2]), ('[1.5]', [1]), ('True', [1])]


@pytest.mark.parametrize(('dep', 'ids'), DEPENDENCIES)
def test_dependencies(dep: str, ids: list[int]) -> None:
    (task,) = read_topology(f'[{{"task": "a", "id": 1, "dep": {dep}}}]', 'official')
    assert task == {'task': 'a', 'id': 1, 'dep': ids}


@pytest.mark.parametrize('dep', ['None', '"one"', '[None]', '{}', '[]', '(1,)', '[1e999]'])
def test_no_dependencies(dep: str) -> None:
    with pytest.raises(Unreadable):
        read_topology(f'[{{"task": "a", "id": 1, "dep": {dep}}}]', 'official')


def test_only_the_last_task_needs_a_dependency() -> None:
    assert len(read_topology('[{"dep": []}, {"dep": -1}]', 'official')) == 2


@pytest.mark.parametrize('text', ['{"Parameters": {"a": true}}', '```{"Parameters": {"a": True}}```'])
def test_truth_and_bare_fences_in_parameters(text: str) -> None:
    assert read_parameters(text, 'official') == read_parameters_depend(text, 'official') == {'a': True}


def test_truth_without_a_blank_is_read_in_one_hop_only() -> None:
    text = '{"Parameters": {"a":true,"b":false}}'
    assert read_parameters(text, 'official') == {'a': True, 'b': False}
    with pytest.raises(Unreadable):
        read_parameters_depend(text, 'official')
    with pytest.raises(Unreadable):
        read_parameters('```json\n{"Parameters": {}}\n```', 'official')


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('{"Reason": "it is", "Choice": "Yes."}', 'yes'),
        ("{'Choice': 'no'}", 'no'),
        ('yes', 'unreadable'),
        ('', 'unreadable'),
    ],
)
def test_check(text: str, said: str) -> None:
    assert read_check(text) == said
