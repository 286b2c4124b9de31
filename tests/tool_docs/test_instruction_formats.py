"""The published formats: nothing is lost, and other formats are errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.instruction import ABSENT, Example, FunctionInstruction, Parameter, ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions, load_instructions
from tests.instructions.shared_data import real

PUBLISHED = {
    'easytool/tmdb_tool.json': ('restbench', 54),
    'easytool/functions_data.json': ('funcqa', 13),
    'easytool/tool_dic.jsonl': ('funcqa_names', 13),
}

TENOR = {'name': 'bell', 'type': 'STRING', 'description': '', 'default': 'tenor'}
STROKES = {'name': 'strokes', 'type': 'NUMBER', 'description': 'How often.', 'default': ''}
RING: dict[str, Any] = {
    'name': 'Ring',
    'description': '',
    'required_parameters': [TENOR, STROKES],
    'optional_parameters': [{'name': 'mood', 'type': 'ENUM', 'description': 'x', 'enum': ['glad', None]}],
    'Example': {'Scenario': 'if you want to ring the tenor', 'Parameters': {'bell': 'tenor', 'strokes': 3}},
}
LIST: dict[str, Any] = {
    **RING,
    'name': 'List',
    'required_parameters': [],
    'Example': {'Scenario': 'if you want to list the bells', 'Parameters': {}},
}
BELLS: dict[str, Any] = {  # the structure of Table 8
    'tool_name': 'Bell Tower',
    'tool_description': "'Bell Tower' rings. This tool has 2 APIs: 1. 'Ring' can ring. 2. 'List' can list them.",
    'tool_guidelines': {'Ring': RING, 'List': LIST},
}
KEY: dict[str, Any] = {
    'ID': 7,
    'tool_name': '/key/{id}',
    'tool_description': '取钥匙',
    'tool_usage': 'GET /key/{id}',
    'Example': {'Scenario': 'if you need key 3', 'Parameters': {'input': 'GET /key/3'}},
}
USAGE = {'required_parameters': [{'name': 'input', 'type': 'List'}]}
ADDED = {'Scenario': 'if you want 1+2', 'Parameters': {'input': [1, 2.5]}}
SUM: dict[str, Any] = {
    'ID': 0,
    'standardized_name': 'sum_',
    'API_description': "'sum_' adds.",
    'Usage': {**USAGE, 'Example': ADDED},
}


def ordered(text: str) -> Any:
    """A JSON value whose objects are lists of pairs: equal only if the keys are in the same order."""
    try:
        return json.loads(text, object_pairs_hook=list)
    except json.JSONDecodeError:
        return [json.loads(line, object_pairs_hook=list) for line in text.splitlines()]


def write(folder: Path, value: Any) -> Path:
    file = folder / 'instructions.json'
    file.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding='utf-8')
    return file


@pytest.mark.parametrize('name', PUBLISHED)
def test_published_files_come_back_key_by_key(name: str, tmp_path: Path) -> None:
    file, (shape, count) = real(name), PUBLISHED[name]
    instructions = load_instructions(file)
    assert len(instructions) == count
    text = dump_instructions(instructions, shape)
    assert ordered(text) == ordered(file.read_text(encoding='utf-8'))
    assert load_instructions(write(tmp_path, text)) == instructions


def test_published_fields() -> None:
    tmdb = load_instructions(real('easytool/tmdb_tool.json'))['/movie/{movie_id}/keywords']
    (function,) = tmdb.functions
    assert (tmdb.id, function.name) == (1, 'GET /movie/{movie_id}/keywords')
    assert function.example is not None and function.example.parameters == {'input': 'GET /movie/456/keywords'}
    funcqa = load_instructions(real('easytool/functions_data.json'))
    names = load_instructions(real('easytool/tool_dic.jsonl'))
    assert list(funcqa) == list(names)
    assert funcqa['add_'].functions[0].required == (Parameter('input', 'List'),)
    assert [tool.description for tool in names.values()] == [tool.description for tool in funcqa.values()]


STANDARDISED = {'3': {'ID': 3, **BELLS, 'standardized_name': 'bell_tower'}}
MORE = {
    **SUM,
    'ID': 'a',
    'standardized_name': 'more_',
    'Usage': {**SUM['Usage'], 'optional_parameters': [{'name': 'y'}]},
}
MADE_UP = [
    ('toolbench', [BELLS]),
    ('toolbench', STANDARDISED),
    ('toolbench', [{**BELLS, 'tool_guidelines': {}}]),
    ('restbench', [KEY, {**KEY, 'ID': 8, 'tool_name': 'other', 'note': {'x': [None]}}]),
    ('funcqa', {'0': SUM, 'a': MORE}),
]


@pytest.mark.parametrize(('shape', 'value'), MADE_UP)
def test_made_up_files_come_back(shape: str, value: Any, tmp_path: Path) -> None:
    file = write(tmp_path, value)
    instructions = load_instructions(file)
    assert json.loads(dump_instructions(instructions, shape)) == value
    assert load_instructions(write(tmp_path, dump_instructions(instructions, shape))) == instructions


def test_any_instruction_fits_the_toolbench_shape(tmp_path: Path) -> None:
    tools = [
        ToolInstruction('a', 'b', (FunctionInstruction('f'), FunctionInstruction('g', 'x', extra={'k': 1}))),
        ToolInstruction('b', '', (FunctionInstruction('GET /x', required=(Parameter('p', default=None),)),)),
        ToolInstruction('c', 'none', ()),
    ]
    loaded = load_instructions(write(tmp_path, dump_instructions(tools)))
    assert list(loaded.values()) == tools
    one = tools[1]
    for shape in ('restbench', 'toolbench'):
        assert load_instructions(write(tmp_path, dump_instructions([one], shape))) == {'b': one}


TWO: dict[str, Any] = {  # as ToolBench's file has the two tools of Table 8: by ID
    '7': {'ID': 7, **BELLS, 'tool_guidelines': {**BELLS['tool_guidelines'], 'List': {**LIST, 'Example': {}}}},
    '12': {'ID': 12, **BELLS, 'tool_name': 'Bells', 'tool_guidelines': {'List': LIST}},
}
for entry in TWO.values():
    entry['standardized_name'] = entry['tool_name'].lower().replace(' ', '_')


def test_two_tools_by_id_come_back_key_by_key(tmp_path: Path) -> None:
    file = write(tmp_path, TWO)
    tools = load_instructions(file)
    assert [tool.id for tool in tools.values()] == [7, 12]
    assert ordered(dump_instructions(tools)) == ordered(file.read_text(encoding='utf-8'))
    ring, bell_list = tools['Bell Tower'].functions
    assert [(p.name, p.default) for p in ring.required] == [('bell', 'tenor'), ('strokes', '')]
    assert ring.optional[0].default is ABSENT and ring.optional[0].extra == {'enum': ['glad', None]}
    assert ring.example == Example('if you want to ring the tenor', {'bell': 'tenor', 'strokes': 3})
    assert bell_list.example is None and tools['Bell Tower'].extra == {'standardized_name': 'bell_tower'}


def test_layouts_of_the_toolbench_shape(tmp_path: Path) -> None:
    """By ID, by ID that only the key says, by name, as a list, and alone: the same tools."""
    tools = load_instructions(write(tmp_path, TWO))
    bare = {key: without(entry, 'ID') for key, entry in TWO.items()}
    by_key = load_instructions(write(tmp_path, bare))
    assert [tool.id for tool in by_key.values()] == ['7', '12']
    assert json.loads(dump_instructions(by_key)) == {key: {'ID': key, **entry} for key, entry in bare.items()}
    by_name = load_instructions(write(tmp_path, {entry['tool_name']: entry for entry in TWO.values()}))
    listed = load_instructions(write(tmp_path, list(TWO.values())))
    alone = load_instructions(write(tmp_path, TWO['12']))
    assert by_name == listed == tools and alone == {'Bells': tools['Bells']}
    nameless = load_instructions(write(tmp_path, {e['tool_name']: e for e in bare.values()}))
    assert [tool.id for tool in nameless.values()] == [None, None]


def test_a_guideline_is_called_as_its_key_says(tmp_path: Path) -> None:
    entry = {**BELLS, 'tool_guidelines': {'Ring': without(without(RING, 'name'), 'description')}}
    (ring,) = load_instructions(write(tmp_path, [entry]))['Bell Tower'].functions
    assert (ring.name, ring.description, len(ring.required)) == ('Ring', '', 2)
    written = json.loads(dump_instructions(load_instructions(write(tmp_path, [entry]))))
    assert written == [{**BELLS, 'tool_guidelines': {'Ring': RING}}]


def test_tools_of_one_name_are_told_apart_by_id(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = write(tmp_path, {'1': {**BELLS, 'ID': 1, 'tool_description': 'x'}, '2': {**BELLS, 'ID': 2}})
    assert [tool.id for tool in load_instructions(file).values()] == [2]
    assert "1 tools have the name of an earlier tool, such as 'Bell Tower'; the last counts" in caplog.text
    with pytest.raises(DataError, match='more than once'):
        load_instructions(write(tmp_path, [BELLS, BELLS]))


def without(entry: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name != key}


@pytest.mark.parametrize(
    ('value', 'record', 'message'),
    [
        ('{"0": ', None, 'neither JSON nor JSON lines'),
        ('[' * 100_000, None, 'neither JSON nor JSON lines'),
        ('[' * 300 + ']' * 300, None, 'too deep'),
        ('[]', None, 'no instructions'),
        ('[{"ID": 1, "tool_name": "a", "tool_name": "b"}]', None, 'twice'),
        ('[{"ID": NaN}]', None, 'NaN'),
        ([{'a': 1}], '0', 'match no shape'),
        ([KEY, KEY], '/key/{id}', 'more than once'),
        ([KEY, SUM], 'sum_', "'tool_usage' is missing"),
        ([KEY, 3], '1', 'not an object'),
        ([without(KEY, 'tool_description')], '/key/{id}', "'tool_description' is missing"),
        ([{**KEY, 'ID': [1]}], '/key/{id}', "'ID'"),
        ([{**KEY, 'Example': None}], '/key/{id}', "'Example'"),
        ([{**KEY, 'Example': {'Scenario': 'x'}}], '/key/{id}', 'must have the keys'),
        ([{**KEY, 'Example': {'Scenario': 'x', 'Parameters': []}}], '/key/{id}', "'Parameters'"),
        ({'1': SUM}, '1', 'differs from its key'),
        ({'1': BELLS, '2': 5}, '2', 'the entry is not an object'),
        ([{**BELLS, 'tool_guidelines': {'Ring': 5}}], 'Bell Tower', "guideline of 'Ring'"),
        ([{**BELLS, 'tool_guidelines': {'Toll': RING}}], 'Bell Tower', "guideline of 'Toll'"),
        ([{**SUM, 'Usage': {'required_parameters': {}}}], 'sum_', "'required_parameters'"),
        ([{**SUM, 'Usage': {'required_parameters': [3]}}], 'sum_', 'a parameter is not an object'),
        ([{**SUM, 'Usage': {'required_parameters': [{'name': 'x', 'type': 3}]}}], 'sum_', "'type' of parameter 'x'"),
        ([{**SUM, 'Usage': {'required_parameters': [{'name': 'x'}] * 2}}], 'sum_', 'a parameter twice'),
        ([{**BELLS, 'tool_guidelines': [RING]}], 'Bell Tower', "'tool_guidelines'"),
    ],
)
def test_faults_name_file_and_tool(value: Any, record: str | None, message: str, tmp_path: Path) -> None:
    file = write(tmp_path, value)
    with pytest.raises(DataError) as error:
        load_instructions(file)
    assert str(file) in str(error.value) and message in str(error.value)
    with pytest.raises(DataError, match='missing'):
        load_instructions(tmp_path / 'nowhere.json')
    assert (f'record {record!r}' in str(error.value)) == (record is not None)


def tool(*functions: FunctionInstruction, name: str = 'a', number: Any = None) -> ToolInstruction:
    return ToolInstruction(name, 'b', functions, id=number)


@pytest.mark.parametrize(('tools', 'shape', 'message'), [
    ([tool()], 'restbench', 'exactly one function'),
    ([tool(FunctionInstruction('f', 'x'))], 'restbench', 'cannot store a name'),
    ([tool(FunctionInstruction('f'))], 'funcqa', 'cannot store a name'),
    ([tool(FunctionInstruction('a'))], 'funcqa_names', 'cannot store functions'),
    ([tool(*[FunctionInstruction('f')] * 2)], 'toolbench', 'two functions'),
    ([tool(), tool()], 'toolbench', 'same name'),
    ([tool(number=1), tool(name='c', number='1')], 'toolbench', 'same ID'),
    ([tool()], 'json', 'unknown shape'),
])  # fmt: skip
def test_what_a_shape_cannot_hold(tools: list[ToolInstruction], shape: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dump_instructions(tools, shape)
