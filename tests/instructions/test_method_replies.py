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
    ("  {'ID': '1'}\n", {'ID': '1'}),
    ('\n{"ID": 1}', {'ID': 1}),
    ('[1, (2, 3), {4}, None, True]', [1, (2, 3), {4}, None, True]),
    ('1/31', 0.03225806451612903),
    ('[10**0.5, 0.01*(1 + 2), 7//2, 7 % 4, -2**2, +1]', [3.1622776601683795, 0.03, 3, 3, -4, 1]),
    ('True + 1', 2),
]
NO_LITERALS = ('', 'Output: {"ID": 1}', '```json\n{"ID": 1}\n```', '{"a": true}', ' \n {"a": 1}', '\x00', '\ud83d')
NO_NUMBERS = ('1/0', '2.0**5000', '"b" * 3', '[1] * 3', '"b" + "c"', '"%d" % 3', '(-8)**0.5 + 1')
CODE = (
    '{**{}}',
    '{[]: 1}',
    'f"{1}"',
    'x := 1',
    '[n for n in (1, 2)]',
    '__import__("os").system("true")',
    '(lambda: 1)()',
)
OPERATORS = ('a.b', '1 < 2', 'not 1', '~1', '1 << 2')
LARGE = ('9**9**9', '9**(9**9)', '0x' + 'f' * 5_000, '9' * 5_000, '[' * 150 + ']' * 150)


@pytest.mark.parametrize(('text', 'value'), VALUES, ids=range(len(VALUES)))
def test_values(text: str, value: Any) -> None:
    assert read_python(text) == value


@pytest.mark.parametrize('texts', [NO_LITERALS, NO_NUMBERS, CODE, OPERATORS, LARGE], ids=lambda texts: texts[-1][:9])
def test_what_is_no_value_is_unreadable(texts: tuple[str, ...]) -> None:
    for text in texts:
        with pytest.raises(Unreadable):
            read_python(text)


HOSTILE = ['{"a":' * 3_900, '1+' * 9_900 + '1', '9**' * 6_000 + '9', '[' + '9**9999,' * 2_000 + ']', 'x' * 200_001]


@pytest.mark.parametrize('read', [read_choice, read_tasks, read_topology, read_parameters, read_parameters_depend])
def test_hostile_replies_are_unreadable_to_all(read: Callable[[str, str], Any]) -> None:
    for text in HOSTILE:
        assert read_check(text) == 'unreadable'
        for reading in ('official', 'strict'):
            with pytest.raises(Unreadable):
                read(text, reading)


TRUE = '{"Parameters": {"a": true}}'
WITHOUT_BLANK = '{"Parameters": {"a":true,"b":false}}'


@pytest.mark.parametrize(('read', 'reading', 'text', 'value'), [
    (read_choice, 'official', ' {"ID": 4} (power_)', {'ID': 4}),
    (read_choice, 'official', '{"ID": (4)}', None),
    (read_choice, 'strict', '{"ID": (4)}', {'ID': 4}),
    (read_tasks, 'official', '{"Tasks": ["a"]}\n\nThese are the tasks.', ['a']),
    (read_tasks, 'official', '{"Tasks": "ab"}', 'ab'),
    (read_tasks, 'official', '\n\n{"Tasks": ["a"]}', None),
    (read_tasks, 'official', '{"tasks": ["a"]}', None),
    (read_tasks, 'official', '["a"]', None),
    (read_parameters, 'official', TRUE, {'a': True}),
    (read_parameters_depend, 'official', TRUE, {'a': True}),
    (read_parameters_depend, 'official', f'```{TRUE}```', {'a': True}),
    (read_parameters, 'official', WITHOUT_BLANK, {'a': True, 'b': False}),  # of one hop
    (read_parameters_depend, 'official', WITHOUT_BLANK, None),
    (read_parameters, 'official', '```json\n{"Parameters": {}}\n```', None),
])  # fmt: skip
def test_replies_end_and_are_repaired_as_the_published_runs_do(
    read: Callable[[str, str], Any], reading: str, text: str, value: Any
) -> None:
    if value is None:
        with pytest.raises(Unreadable):
            read(text, reading)
    else:
        assert read(text, reading) == value


DEPENDENCIES = [('-1', [-1]), ('[1, "2"]', [1, 2]), ('"1, 2"', [1, 2]), ('[1.5]', [1]), ('True', [1])]
NO_DEPENDENCIES = ('None', '"one"', '[None]', '{}', '[]', '[1e999]')


def test_dependencies() -> None:
    for dep, ids in DEPENDENCIES:
        (task,) = read_topology(f'[{{"task": "a", "id": 1, "dep": {dep}}}]', 'official')
        assert task == {'task': 'a', 'id': 1, 'dep': ids}
    for dep in NO_DEPENDENCIES:
        with pytest.raises(Unreadable):
            read_topology(f'[{{"task": "a", "id": 1, "dep": {dep}}}]', 'official')
    assert len(read_topology('[{"dep": []}, {"dep": -1}]', 'official')) == 2, 'only the last task needs one'


def test_check() -> None:
    replies = ('{"Reason": "it is", "Choice": "Yes."}', "{'Choice': 'no'}", 'yes', '')
    assert list(map(read_check, replies)) == ['yes', 'no', 'unreadable', 'unreadable']
