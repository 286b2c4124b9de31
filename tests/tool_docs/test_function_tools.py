"""Documented functions as tools: their JSON Schema, and that of every real tool."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from opencompass_tooleval.agents.loops.funcqa import TOOLS as FUNCQA_TOOLS
from opencompass_tooleval.benchmarks.funcqa.data import load_records as load_questions
from opencompass_tooleval.benchmarks.restbench.data import gold_calls, load_records, offered_tools, open_toolbox
from opencompass_tooleval.benchmarks.toolbench import prompts as apis
from opencompass_tooleval.benchmarks.toolbench.data import tool_names
from opencompass_tooleval.benchmarks.toolbench.prompts import make_requests, open_tools
from opencompass_tooleval.core.calls.one_call import call_fault
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import MAX_DESCRIPTION, ToolSet
from opencompass_tooleval.tool_docs.function_tools import function_tool, parameter_schema
from opencompass_tooleval.tool_docs.instruction import Parameter
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc
from opencompass_tooleval.tool_docs.value_types import json_types
from tests.instructions.shared_data import real

TYPES: dict[str, tuple[str, ...]] = {
    'STRING': ('string',),
    'NUMBER': ('number',),
    'DATE (YYYY-MM-DD)': ('string',),
    'List[int,str]': ('array',),
    'string|null': ('string', 'null'),
    'int or float': ('integer', 'number'),
    'ENUM': (),
    'string|anything': (),
    '': (),
    'null': (),
    'string ' * 100: (),
}


def test_types() -> None:
    assert {documented: json_types(documented) for documented in TYPES} == TYPES


EXTRA = {'in': 'body', 'minimum': 1, 'maximum': '9', 'enum': [1], 'title': 'A'}
INNER = {'b': {'type': 'array', 'items': {'type': 'string', 'example': 'x'}}}
SHOWN = {'b': {'type': 'array', 'items': {'type': 'string', 'description': 'E.g. "x".'}}}
NESTED = {'additionalProperties': 'true', 'properties': INNER, 'required': ['b', 'c']}
PARAMETERS: list[tuple[Parameter, dict[str, Any]]] = [
    (Parameter('a', 'STRING', ' b\nc ', 'x'), {'type': 'string', 'description': 'b c', 'default': 'x'}),
    (Parameter('a', 'NUMBER', default='10'), {'type': 'number', 'default': 10}),
    (Parameter('a', 'NUMBER', default='ten'), {'type': 'number', 'default': 'ten'}),
    (Parameter('a', 'BOOLEAN', default='true'), {'type': 'boolean', 'default': True}),
    (Parameter('a', 'STRING', default=''), {'type': 'string'}),
    (Parameter('a', 'ENUM', default=None), {'default': None}),
    (Parameter('a', 'string|null'), {'type': ['string', 'null']}),
    (Parameter('a', 'array'), {'type': 'array', 'items': {}}),
    (Parameter('a', 'integer', extra=EXTRA), {'type': 'integer', 'minimum': 1, 'enum': [1]}),
    (Parameter('a', 'object', extra=NESTED), {'type': 'object', 'properties': SHOWN, 'required': ['b']}),
]


@pytest.mark.parametrize(('parameter', 'schema'), PARAMETERS)
def test_a_parameter(parameter: Parameter, schema: dict[str, Any]) -> None:
    assert parameter_schema(parameter) == schema
    Draft202012Validator.check_schema(schema)


def test_examples_and_endless_lists() -> None:
    schema = parameter_schema(Parameter('id', 'integer', 'The film.', 456), has_defaults=False)
    assert schema == {'type': 'integer', 'description': 'The film. E.g. 456.'}
    endless: dict[str, Any] = {'type': 'array'}
    endless['items'] = endless
    nested, depth = parameter_schema(Parameter('a', 'array', extra={'items': endless})), 0
    while 'items' in nested:
        nested, depth = nested['items'], depth + 1
    assert depth == 6


def test_a_function() -> None:
    city, days = Parameter('city', 'STRING'), Parameter('days', 'NUMBER', default=3)
    tool = function_tool(FunctionDoc('GET /weather', 'The  weather.', (city,), (days,)), 'Weather.Forecast')
    assert (tool.name, tool.description) == ('Weather.Forecast', 'The weather.')
    assert tool.parameters == {
        'type': 'object',
        'properties': {'city': {'type': 'string'}, 'days': {'type': 'number', 'default': 3}},
        'required': ['city'],
    }
    name = 'x' * 80
    long = ToolSet([function_tool(FunctionDoc(name, 'word ' * 500))]).as_request()[0]['function']
    assert len(long['description']) == MAX_DESCRIPTION
    assert long['description'].startswith(f'{name}: word word') and long['description'].endswith(' ...')


def test_names_of_apis_do_not_collide() -> None:
    names = tool_names([('A.b', 'c'), ('A', 'b.c'), ('A', 'c')])
    assert names == {'A.b.c': ('A.b', 'c'), 'A.b.c (2)': ('A', 'b.c'), 'A.c': ('A', 'c')}


def check(tools: ToolSet) -> None:
    """Names come back, schemas are JSON Schema, and no server refuses what is sent."""
    sent = [tool['function'] for tool in tools.as_request()]
    assert [tools.original_name(tool['name']) for tool in sent] == [tool.name for tool in tools.tools]
    for tool in sent:
        Draft202012Validator.check_schema(tool['parameters'])
        assert len(tool['description']) <= MAX_DESCRIPTION


def faults(tools: ToolSet, calls: list[ToolCall]) -> Counter[str]:
    schemas = {tool.name: tool.parameters for tool in tools.tools}
    return Counter(call_fault(call, schemas) for call in calls)


@pytest.mark.parametrize(('service', 'count', 'steps', 'errata'), [('tmdb', 54, 226, 5), ('spotify', 40, 146, 1)])
def test_every_operation_of_restbench(service: str, count: int, steps: int, errata: int) -> None:
    functions = open_toolbox(real(f'restbench/specs/{service}_oas.json'), None, 'function_calling').functions
    tools = offered_tools(functions)
    check(tools)
    assert len(tools.tools) == count and tools.parallel
    inventory = open_toolbox(real(f'restbench/specs/{service}_oas.json')).inventory
    for gold, unknown in (('repaired', 0), ('official', errata)):  # a faulty step is called by the name it has
        records, _ = load_records(real(f'restbench/{service}.json'), service, inventory, gold)
        called = [call for record in records for call in gold_calls(record, functions)]
        expected = {'': steps - unknown, **({'name:unknown_tool': unknown} if unknown else {})}
        assert faults(tools, called) == expected


@pytest.mark.parametrize(
    ('name', 'file', 'count', 'calls', 'named'),
    [('G2', 'G2_category.json', 433, 299, 15), ('G3', 'G3_instruction.json', 44, 180, 0)],
)
def test_every_api_of_toolbench(name: str, file: str, count: int, calls: int, named: int) -> None:
    shown = open_tools(real(f'toolbench/{file}'), name)
    found: Counter[str] = Counter()
    descriptions: dict[str, str] = {}
    for request in make_requests(shown):
        tools = apis.offered_tools(request, shown.data.tools)
        check(tools)
        found += faults(tools, request.gold_calls)
        pairs = zip(tools.tools, tools.as_request(), strict=True)
        descriptions |= {tool.name: sent['function']['description'] for tool, sent in pairs}
    assert (len(descriptions), found) == (count, {'': calls})
    # The names that lose letters or their end, and so stand in the description.
    assert sum(text.startswith(f'{original_name}: ') for original_name, text in descriptions.items()) == named
    assert all(
        text.startswith(f'{original_name}: ') for original_name, text in descriptions.items() if len(original_name) > 64
    )


def test_every_call_of_funcqa() -> None:
    tools = ToolSet(FUNCQA_TOOLS)
    check(tools)
    for subset, file in (('one_hop', 'funcqa_oh.json'), ('multi_hop', 'funcqa_mh.json')):
        steps = [step for record in load_questions(real(f'funcqa/{file}'), subset) for step in record.steps]
        called = [ToolCall(step.tool, {'input': [*step.numbers]}) for step in steps]
        assert faults(tools, called) == {'': len(steps)}
