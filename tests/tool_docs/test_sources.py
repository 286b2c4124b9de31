"""Documentation from every source: made by hand, the project's demo records, and the real files."""

from __future__ import annotations

import json
import logging
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


@pytest.mark.parametrize('quoted', [repr, json.dumps])
@pytest.mark.parametrize(
    ('layout', 'value', 'count'),
    [
        ('pairs', [['Bells.ring', API], ['Bells.stop', OTHER]], 2),
        ('list', [API, OTHER], 2),
        ('object', API, 1),
    ],
)
def test_api_lists_are_found_in_prompts(layout: str, value: Any, count: int, quoted: Any) -> None:
    written = quoted(value)
    text = f"It's a test [of sorts] {{really}}.\n{written}\n{PLAN_FORMAT}"
    span = find_api_list(text)
    assert span is not None and (span.layout, len(span.apis)) == (layout, count)
    assert text[span.start : span.end] == written
    assert span.apis == (API, OTHER)[:count]


def test_apis_one_per_line() -> None:
    lines = f'{json.dumps(API)}\n{OTHER!r}'
    text = f'One per line:\n{lines}\n\n{PLAN_FORMAT}'
    span = find_api_list(text)
    assert span is not None and (span.layout, span.apis) == ('lines', (API, OTHER))
    assert text[span.start : span.end] == lines


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


def test_every_real_prompt_of_a_plan_has_its_apis() -> None:
    for name, begin in (('plan_json_v1', '[['), ('plan_str_v1', '[[')):
        records = json.loads(real(f'teval/EN/{name}.json').read_text(encoding='utf-8'))
        for record in records.values():
            text = record['origin_prompt'][0]['content']
            span = find_api_list(text)
            assert span is not None and span.layout == 'pairs'
            assert text[span.start :].startswith(begin) and text[span.end :].startswith('\n')
            if 'API_list' in record['meta']:
                assert [api['name'] for api in span.apis] == record['meta']['API_list']


def test_real_teval() -> None:
    docs = load_docs('teval', real('teval/EN/plan_json_v1.json'))
    assert len(docs) == 50
    assert docs == sorted(docs, key=docs.index)
    assert docs[0].functions[0].name == docs[0].name == 'AirbnbSearch.get_property_details'
    with pytest.raises(DataError, match='finds no tools'):
        load_docs('teval', real('teval/EN/review_str_v1.json'))


def teval(prompt: Any) -> dict[str, Any]:
    return {'r': {'origin_prompt': prompt}}


def test_teval_by_hand(tmp_path: Path) -> None:
    prompt = [{'role': 'system', 'content': repr([API])}, {'role': 'user', 'content': repr([OTHER])}]
    (doc,) = load_docs('teval', write(tmp_path, teval(prompt)))
    (function,) = doc.functions
    assert (doc.name, doc.raw, function.raw) == ('Bells.ring', API, API)
    assert [(p.name, p.type) for p in (*function.required, *function.optional)] == [
        ('bell', 'STRING'),
        ('strokes', 'NUMBER'),
    ]
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
    """Table 7: one tool's own document."""
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


OPENAPI: dict[str, Any] = {
    'openapi': '3.0.1',
    'components': {
        'parameters': {
            'Bell': {'name': 'bell', 'in': 'path', 'required': True, 'schema': {'$ref': '#/components/schemas/Name'}}
        },
        'schemas': {
            'Name': {'type': 'string', 'example': 'tenor'},
            'Loop': {'type': 'object', 'properties': {'next': {'$ref': '#/components/schemas/Loop'}}},
        },
        'requestBodies': {
            'Ring': {
                'content': {
                    'application/json': {
                        'schema': {
                            'type': 'object',
                            'required': ['strokes', 'page'],
                            'properties': {'strokes': {'type': 'integer', 'minimum': 1}, 'page': {'type': 'string'}},
                        }
                    }
                }
            }
        },
    },
    'paths': {
        '/bells/{bell}/{tower}': {
            'parameters': [
                {'$ref': '#/components/parameters/Bell'},
                {'name': 'page', 'in': 'query', 'description': 'old'},
            ],
            'get': {
                'summary': 'One bell',
                'parameters': [
                    {'name': 'page', 'in': 'query', 'required': 'false', 'schema': {'type': 'integer', 'default': 1}},
                    {'name': 'tone', 'in': 'query', 'required': 'true', 'examples': {'a': {'value': 'C'}}},
                    {'name': 'loop', 'in': 'query', 'schema': {'$ref': '#/components/schemas/Loop'}},
                    {'name': 'far', 'in': 'query', 'schema': {'$ref': 'other.json#/x'}},
                ],
                'responses': {'200': {'$ref': '#/nowhere'}},
            },
            'post': {'description': 'Rings it.\n', 'requestBody': {'$ref': '#/components/requestBodies/Ring'}},
        },
        '/bells': {'get': {'description': 'All bells.', 'summary': 'Bells'}, 'summary': 'x'},
    },
}


def test_openapi(tmp_path: Path) -> None:
    docs = load_docs('openapi', write(tmp_path, OPENAPI))
    usage = ['GET /bells/{bell}/{tower}', 'POST /bells/{bell}/{tower}', 'GET /bells']
    assert [doc.name for doc in docs] == [*usage[:2], '/bells']
    assert [doc.functions[0].name for doc in docs] == usage
    assert [doc.description for doc in docs] == ['One bell', 'Rings it.', 'All bells.']
    one, ring, _ = (doc.functions[0] for doc in docs)
    assert [(p.name, p.default, p.extra['in']) for p in one.required] == [
        ('bell', 'tenor', 'path'),
        ('tone', 'C', 'query'),
        ('tower', ABSENT, 'path'),
    ]
    assert [(p.name, p.default) for p in one.optional] == [('page', 1), ('loop', ABSENT), ('far', ABSENT)]
    assert [(p.name, p.type, p.extra['in']) for p in ring.required] == [
        ('bell', 'string', 'path'),
        ('tower', '', 'path'),
        ('strokes', 'integer', 'body'),
    ]
    assert [(p.name, p.description) for p in ring.optional] == [('page', 'old')]  # the query's; the body has one too
    assert ring.required[2].extra == {'in': 'body', 'minimum': 1}
    raw = docs[0].raw
    assert isinstance(raw, dict)
    operation = raw['/bells/{bell}/{tower}']['get']
    assert operation['parameters'][2]['schema']['properties']['next'] == {'$ref': '#/components/schemas/Loop'}
    assert operation['responses'] == {'200': {'$ref': '#/nowhere'}}


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


@pytest.mark.parametrize(
    ('parameters', 'said'),
    [
        (5, 'not a list'),
        ({'a': 1}, 'not a list'),
        ([5], "object with a 'name'"),
        ([{'in': 'query'}], "object with a 'name'"),
    ],
)
def test_openapi_with_parameters_of_another_form(parameters: Any, said: str, tmp_path: Path) -> None:
    document = {'openapi': '3.0.1', 'paths': {'/x': {'get': {'parameters': parameters}}}}
    with pytest.raises(DataError, match=rf'GET /x.*{said}'):
        load_docs('openapi', write(tmp_path, document))


def test_openapi_with_a_place_of_another_form(tmp_path: Path) -> None:
    document = {'openapi': '3.0.1', 'paths': {'/x': {'get': {'parameters': [{'name': 'q', 'in': ['query']}]}}}}
    (doc,) = load_docs('openapi', write(tmp_path, document))
    assert [parameter.name for parameter in doc.functions[0].optional] == ['q']


@pytest.mark.parametrize('default', ['NaN', '1e999', '"\\ud800"'])
def test_what_no_file_of_instructions_could_hold(default: str, tmp_path: Path) -> None:
    text = json.dumps({'name': 'ring', 'parameters': {'properties': {'n': {'default': 0}}}})
    with pytest.raises(DataError, match=r"record 'ring'.*that JSON files cannot contain"):
        load_docs('function_schema', write(tmp_path, text.replace('0', default)))


@pytest.mark.parametrize(('service', 'count', 'several'), [('tmdb', 54, 0), ('spotify', 40, 16)])
def test_real_openapi(service: str, count: int, several: int) -> None:
    docs = load_docs('openapi', real(f'restbench/specs/{service}_oas.json'))
    assert (len(docs), sum(' ' in doc.name for doc in docs)) == (count, several)
    for doc in docs:
        (function,) = doc.functions
        assert function.name.endswith(doc.name.split()[-1]) and doc.description
        names = [parameter.name for parameter in (*function.required, *function.optional)]
        assert len(names) == len(set(names)) and '$ref' not in json.dumps(
            next(iter(doc.raw.values())).get('parameters', [])
        )  # type: ignore[union-attr]
        assert all(parameter.type for parameter in function.required)
    usages = {doc.functions[0].name for doc in docs}
    gold = {
        step.strip()
        for row in json.loads(real(f'restbench/{service}.json').read_text(encoding='utf-8'))
        for step in row['solution']
    }
    # The errata of the gold: a wrong placeholder (TMDB), a path that is not documented (Spotify).
    assert gold - usages <= {'GET /person/{movie_id}/movie_credits', 'GET /track/{id}'}


FUNCTION: dict[str, Any] = {
    'name': 'ring',
    'description': 'Rings.',
    'parameters': {
        'type': 'object',
        'properties': {
            'bell': {'type': 'string', 'enum': ['tenor'], 'description': 'Which.'},
            'strokes': {'type': ['integer', 'null'], 'default': None},
        },
        'required': ['bell'],
    },
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


@pytest.mark.parametrize(
    ('kind', 'value', 'said'),
    [
        ('openapi', {'swagger': '2.0', 'paths': {}}, 'OpenAPI 3'),
        ('openapi', 'openapi: 3.0.0', 'finds no tools'),
        ('openapi', 'openapi: [3.0.0', 'neither JSON nor YAML'),
        ('openapi', {'openapi': '3.0.0', 'paths': {}}, 'finds no tools'),
        ('openapi', {'openapi': '3.0.0', 'paths': {'/x': {'get': 3}}}, "'GET /x': the operation"),
        ('openapi', {'openapi': '3.0.0', 'paths': {'/x': {'get': {'parameters': [{}]}}}}, "'GET /x': a parameter"),
        (
            'openapi',
            {'openapi': '3.0.0', 'paths': {'/x': {'get': {'parameters': [{'$ref': '#/a/b'}]}}}},
            "'GET /x': the reference #/a/b has no target",
        ),
        ('toolbench', [{'query': 'q'}], "'0': the record has no 'api_list'"),
        ('toolbench', [{'api_list': [3]}], "'0': an API is not an object"),
        ('toolbench', [{'api_list': [{'api_name': 'x'}]}], "needs a 'tool_name'"),
        ('toolbench', [{'api_list': [{'tool_name': 'x'}]}], "needs an 'api_name'"),
        ('toolbench', [{'api_list': [{**TOOLBENCH, 'required_parameters': {'a': 1}}]}], "'Bells: Ring'.*not a list"),
        ('toolbench', [{'api_list': [{**TOOLBENCH, 'required_parameters': [{}]}]}], "'Bells: Ring'.*'name'"),
        ('function_schema', [{'type': 'function'}], "'0': a function"),
        ('function_schema', [FUNCTION, {**FUNCTION, 'description': 'y'}], "'ring'.*two ways"),
        ('function_schema', [{**FUNCTION, 'parameters': [1]}], "'ring'.*not a JSON schema"),
        ('teval', [1], 'id -> record'),
        ('teval', {'7': {}}, "'7': field 'origin_prompt'"),
        (
            'teval',
            teval([{'role': 'system', 'content': repr([{**API, 'required_parameters': [3]}])}]),
            "'r': a parameter is not an object",
        ),
        ('teval', teval([{'role': 'system', 'content': repr([API, {**API, 'description': 'y'}])}]), 'two ways'),
        ('ultratool', [{'toolset': [{'description': 'x'}]}], "'0'.*'name'"),
        ('ultratool', [{'toolset': 3}], "'0': the toolset is not a list"),
        ('ultratool', [{'toolset': [3]}], "'0': a tool of the toolset is not an object"),
    ],
)
def test_faults_name_file_and_record(kind: str, value: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f'docs.json.*{said}'):
        load_docs(kind, write(tmp_path, value))


@pytest.mark.parametrize('kind', KINDS)
def test_missing_files_and_wrong_ones(kind: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match='missing'):
        load_docs(kind, tmp_path / 'nowhere.json')
    broken = tmp_path / 'broken.txt'
    broken.write_bytes(b'\xff\xfe')
    with pytest.raises(DataError, match='not UTF-8'):
        load_docs(kind, broken)


def test_an_unknown_source() -> None:
    with pytest.raises(ValueError, match='only toolbench, openapi'):
        load_docs('yaml', Path('x'))


YAML = """
openapi: 3.0.3
info: {title: Bells, version: 2024-01-01}
paths:
  /bells/{bell}:
    put:
      operationId: ringBell
      summary: Rings a bell.
      parameters:
        - {name: bell, in: path, required: true, schema: {type: string, enum: [no, yes, tenor]}}
        - {name: since, in: query, schema: {type: string, format: date, nullable: true, example: 2024-01-01}}
        - {name: weight, in: query, schema: {oneOf: [{type: integer}, {type: string}]}}
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/Ring'}
      responses:
        200: {description: rung}
components:
  schemas:
    Ring:
      allOf:
        - type: object
          required: [strokes]
          properties: {strokes: {type: integer}}
        - anyOf:
            - {type: object, required: [by, how], properties: {by: {type: string}, how: {type: string}}}
            - {type: object, required: [how], properties: {how: {type: string}, at: {type: number, nullable: true}}}
"""


def test_openapi_in_yaml_with_compositions(tmp_path: Path) -> None:
    file = tmp_path / 'bells.yaml'
    file.write_text(YAML, encoding='utf-8')
    (doc,) = load_docs('openapi', file)
    (function,) = doc.functions
    assert (doc.name, function.name, function.call_name) == ('/bells/{bell}', 'PUT /bells/{bell}', 'ringBell')
    assert [(p.name, p.type) for p in function.required] == [
        ('bell', 'string'),
        ('strokes', 'integer'),
        ('how', 'string'),
    ]
    assert [(p.name, p.type, p.default) for p in function.optional] == [
        ('since', 'string|null', '2024-01-01'),
        ('weight', 'integer|string', ABSENT),
        ('by', 'string', ABSENT),
        ('at', 'number|null', ABSENT),
    ]
    assert function.required[0].extra['enum'] == ['no', 'yes', 'tenor']
    assert isinstance(doc.raw, dict) and doc.raw['/bells/{bell}']['put']['responses'] == {
        '200': {'description': 'rung'}
    }
    assert function.call_name == 'ringBell'
    properties = function_tool(function, 'ringBell').parameters['properties']
    assert properties['since']['type'] == ['string', 'null']
    assert properties['weight']['type'] == ['integer', 'string']


@pytest.mark.parametrize(
    ('text', 'why'),
    [
        ('openapi: &v 3.0.0\npaths: *v', 'anchors are not supported'),
        ('openapi: 3.0.0\npaths: !!python/object/apply:os.getcwd []', 'tags are not supported'),
        ('openapi: 3.0.0\nopenapi: 3.0.0', "'openapi' occurs more than once"),
        ('openapi: 3.0.0\npaths: ' + '[' * 500, 'nested too deeply'),
        ('openapi: 3.0.0\n? [1]\n: 2', 'a key is not a string'),
        ('openapi: 3.0.0: 1', 'neither JSON nor YAML'),
        ('swagger: "2.0"', 'not an OpenAPI 3 document'),
    ],
)
def test_yaml_that_is_refused(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / 'x.yml').write_text(text, encoding='utf-8')
    with pytest.raises(DataError, match=why) as caught:
        load_docs('openapi', tmp_path / 'x.yml')
    assert '\n' not in str(caught.value)
