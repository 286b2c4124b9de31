"""Instructions by rule: their parts, and that every real document gives valid ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.extras.preparing.validate import check_example
from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter, ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions, load_instructions
from opencompass_tooleval.tool_docs.render import native_shape, render_doc, render_instruction
from opencompass_tooleval.tool_docs.sources import load_docs
from opencompass_tooleval.tool_docs.template import first_sentence, sample_value, template_instruction
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc
from opencompass_tooleval.tool_docs.value_types import BOOLEANS, INTEGERS, LISTS, NUMBERS, OBJECTS, STRINGS
from tests.instructions.shared_data import real

REAL = (
    ('toolbench', 'toolbench/G1_instruction.json'),
    ('toolbench', 'toolbench/G2_category.json'),
    ('toolbench', 'toolbench/G3_instruction.json'),
    ('openapi', 'restbench/specs/tmdb_oas.json'),
    ('openapi', 'restbench/specs/spotify_oas.json'),
    ('teval', 'teval/EN/plan_json_v1.json'),
    ('ultratool', 'ultratool/English-dataset/test.json'),
    ('ultratool', 'ultratool/Chinese-dataset/test.json'),
    ('ultratool', 'ultratool/Chinese-dataset/test_set/tool_creation.json'),
)


@pytest.mark.parametrize(
    ('text', 'sentence'),
    [
        ('', ''),
        ('Gets bells. Rings them.', 'Gets bells.'),
        ('Gets "bells." Rings them.', 'Gets "bells."'),
        ('Wraps a\nline. Next.', 'Wraps a line.'),
        ('A paragraph\n\nAnother.', 'A paragraph'),
        ('Takes these:\n- a\n- b', 'Takes these:'),
        ('Bells, e.g. tenor or treble. More.', 'Bells, e.g. tenor or treble.'),
        ('Bells etc. More.', 'Bells etc. More.'),
        ('Needs v1.2 or 3.5 of bells.io. More.', 'Needs v1.2 or 3.5 of bells.io.'),
        ('Ring ver. 2 bells. More.', 'Ring ver. 2 bells.'),
        ('将内容写入文件。如果不存在，则创建。', '将内容写入文件。'),
        ('股市趋势分析工具', '股市趋势分析工具'),
        ('Rings https://bells.example/a.b?c=d. More.', 'Rings.'),
        ('Rings [bells](https://bells.example/x_(y)) [here](#top). More.', 'Rings bells here.'),
        ('Rings <a href="https://x">bells</a><br/>loudly &amp; long. More.', 'Rings bells loudly & long.'),
        ('## Ring\n\nRings.', 'Ring'),
        ('**Rings** `bell` ***now***. More.', 'Rings `bell` now.'),
        ('![logo](x.png)\n\nRings.', 'logo'),
        ('Rings api_b04d269d-c7dd-4b84-8e17-6fba24d64d3d (4iV5W9uYEdYUVa79Axb7Rh). More.', 'Rings.'),
        ('Uses a*b*c and snake_case_names. More.', 'Uses a*b*c and snake_case_names.'),
    ],
)
def test_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


@pytest.mark.parametrize(
    ('parameter', 'value'),
    [
        (Parameter('x', 'STRING', default='tenor'), 'tenor'),
        (Parameter('x', 'STRING', default=5), '5'),
        (Parameter('x', 'NUMBER', default='195499451557'), 195499451557),
        (Parameter('x', 'NUMBER', default='-1.5'), -1.5),
        (Parameter('x', 'NUMBER', default='9' * 5000), 456),
        (Parameter('x', 'integer', default='1.5'), 456),
        (Parameter('x', 'integer', extra={'minimum': 1, 'maximum': 5}), 1),
        (Parameter('x', 'BOOLEAN', default='false'), False),
        (Parameter('x', 'boolean'), True),
        (Parameter('x', 'DATE (YYYY-MM-DD)'), '2024-01-31'),
        (Parameter('x', 'string', extra={'format': 'date-time'}), '2024-01-31T12:00:00Z'),
        (Parameter('x', 'string', extra={'enum': ['', 'glad', 'sad']}), 'glad'),
        (Parameter('x', 'string', default='sad', extra={'enum': ['glad', 'sad']}), 'sad'),
        (Parameter('x', 'integer', extra={'enum': ['a', 3]}), 3),
        (Parameter('x', 'array', extra={'items': {'type': 'integer'}}), [456]),
        (Parameter('x', 'array', default='1, 2', extra={'items': {'type': 'string', 'enum': ['a']}}), ['a']),
        (
            Parameter('x', 'object', extra={'required': ['a'], 'properties': {'a': {'type': 'number'}, 'b': {}}}),
            {'a': 456},
        ),
        (Parameter('x', 'object', extra={'required': ['a'], 'properties': 3}), {}),
        (Parameter('x', ''), 'example'),
        (Parameter('x', '', default=[1]), [1]),
    ],
)
def test_sample_values(parameter: Parameter, value: Any) -> None:
    found = sample_value(parameter)
    assert found == value and type(found) is type(value)
    endless: dict[str, Any] = {'type': 'array'}
    endless['items'] = endless
    assert json.dumps(sample_value(Parameter('x', 'array', extra={'items': endless}))) == '[[[[[[]]]]]]'


EBAY = ToolDoc(  # as in the paper's Table 7
    'Ebay',
    'Get Products from Ebay (Unofficial). See https://rapidapi.example/ebay.',
    (
        FunctionDoc(
            'Product Details',
            'Get the product details for a given id.\nDefault country is `us`.',
            (Parameter('product_id', 'NUMBER', 'ID of the product. Can be obtained from the url.', '195499451557'),),
            (Parameter('country', 'STRING', '', ''), Parameter('mood', 'ENUM', extra={'enum': ['a'], 'format': 'b'})),
        ),
        FunctionDoc('Ping', ''),
    ),
)


def test_a_tool_of_several_functions() -> None:
    made = template_instruction(EBAY)
    assert made.description == (
        "'Ebay': Get Products from Ebay (Unofficial). This tool has 2 APIs: "
        "1. 'Product Details': Get the product details for a given id. 2. 'Ping'"
    )
    details, ping = made.functions
    assert details.description == 'Get the product details for a given id.'
    assert details.required == (Parameter('product_id', 'NUMBER', 'ID of the product.', '195499451557'),)
    assert details.optional == (Parameter('country', 'STRING'), Parameter('mood', 'ENUM', extra={'enum': ['a']}))
    assert details.example is not None and ping.example is not None
    assert details.example.parameters == {'product_id': 195499451557}
    assert details.example.scenario == (
        'if you want to get the product details for a given id, with product_id 195499451557.'
    )
    assert (ping.example.scenario, ping.example.parameters) == ("if you want to use 'Ping'.", {})
    assert native_shape(made) == 'toolbench'
    shown = json.loads(render_instruction(made))
    assert list(shown) == ['tool_name', 'tool_description', 'tool_guidelines']
    assert list(shown['tool_guidelines']['Ping']) == ['name', 'Example']
    assert shown['tool_guidelines']['Ping']['Example']['Parameters'] == {}


def rest(*required: Parameter, usage: str = 'GET /search/{kind}') -> ToolInstruction:
    function = FunctionDoc(usage, 'Search for bells. Often.', required)
    return template_instruction(ToolDoc('/search/{kind}', 'Search for bells. Often.', (function,)))


def test_a_rest_function() -> None:
    made = rest(
        Parameter('kind', 'integer', extra={'in': 'path'}),
        Parameter('query', 'string', 'Text. Long.', extra={'in': 'query'}),
        Parameter('tags', 'array', default=['a b', 'c'], extra={'in': 'query'}),
        Parameter('token', 'string', extra={'in': 'header'}),
    )
    (function,) = made.functions
    assert function.example is not None
    assert function.example.parameters == {'input': 'GET /search/456?query=example&tags=a%20b%2Cc'}
    assert function.example.scenario == 'if you want to search for bells, with kind 456, tags a b,c.'
    assert [parameter.name for parameter in function.required] == ['query', 'tags', 'token']
    assert made.description == 'Search for bells.' and not function.description
    assert native_shape(made) == 'restbench'
    shown = json.loads(render_instruction(made))
    assert list(shown) == ['tool_name', 'tool_description', 'tool_usage', 'required_parameters', 'Example']
    made = rest(Parameter('ids', 'array', extra={'in': 'body', 'items': {'type': 'string'}}), usage='PUT /bells')
    example = made.functions[0].example
    assert example is not None and example.parameters == {'input': 'PUT /bells', 'ids': ['example']}
    assert made.functions[0].required == (Parameter('ids', 'array', extra={'in': 'body'}),)
    example = rest(Parameter('kind', 'STRING', default='a/b')).functions[0].example
    assert example is not None and example.parameters == {'input': 'GET /search/a%2Fb'}, 'a path is filled'


def test_a_chinese_tool() -> None:
    optional = tuple(Parameter(name, 'string') for name in 'abcd')
    function = FunctionDoc('ring', '响钟。很响。', (), (Parameter('bell', 'string', default='大钟'), *optional))
    made = template_instruction(ToolDoc('ring', '响钟。很响。', (function,)))
    example = made.functions[0].example
    assert made.description == '响钟。' and example is not None
    assert example.scenario == '如果你想使用“ring”，bell 为 大钟。'
    assert list(example.parameters) == ['bell', 'a', 'b']  # nothing is required: three optional ones
    assert native_shape(made) == 'funcqa'
    assert json.loads(render_instruction(made))['standardized_name'] == 'ring'


def test_what_is_long_or_missing_is_not_told() -> None:
    function = FunctionDoc('f', 'Get it.', (Parameter('x', 'STRING', default='y' * 41),))
    example = template_instruction(ToolDoc('f', 'Get it.', (function,))).functions[0].example
    assert example is not None and example.scenario == 'if you want to get it.'
    assert template_instruction(ToolDoc('f', '', (FunctionDoc('f'),))).description == "'f'"
    assert render_doc(ToolDoc('a', '', (), 'Text.')) == 'Text.'
    assert render_doc(ToolDoc('a', '', (), {'a': ['钟', False]})) == '{"a": ["钟", false]}'


LINK = re.compile(r'https?://|\]\(|<br|docTextSection')


@pytest.mark.parametrize(('kind', 'name'), REAL)
def test_every_real_document(kind: str, name: str, tmp_path: Path) -> None:
    docs = load_docs(kind, real(name))
    made = [template_instruction(doc) for doc in docs]
    for doc, instruction in zip(docs, made, strict=True):
        assert instruction.description and '\n' not in instruction.description
        assert [function.name for function in instruction.functions] == [function.name for function in doc.functions]
        for function in instruction.functions:
            assert function.example is not None and '\n' not in function.description
            message = f'{instruction.description} {function.description}'
            assert not LINK.search(message.replace("'http://ulvis.net/API/write/get'", '')), (
                message
            )  # a function's name
            assert check_example(doc, function.name, function.example) == []
    file = tmp_path / 'made.json'
    file.write_text(dump_instructions(made), encoding='utf-8')
    assert list(load_instructions(file).values()) == made


@pytest.mark.parametrize('default', [ABSENT, None, '', '5', 'x', [1], {'a': 1}])
def test_examples_fit_every_type_that_is_known(default: Any) -> None:
    for name in (*LISTS, *OBJECTS, *STRINGS, *BOOLEANS, *INTEGERS, *NUMBERS, 'List[int]', 'ENUM', ''):
        doc = ToolDoc('f', 'Rings.', (FunctionDoc('f', 'Rings.', (Parameter('bell', name, '', default),)),))
        example = template_instruction(doc).functions[0].example
        assert example is not None and check_example(doc, 'f', example) == [], name


def test_tmdb_by_hand() -> None:
    docs = {doc.name: doc for doc in load_docs('openapi', real('restbench/specs/tmdb_oas.json'))}
    made = template_instruction(docs['/movie/{movie_id}/keywords'])
    assert json.loads(render_instruction(made)) == {
        'tool_name': '/movie/{movie_id}/keywords',
        'tool_description': 'Get the keywords that have been added to a movie.',
        'tool_usage': 'GET /movie/{movie_id}/keywords',
        'Example': {
            'Scenario': 'if you want to get the keywords that have been added to a movie, with movie_id 456.',
            'Parameters': {'input': 'GET /movie/456/keywords'},
        },
    }


@pytest.mark.parametrize(
    ('functions', 'described', 'is_listed'),
    [
        (['Rings bells.'], [''], False),
        (['Rings one.'], ['Rings one.'], True),
        (['Rings bells.', 'Rings one.'], ['Rings bells.', 'Rings one.'], True),
    ],
)
def test_what_the_tool_says_is_not_said_again_of_its_only_function(
    functions: list[str], described: list[str], is_listed: bool
) -> None:
    docs = tuple(FunctionDoc(f'f{number}', text) for number, text in enumerate(functions))
    made = template_instruction(ToolDoc('bells', 'Rings bells.', docs))
    assert [function.description for function in made.functions] == described
    assert (made.description == 'Rings bells.') is not is_listed
    assert all(text in made.description for text in functions)
