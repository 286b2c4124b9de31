"""Examples against documentation: every kind of fault, and the published examples."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_tooleval.extras.preparing.validate import check_example
from opencompass_tooleval.tool_docs.instruction import ABSENT, Example, Parameter
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from opencompass_tooleval.tool_docs.sources import load_docs
from opencompass_tooleval.tool_docs.template import template_instruction
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc
from opencompass_tooleval.tool_docs.value_types import expected
from tests.instructions.shared_data import real


def p(name: str, type_name: str = '', default: Any = ABSENT, **extra: Any) -> Parameter:
    return Parameter(name, type_name, '', default, extra)


def placed(name: str, type_name: str, place: str) -> Parameter:
    return p(name, type_name, **{'in': place})


COUNTRY, SORT = p('country', 'STRING'), p('sort', 'string', enum=['up', 'down'])
TAGS = p('tags', 'array', items={'type': 'string'})
SHOP = ToolDoc(
    'Shop',
    '',
    (
        FunctionDoc('details', '', (p('id', 'NUMBER', '1954'),), (COUNTRY, SORT, TAGS)),
        FunctionDoc('all'),
        FunctionDoc(
            'GET /movie/{movie_id}/keywords',
            '',
            (placed('movie_id', 'integer', 'path'), placed('lang', 'string', 'query')),
            (placed('page', 'integer', 'query'), placed('adult', 'boolean', 'query')),
        ),
        FunctionDoc('POST /list', '', (placed('name', 'string', 'body'), placed('Accept', 'string', 'header'))),
        FunctionDoc('divide_', '', (p('input', 'List'),)),
        FunctionDoc('prose', raw='Takes a flag --depth and nothing else.'),
    ),
)
CALL = 'GET /movie/{movie_id}/keywords'


@pytest.mark.parametrize(
    ('function', 'parameters', 'codes'),
    [
        ('details', {'id': 1954, 'country': 'Germany', 'sort': 'up', 'tags': ['a']}, []),
        ('details', {'id': '1954'}, []),  # the documented default, as it is documented
        ('details', {'id': '1955'}, ['wrong_type']),
        ('details', {'id': 10**400}, []),  # more than a float holds
        ('details', {'id': 1, 'country': -(10**400)}, ['wrong_type']),
        ('details', {'country': 'Germany'}, ['missing_parameter']),
        ('details', {'id': 1, 'land': 'Germany'}, ['unknown_parameter']),
        ('details', {'id': 1, 'sort': 'sideways'}, ['wrong_type']),
        ('details', {'id': 1, 'tags': ['a', 1]}, ['wrong_type']),
        ('details', {'id': float('nan')}, ['not_json_value']),
        ('details', {1: 1}, ['not_json_value']),
        ('buy', {}, ['unknown_function']),
        ('all', {}, []),
        (CALL, {'input': 'GET /movie/456/keywords?lang=en&page=2&adult=false'}, []),
        (CALL, {'input': 'GET /movie/456/keywords'}, ['missing_parameter']),
        (CALL, {'input': 'GET /movie/456/keywords?lang=en&pages=2'}, ['unknown_parameter']),
        (CALL, {'input': 'GET /movie/456/keywords?lang=en&page=two'}, ['wrong_type']),
        (CALL, {'input': 'GET /movie/{movie_id}/keywords?lang=en'}, ['path']),
        (CALL, {'input': 'POST /movie/456/keywords?lang=en'}, ['path']),
        (CALL, {'input': 'GET /movie/456/keywords?lang=en#top'}, ['path']),
        (CALL, {'input': 'GET /movie/456/keywords?lang=en&lang=de'}, ['path']),
        (CALL, {'input': 'GET /movie/456/keywords?lang=en', 'lang': 'en'}, ['path']),
        (CALL, {'movie_id': 456, 'lang': 'en'}, ['path']),
        (CALL, {'input': 'GET /movie/456/keywords', 'lang': 'en'}, []),
        ('POST /list', {'input': 'POST /list', 'name': 'x'}, []),  # headers are the client's
        ('POST /list', {'input': 'POST /list'}, ['missing_parameter']),
        ('divide_', {'input': [4, 2]}, []),
        ('divide_', {'input': [4, 0]}, ['execution']),
        ('divide_', {'input': [4]}, []),  # as published, it gives 4
        ('divide_', {'input': []}, ['execution']),
        ('divide_', {'input': '4, 2'}, ['wrong_type']),
        ('prose', {'depth': 3}, []),
        ('prose', {'width': 3}, ['unknown_parameter']),
    ],
)
def test_faults_are_named(function: str, parameters: dict[Any, Any], codes: list[str]) -> None:
    faults = check_example(SHOP, function, Example('if you want it', parameters))
    assert [fault.code for fault in faults] == [f'example:{code}' for code in codes]
    assert all(fault.message.endswith('.') and len(fault.message) < 400 for fault in faults)


@pytest.mark.parametrize('scenario', ['', '  ', 'x' * 2_001])
def test_a_scenario_is_a_sentence(scenario: str) -> None:
    (fault,) = check_example(SHOP, 'all', Example(scenario, {}))
    assert fault.code == 'example:no_scenario'


@pytest.mark.parametrize(
    ('type_name', 'fitting', 'others'),
    [
        ('STRING', ['', '1'], [1, 10**400, None, []]), ('DATE (YYYY-MM-DD)', ['2024-01-31'], [20240131]),
        ('NUMBER', [1, 1.5, -2, 10**400], ['1', True, float('inf'), None]),
        ('integer', [1, 2.0, -(10**400)], [1.5, '1', False]), ('int', [1], ['1']), ('FLOAT', [1, 0.5], ['0.5']),
        ('BOOLEAN', [True], ['true', 1, 0]), ('bool', [False], [0]), ('ARRAY', [[], [1]], ['[]', {}]),
        ('List', [[1]], [(1,), '1']), ('List[int]', [[1]], [1]), ('OBJECT', [{}], [[], '{}']),
        ('dict', [{'a': 1}], ['a']), ('string|null', ['a', None], [1]), ('integer|string', [1, 'a'], [1.5, []]),
        ('ENUM', ['a', 1, None, []], []), ('any', ['a', 1], []), ('', ['a', 1], []),
    ],
)  # fmt: skip
def test_types(type_name: str, fitting: list[Any], others: list[Any]) -> None:
    assert [value for value in fitting if expected(type_name, value)] == []
    assert [value for value in others if not expected(type_name, value)] == []


def test_published_examples_pass() -> None:
    docs = {doc.name: doc for doc in load_docs('openapi', real('restbench/specs/tmdb_oas.json'))}
    tmdb = load_instructions(real('easytool/tmdb_tool.json'))
    funcqa = load_instructions(real('easytool/functions_data.json'))
    for tool in funcqa.values():
        docs[tool.name] = ToolDoc(tool.name, '', tuple(FunctionDoc(f.name, '', f.required) for f in tool.functions))
    assert (len(tmdb), len(funcqa)) == (54, 13)
    for tool in (*tmdb.values(), *funcqa.values()):
        for function in tool.functions:
            assert function.example is not None
            assert check_example(docs[tool.name], function.name, function.example) == [], tool.name


@pytest.mark.parametrize(
    ('kind', 'file', 'count'),
    [('openapi', 'restbench/specs/tmdb_oas.json', 54), ('toolbench', 'toolbench/G2_category.json', 200)],
)
def test_what_the_rules_make_passes(kind: str, file: str, count: int) -> None:
    checked = 0
    for doc in load_docs(kind, real(file)):
        for function in template_instruction(doc).functions:
            assert function.example is not None
            assert check_example(doc, function.name, function.example) == []
            json.dumps(function.example.parameters, allow_nan=False)
            checked += 1
    assert checked >= count
