"""Names that servers refuse are sent as others, and come back."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.calls.tool_set import MAX_DESCRIPTION, ToolSchema, ToolSet, describe_tool

ALLOWED = re.compile(r'[A-Za-z_][A-Za-z0-9_-]{0,63}')
OBJECT = {'type': 'object', 'properties': {}}


def tool_set(*names: str) -> ToolSet:
    return ToolSet([ToolSchema(name, 'what it does', OBJECT) for name in names])


@given(st.lists(st.text(max_size=80), unique=True, max_size=20))
def test_names_come_back_whatever_they_are(names: list[str]) -> None:
    tools = tool_set(*names)
    sent = [tool['function']['name'] for tool in tools.as_request()]
    assert all(ALLOWED.fullmatch(name) for name in sent)
    assert len(set(sent)) == len(names)
    assert [tools.original_name(name) for name in sent] == names == [tool.name for tool in tools.tools]
    assert [tools.sent_name(name) for name in names] == sent


@pytest.mark.parametrize(('names', 'sent'), [
    (['search', 'a-b'], ['search', 'a-b']),
    (['A.b', 'A_b', 'A b'], ['A_b_2', 'A_b', 'A_b_3']),
    (['GET /movie/{id}', 'GET /movie/id'], ['GET_movie_id', 'GET_movie_id_2']),
    (['搜索', '天气'], ['tool', 'tool_2']),
    (['3d'], ['_3d']),
    (['x' * 70, 'x' * 71], ['x' * 64, 'x' * 62 + '_2']),
])  # fmt: skip
def test_names_stay_readable(names: list[str], sent: list[str]) -> None:
    assert [tool['function']['name'] for tool in tool_set(*names).as_request()] == sent


INTEGER, TEXT = {'type': 'integer'}, {'type': 'string'}


@pytest.mark.parametrize(('schema', 'sent'), [
    ({}, OBJECT),
    (OBJECT | {'$schema': 'http://json-schema.org/draft-07/schema#', 'required': None}, OBJECT),
    (TEXT | {'type': 'array'}, {'type': 'array', 'items': {}}),
    ({'type': ['array', 'null']}, {'type': ['array', 'null'], 'items': {}}),
    ({'description': 'd', 'default': None}, {'description': 'd', 'default': None} | TEXT),
    ({'default': 3}, {'default': 3} | INTEGER),
    ({'default': [1]}, {'default': [1], 'type': 'array', 'items': {}}),
    ({'enum': [1, 2]}, {'enum': [1, 2]} | INTEGER),
    ({'enum': [1, 'a']}, {'enum': [1, 'a']}),
    ({'properties': {'a': {}}}, {'type': 'object', 'properties': {'a': TEXT}}),
    ({'anyOf': [{'type': 'array'}, TEXT]}, {'anyOf': [{'type': 'array', 'items': {}}, TEXT]}),
    ({'$ref': '#/$defs/P'}, {'$ref': '#/$defs/P'}),
])  # fmt: skip
def test_schemas_are_completed_in_requests_and_not_for_scores(schema: dict[str, Any], sent: dict[str, Any]) -> None:
    is_root = schema == {} or '$schema' in schema
    root = schema if is_root else OBJECT | {'properties': {'type': schema}, '$defs': {'items': schema}}
    tools = ToolSet([ToolSchema('f', 'what it does', deepcopy(root))])
    (tool,) = tools.as_request()
    parameters = tool['function']['parameters']
    assert parameters == sent if is_root else parameters['properties'] == {'type': sent}
    assert is_root or parameters['$defs']['items'].get('type') == (schema.get('type'))
    assert tools.schemas['f'] == root


def test_a_name_that_loses_letters_stands_in_the_description() -> None:
    chinese, english = (tool['function']['description'] for tool in tool_set('搜索', 'A.b').as_request())
    assert (chinese, english) == ('搜索: what it does', 'what it does')
    name = 'ab.' * 30  # no letter is lost by being cut, but an end is
    assert tool_set(name).as_request()[0]['function']['description'] == f'{name}: what it does'
    deep: dict[str, Any] = {}
    for _ in range(50_000):
        deep = {'items': deep}
    assert ToolSet([ToolSchema('f', '', {'properties': {'a': deep}})]).as_request()


RETURNED = {'type': 'object', 'properties': {'état': {'type': 'string', 'description': 'Whether it went well.'}}}


def test_what_a_tool_returns_stands_in_its_description_within_what_servers_take() -> None:
    assert describe_tool('book', 'Books.', RETURNED) == (
        'Books.\nReturns: {"type": "object", "properties": '
        '{"état": {"type": "string", "description": "Whether it went well."}}}'
    )
    assert describe_tool('book', '', [{'name': 'état'}]) == 'Returns: [{"name": "état"}]'
    for nothing in (None, {}, []):
        assert describe_tool('book', 'Books.', nothing) == 'Books.'
    fields = {f'field{place}': {'type': 'string', 'description': 'word ' * 10} for place in range(15)}
    described = describe_tool('book', 'Books.', {'properties': {**fields, 'description': {'type': 'string'}}})
    returned = json.loads(described.removeprefix('Books.\nReturns: '))['properties']
    assert returned == {name: {'type': 'string'} for name in (*fields, 'description')}
    name = 'x' * 100  # is cut, so that the description that is sent begins with it
    deep: list[object] = []
    for _ in range(400):
        deep = [deep]
    for returned in (dict.fromkeys('abc', fields), deep, 'y' * 5_000):
        tool = ToolSchema(name, describe_tool(name, 'Books.', returned), OBJECT)
        sent = ToolSet([tool]).as_request()[0]['function']['description']
        assert len(sent) <= MAX_DESCRIPTION and sent.startswith(f'{name}: Books.\nReturns: ')
    assert len(describe_tool('book', 'word ' * 500)) <= MAX_DESCRIPTION


def test_a_set_travels_as_text_is_never_copied_and_has_each_name_once() -> None:
    with pytest.raises(ValueError, match="two tools are called 'a'"):
        tool_set('a', 'b', 'a')
    tools = ToolSet([ToolSchema('A.b', 'does', OBJECT)], parallel=False)
    back = ToolSet.of_text(tools.to_text())
    assert (back.tools, back.parallel) == (tools.tools, False)
    assert deepcopy([tools])[0] is tools
    assert (tools.original_name('elsewhere'), tools.sent_name('else.where')) == ('elsewhere', 'else_where')
