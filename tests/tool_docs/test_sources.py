"""Documentation from every source: made by hand, the project's demo records, and the real files."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.api_list import find_api_list
from opencompass_tooleval.tool_docs.function_tools import function_tool
from opencompass_tooleval.tool_docs.instruction import ABSENT
from opencompass_tooleval.tool_docs.sources import KINDS, load_docs
from tests.instructions.shared_data import real

API: dict[str, Any] = {
    'name': 'Bells.ring',
    'description': "Rings one of the tower's bells [loudly].",
    'required_parameters': [{'name': 'bell', 'type': 'STRING', 'description': "The bell's name."}],
    'optional_parameters': [{'name': 'strokes', 'description': 'How often.', 'type': 'NUMBER'}],
    'return_data': [{'name': 'sound', 'description': 'What is heard.'}],
}
OTHER = {**API, 'name': 'Bells.stop', 'required_parameters': []}
PLAN_FORMAT = (
    'Answer as:\n```\n[{\n    // id\n    "id": number;\n}, ...\n]\n```\nor [{"id": 0, "name": "a", "args": "{}"}]'
)


def write(folder: Path, value: Any, name: str = 'docs.json') -> Path:
    file = folder / name
    file.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding='utf-8')
    return file


@pytest.mark.parametrize(
    'text',
    [
        '',
        PLAN_FORMAT,
        'You have [no] {such} list.',
        '[' * 100_000,
        '[' * 50_000 + ']' * 50_000,
        '[' + "'\\" * 100_000,
        '["' * 60_000,
        '{"name": "a", "description": ' + '9' * 50_000 + '}',
        "[{'name': 'a', 'description': __import__('os').system('true')}]",
        'x' * 200_001 + repr([API]),
    ],
    ids=lambda text: f'{text[:12]}{len(text)}',
)
def test_prompts_without_an_api_list(text: str) -> None:
    assert find_api_list(text) is None


def test_real_teval() -> None:
    for name in ('plan_json_v1', 'plan_str_v1'):
        for record in json.loads(real(f'teval/EN/{name}.json').read_text(encoding='utf-8')).values():
            span = find_api_list(record['origin_prompt'][0]['content'])
            assert span is not None and span.layout == 'pairs'
            names = [api['name'] for api in span.apis]
            assert record['meta'].get('API_list', names) == names
    docs = load_docs('teval', real('teval/EN/plan_json_v1.json'))
    assert (len(docs), docs[0].functions[0].name) == (50, 'AirbnbSearch.get_property_details')
    with pytest.raises(DataError, match='finds no tools'):
        load_docs('teval', real('teval/EN/review_str_v1.json'))


def teval(prompt: Any) -> dict[str, Any]:
    return {'r': {'origin_prompt': prompt}}


def test_teval_by_hand(tmp_path: Path) -> None:
    prompt = [{'role': 'system', 'content': repr([API])}, {'role': 'user', 'content': repr([OTHER])}]
    (doc,) = load_docs('teval', write(tmp_path, teval(prompt)))
    (function,) = doc.functions
    assert (doc.name, doc.raw, function.raw) == ('Bells.ring', API, API)
    parameters = [(p.name, p.type) for p in (*function.required, *function.optional)]
    assert parameters == [('bell', 'STRING'), ('strokes', 'NUMBER')]
    assert load_docs('teval', write(tmp_path, teval(json.dumps(prompt)))) == [doc]


TOOLBENCH: dict[str, Any] = {
    'category_name': 'Music',
    'tool_name': 'Bells',
    'api_name': 'Ring',
    'api_description': 'rings',
    'required_parameters': [{'name': 'bell', 'type': 'STRING', 'description': '', 'default': ''}],
    'optional_parameters': [{'name': 'bell', 'type': 'STRING'}, {'name': 'n', 'type': 'NUMBER', 'default': 3}],
    'method': 'GET',
}


def test_toolbench_groups_by_tool(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stop = {**TOOLBENCH, 'api_name': 'Stop', 'optional_parameters': []}
    moved = {**stop, 'category_name': 'Noise'}
    rows = [{'api_list': [TOOLBENCH, stop], 'query': 'q'}, {'api_list': [moved, {**stop, 'tool_name': 'Organ'}]}]
    with caplog.at_level(logging.WARNING):
        bells, organ = load_docs('toolbench', write(tmp_path, rows))
    assert not caplog.records
    assert (bells.name, [f.name for f in bells.functions]) == ('Bells', ['Ring', 'Stop'])
    assert [(p.name, p.default) for p in bells.functions[0].optional] == [('n', 3)]
    assert isinstance(bells.raw, dict) and [api['api_name'] for api in bells.raw['api_list']] == ['Ring', 'Stop']
    assert organ.raw == {
        'category_name': 'Music',
        'tool_name': 'Organ',
        'api_list': [{key: value for key, value in stop.items() if key not in ('category_name', 'tool_name')}],
    }
    other = {**stop, 'required_parameters': []}
    (first,) = load_docs('toolbench', write(tmp_path, [{'api_list': [stop, other]}]))
    assert first.functions[0].required and 'described in two ways' in caplog.text


def test_a_toolbench_document(tmp_path: Path) -> None:
    api = {'name': 'Ring', 'description': 'rings', 'required_parameters': [], 'optional_parameters': []}
    whole = {'tool_description': 'All bells', 'home_url': 'https://x', 'tool_name': 'Bells', 'api_list': [api]}
    (doc,) = load_docs('toolbench', write(tmp_path, whole))
    assert (doc.name, doc.description, doc.raw) == ('Bells', 'All bells', whole)
    assert (doc.functions[0].name, doc.functions[0].description) == ('Ring', 'rings')


@pytest.mark.parametrize(
    ('name', 'tools', 'functions'), [('G1_instruction', 152, 810), ('G2_category', 234, 433), ('G3_instruction', 7, 44)]
)
def test_real_toolbench(name: str, tools: int, functions: int) -> None:
    file = real(f'toolbench/{name}.json')
    docs = load_docs('toolbench', file)
    known = {(doc.name, function.name) for doc in docs for function in doc.functions}
    assert (len(docs), len(known)) == (tools, functions)
    relevant = {tuple(pair) for row in json.loads(file.read_text(encoding='utf-8')) for pair in row['relevant APIs']}
    assert relevant <= known


OPENAPI = """
openapi: 3.0.3
info: {title: Bells, version: 2024-01-01}
paths:
  /bells/{bell}/{tower}:
    parameters:
      - {$ref: '#/components/parameters/Bell'}
      - {name: page, in: query, description: old}
    get:
      summary: One bell
      parameters:
        - {name: page, in: query, required: 'false', schema: {type: integer, default: 1}}
        - {name: tone, in: query, required: 'true', examples: {a: {value: C}}}
        - {name: loop, in: query, schema: {$ref: '#/components/schemas/Loop'}}
        - {name: far, in: query, schema: {$ref: 'other.json#/x'}}
        - {name: since, in: [query], schema: {type: string, format: date, nullable: true, example: 2024-01-01}}
        - {name: weight, in: query, schema: {oneOf: [{type: integer}, {type: string}]}}
      responses: {200: {$ref: '#/nowhere'}}
    post: {description: "Rings it.\\n", requestBody: {$ref: '#/components/requestBodies/Ring'}}
  /bells:
    get: {operationId: allBells, description: All bells., summary: Bells}
    summary: x
components:
  parameters:
    Bell: {name: bell, in: path, required: true, schema: {$ref: '#/components/schemas/Name'}}
  schemas:
    Name: {type: string, example: tenor, enum: [no, yes, tenor]}
    Loop: {type: object, properties: {next: {$ref: '#/components/schemas/Loop'}}}
    Ring:
      allOf:
        - {type: object, required: [strokes, page], properties: {strokes: {type: integer, minimum: 1}, page: {}}}
        - anyOf:
            - {type: object, required: [by, how], properties: {by: {type: string}, how: {type: string}}}
            - {type: object, required: [how], properties: {how: {type: string}, at: {type: number, nullable: true}}}
  requestBodies:
    Ring: {content: {application/json: {schema: {$ref: '#/components/schemas/Ring'}}}}
"""


def test_openapi(tmp_path: Path) -> None:
    docs = load_docs('openapi', write(tmp_path, OPENAPI, 'bells.yaml'))
    usage = ['GET /bells/{bell}/{tower}', 'POST /bells/{bell}/{tower}', 'GET /bells']
    assert [doc.name for doc in docs] == [*usage[:2], '/bells']
    assert [doc.functions[0].name for doc in docs] == usage
    assert [doc.description for doc in docs] == ['One bell', 'Rings it.', 'All bells.']
    one, ring, every = (doc.functions[0] for doc in docs)
    assert every.call_name == 'allBells'
    assert [(p.name, p.default, p.extra['in']) for p in one.required] == [
        ('bell', 'tenor', 'path'),
        ('tone', 'C', 'query'),
        ('tower', ABSENT, 'path'),
    ]
    assert one.required[0].extra['enum'] == ['no', 'yes', 'tenor']
    assert [(p.name, p.type, p.default) for p in one.optional] == [
        ('page', 'integer', 1),
        ('loop', 'object', ABSENT),
        ('far', '', ABSENT),
        ('since', 'string|null', '2024-01-01'),
        ('weight', 'integer|string', ABSENT),
    ]
    assert [(p.name, p.type, p.extra['in']) for p in ring.required] == [
        ('bell', 'string', 'path'),
        ('tower', '', 'path'),
        ('strokes', 'integer', 'body'),
        ('how', 'string', 'body'),
    ]
    assert ring.required[2].extra == {'in': 'body', 'minimum': 1}
    # The query has a page too.
    assert [(p.name, p.type, p.description) for p in ring.optional] == [
        ('page', '', 'old'),
        ('by', 'string', ''),
        ('at', 'number|null', ''),
    ]
    assert isinstance(docs[0].raw, dict)
    operation = docs[0].raw['/bells/{bell}/{tower}']['get']
    assert operation['parameters'][2]['schema']['properties']['next'] == {'$ref': '#/components/schemas/Loop'}
    assert operation['responses'] == {'200': {'$ref': '#/nowhere'}}
    properties = function_tool(one, 'bell').parameters['properties']
    assert properties['since']['type'] == ['string', 'null']


def test_openapi_that_unfolds_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas = {f's{i}': {'properties': {str(j): {'$ref': f'#/schemas/s{i + 1}'} for j in range(10)}} for i in range(20)}
    parameter = {'name': 'x', 'in': 'query', 'schema': {'$ref': '#/schemas/s0'}}
    document = {
        'openapi': '3.1.0',
        'schemas': {**schemas, 's20': {}},
        'paths': {'/x': {'get': {'parameters': [parameter]}}},
    }
    with pytest.raises(DataError, match=r'GET /x.*more than'):
        load_docs('openapi', write(tmp_path, document))
    monkeypatch.setattr('opencompass_tooleval.tool_docs.schema.MAX_NODES', 10)
    document['schemas']['s0'] = {'enum': [*range(20)]}  # type: ignore[index]
    with pytest.raises(DataError, match=r'GET /x.*: its schema has more than 10 values after'):
        load_docs('openapi', write(tmp_path, document))


@pytest.mark.parametrize(('service', 'count', 'several'), [('tmdb', 54, 0), ('spotify', 40, 16)])
def test_real_openapi(service: str, count: int, several: int) -> None:
    docs = load_docs('openapi', real(f'restbench/specs/{service}_oas.json'))
    assert (len(docs), sum(' ' in doc.name for doc in docs)) == (count, several)
    for doc in docs:
        (function,) = doc.functions
        assert function.name.endswith(doc.name.split()[-1]) and doc.description
        names = [parameter.name for parameter in (*function.required, *function.optional)]
        assert isinstance(doc.raw, Mapping)
        documented = next(iter(doc.raw.values())).get('parameters', [])
        assert len(names) == len(set(names)) and '$ref' not in json.dumps(documented)
        assert all(parameter.type for parameter in function.required)
    usages = {doc.functions[0].name for doc in docs}
    gold = {
        step.strip()
        for row in json.loads(real(f'restbench/{service}.json').read_text(encoding='utf-8'))
        for step in row['solution']
    }
    # The errata of the gold: a wrong placeholder (TMDB), a path that is not documented (Spotify).
    assert gold - usages <= {'GET /person/{movie_id}/movie_credits', 'GET /track/{id}'}


BELL = {'type': 'string', 'enum': ['tenor'], 'description': 'Which.'}
STROKES = {'type': ['integer', 'null'], 'default': None}
FUNCTION: dict[str, Any] = {
    'name': 'ring',
    'description': 'Rings.',
    'parameters': {'type': 'object', 'properties': {'bell': BELL, 'strokes': STROKES}, 'required': ['bell']},
}


@pytest.mark.parametrize(
    'value',
    [
        [{'type': 'function', 'function': FUNCTION}],
        [FUNCTION],
        FUNCTION,
        {'tools': [{'type': 'function', 'function': FUNCTION}]},
        {'functions': [FUNCTION, FUNCTION]},
        f'{json.dumps(FUNCTION)}\n{json.dumps(FUNCTION)}\n',
    ],
)
def test_function_schema(value: Any, tmp_path: Path) -> None:
    (doc,) = load_docs('function_schema', write(tmp_path, value))
    (function,) = doc.functions
    assert (doc.name, doc.description, doc.raw, function.raw) == ('ring', 'Rings.', FUNCTION, FUNCTION)
    assert [(p.name, p.type, p.description, p.extra) for p in function.required] == [
        ('bell', 'string', 'Which.', {'enum': ['tenor']})
    ]
    assert [(p.name, p.type, p.default) for p in function.optional] == [('strokes', 'integer|null', None)]


def test_a_folder_of_functions_with_references(tmp_path: Path) -> None:
    bell = {'$ref': '#/$defs/Bell'}
    schema = {'properties': {'bell': bell}, 'required': ['bell'], '$defs': {'Bell': {'type': 'string', 'enum': ['a']}}}
    write(tmp_path, [{**FUNCTION, 'name': 'toll', 'parameters': schema}]).rename(tmp_path / 'a.json')
    write(tmp_path, f'{json.dumps(FUNCTION)}\n').rename(tmp_path / 'b.jsonl')
    (tmp_path / 'notes.txt').write_text('no function')
    toll, ring = load_docs('function_schema', tmp_path)
    assert (toll.name, ring.name) == ('toll', 'ring')
    assert [(p.name, p.type, p.extra) for p in toll.functions[0].required] == [('bell', 'string', {'enum': ['a']})]
    circle = {'properties': {'bell': bell}, '$defs': {'Bell': {'items': bell}}}
    (doc,) = load_docs('function_schema', write(tmp_path, {**FUNCTION, 'parameters': circle}))
    assert doc.functions[0].optional[0].extra == {'items': bell}, 'a circle is not unfolded'
    broken = write(tmp_path, {**FUNCTION, 'parameters': {'properties': {'bell': bell}}})
    with pytest.raises(DataError, match='has no target'):
        load_docs('function_schema', broken)


@pytest.mark.parametrize(
    ('name', 'count'),
    [
        ('Chinese-dataset/test.json', 436),
        ('English-dataset/test.json', 436),
        ('English-dataset/test_set/tool_usage.json', 434),
        ('English-dataset/test_set/tool_creation.json', 1091),
        ('English-dataset/example/tool_selection.json', 3),
    ],
)
def test_real_ultratool(name: str, count: int) -> None:
    docs = load_docs('ultratool', real(f'ultratool/{name}'))
    assert len(docs) == count
    for doc in docs:
        assert isinstance(doc.raw, dict) and {'name', 'description', 'arguments', 'results'} <= set(doc.raw)
        assert [p.name for p in doc.functions[0].optional] == list(doc.raw['arguments']['properties'])


def test_plain_text(tmp_path: Path) -> None:
    write(tmp_path, '# Ring\n\nRings.\n', 'ring.md')
    write(tmp_path, ' Stops. ', 'stop.TXT')
    write(tmp_path, '{}', 'not.json')
    ring, stop = load_docs('plain_text', tmp_path)
    assert (ring.name, ring.raw, stop.name, stop.description) == ('ring', '# Ring\n\nRings.', 'stop', 'Stops.')
    assert stop.functions[0].raw == 'Stops.'
    assert load_docs('plain_text', tmp_path / 'ring.md') == [ring]
    write(tmp_path, 'again', 'ring.txt')
    with pytest.raises(DataError, match="'ring': two tools"):
        load_docs('plain_text', tmp_path)
    write(tmp_path, '\n', 'empty.txt')
    with pytest.raises(DataError, match=r'empty\.txt: the file is empty'):
        load_docs('plain_text', tmp_path)


def operation(parameters: Any) -> dict[str, Any]:
    return {'openapi': '3.0.0', 'paths': {'/x': {'get': {'parameters': parameters}}}}


def system(*apis: Any) -> dict[str, Any]:
    return teval([{'role': 'system', 'content': repr(list(apis))}])


def number(default: str) -> str:
    return '{"name": "ring", "parameters": {"properties": {"n": {"default": ' + default + '}}}}'


FAULTS: list[tuple[str, Any, str]] = [
    ('openapi', {'swagger': '2.0', 'paths': {}}, 'OpenAPI 3'),
    ('openapi', 'openapi: 3.0.0', 'finds no tools'),
    ('openapi', 'openapi: [3.0.0', 'neither JSON nor YAML'),
    ('openapi', 'openapi: &v 3.0.0\npaths: *v', 'anchors are not supported'),
    ('openapi', 'openapi: 3.0.0\npaths: !!python/object/apply:os.getcwd []', 'tags are not supported'),
    ('openapi', 'openapi: 3.0.0\nopenapi: 3.0.0', "'openapi' occurs more than once"),
    ('openapi', 'openapi: 3.0.0\npaths: ' + '[' * 500, 'nested too deeply'),
    ('openapi', 'openapi: 3.0.0\n? [1]\n: 2', 'a key is not a string'),
    ('openapi', {'openapi': '3.0.0', 'paths': {}}, 'finds no tools'),
    ('openapi', {'openapi': '3.0.0', 'paths': {'/x': {'get': 3}}}, "'GET /x': the operation"),
    ('openapi', operation([{}]), "'GET /x': a parameter"),
    ('openapi', operation(5), 'GET /x.*not a list'),
    ('openapi', operation([5]), "GET /x.*object with a 'name'"),
    ('openapi', operation([{'$ref': '#/a/b'}]), "'GET /x': the reference #/a/b has no target"),
    ('toolbench', [{'query': 'q'}], "'0': the record has no 'api_list'"),
    ('toolbench', [{'api_list': [3]}], "'0': an API is not an object"),
    ('toolbench', [{'api_list': [{'api_name': 'x'}]}], "needs a 'tool_name'"),
    ('toolbench', [{'api_list': [{'tool_name': 'x'}]}], "needs an 'api_name'"),
    ('toolbench', [{'api_list': [{**TOOLBENCH, 'required_parameters': {'a': 1}}]}], "'Bells: Ring'.*not a list"),
    ('toolbench', [{'api_list': [{**TOOLBENCH, 'required_parameters': [{}]}]}], "'Bells: Ring'.*'name'"),
    ('function_schema', [{'type': 'function'}], "'0': a function"),
    ('function_schema', [FUNCTION, {**FUNCTION, 'description': 'y'}], "'ring'.*two ways"),
    ('function_schema', [{**FUNCTION, 'parameters': [1]}], "'ring'.*not a JSON schema"),
    ('function_schema', number('NaN'), "record 'ring'.*that JSON files cannot contain"),
    ('function_schema', number('1e999'), "record 'ring'.*that JSON files cannot contain"),
    ('function_schema', number('"\\ud800"'), "record 'ring'.*that JSON files cannot contain"),
    ('teval', [1], 'id -> record'),
    ('teval', {'7': {}}, "'7': field 'origin_prompt'"),
    ('teval', system({**API, 'required_parameters': [3]}), "'r': a parameter is not an object"),
    ('teval', system(API, {**API, 'description': 'y'}), 'two ways'),
    ('ultratool', [{'toolset': [{'description': 'x'}]}], "'0'.*'name'"),
    ('ultratool', [{'toolset': 3}], "'0': the toolset is not a list"),
    ('ultratool', [{'toolset': [3]}], "'0': a tool of the toolset is not an object"),
]


@pytest.mark.parametrize(('kind', 'value', 'message'), FAULTS)
def test_faults_name_file_and_record(kind: str, value: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f'docs.json.*{message}') as caught:
        load_docs(kind, write(tmp_path, value))
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize('kind', KINDS)
def test_missing_files_and_wrong_ones(kind: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match='missing'):
        load_docs(kind, tmp_path / 'nowhere.json')
    broken = tmp_path / 'broken.txt'
    broken.write_bytes(b'\xff\xfe')
    with pytest.raises(DataError, match='not UTF-8'):
        load_docs(kind, broken)
    with pytest.raises(ValueError, match='choose one of toolbench, openapi'):
        load_docs('yaml', broken)
