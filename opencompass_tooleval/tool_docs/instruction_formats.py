"""Reads and writes tool instructions in the published shapes, without loss.

=================  ===================================================================================================
shape              one entry
=================  ===================================================================================================
``restbench``      ``ID, tool_name, tool_description, tool_usage, Example {Scenario, Parameters}``; a list of them
``funcqa``         ``ID, standardized_name, API_description, Usage {required_parameters, Example}``; an object by ID
``funcqa_names``   ``ID, description``; JSON lines (FuncQA's ``tool_dic.jsonl``, the list to choose tools from)
``toolbench``      ``tool_name, tool_description, tool_guidelines {API: {name, description, required_parameters,
                   optional_parameters, Example}}`` (Table 8); an object by ID, or by name, a list, or one entry
=================  ===================================================================================================

``toolbench`` can store every instruction; the others only tools with one function. Keys that a shape does not know
(``standardized_name`` of ToolBench's) are kept in ``extra`` and written after the known keys. The key of a guideline is
its name: a guideline without ``name`` or ``description`` is written with both. If several ToolBench tools with
different ``ID`` share a name, the last counts, as in EasyTool's script, and a warning names it.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError, Fault
from opencompass_tooleval.core.text.json_object import TOO_DEEP
from opencompass_tooleval.tool_docs.instruction import ABSENT, Example, FunctionInstruction, Parameter, ToolInstruction
from opencompass_tooleval.work_dir.data_files import read_json

Entry = dict[str, Any]

logger = logging.getLogger(__name__)

_QUOTED = re.compile(r"'([^']+)'")

_MOST_SHOWN = 200
"""Maximum length of a name in a message."""


def _need(entry: Mapping[str, Any], key: str, kind: type = str) -> Any:
    if not isinstance(entry.get(key), kind):
        raise Fault(f'{key!r} is missing or not of type {kind.__name__}')
    return entry[key]


def _rest(entry: Mapping[str, Any], *read_keys: str) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in read_keys}


def _id(entry: Mapping[str, Any]) -> int | str | None:
    value = entry.get('ID')
    if 'ID' in entry and (not isinstance(value, (int, str)) or isinstance(value, bool)):
        raise Fault("'ID' is neither a number nor a text")
    return value


def read_parameter(raw: Any) -> Parameter:
    """Parses ``{name, type, description, default, ...}``.

    Raises:
        ValueError: It is not an object with a name, or its type or description is not text.
    """
    if not isinstance(raw, dict):
        raise Fault('a parameter is not an object')
    for key in ('type', 'description'):
        if not isinstance(raw.get(key, ''), str):
            raise Fault(f'{key!r} of parameter {str(raw.get("name"))[:_MOST_SHOWN]!r} is not a string')
    return Parameter(
        _need(raw, 'name'),
        raw.get('type', ''),
        raw.get('description', ''),
        raw.get('default', ABSENT),
        _rest(raw, 'name', 'type', 'description', 'default'),
    )


def _write_parameter(parameter: Parameter, *, described: bool) -> Entry:
    entry: Entry = {'name': parameter.name}
    if parameter.type:
        entry['type'] = parameter.type
    if parameter.description or described:
        entry['description'] = parameter.description
    if parameter.default is not ABSENT:
        entry['default'] = parameter.default
    return {**entry, **parameter.extra}


def _parameters(entry: Mapping[str, Any], key: str) -> tuple[Parameter, ...]:
    parameters = tuple(read_parameter(raw) for raw in (_need(entry, key, list) if key in entry else []))
    if len({parameter.name for parameter in parameters}) < len(parameters):
        raise Fault(f'{key!r} names a parameter twice')
    return parameters


def _write_parameters(function: FunctionInstruction, *, always: bool) -> Entry:
    groups = {'required_parameters': function.required, 'optional_parameters': function.optional}
    return {
        key: [_write_parameter(parameter, described=always) for parameter in group]
        for key, group in groups.items()
        if group or always
    }


def _example(entry: Mapping[str, Any]) -> Example | None:
    if 'Example' not in entry:
        return None
    raw = _need(entry, 'Example', dict)
    if set(raw) != {'Scenario', 'Parameters'}:
        raise Fault("'Example' must have the keys 'Scenario' and 'Parameters'")
    return Example(_need(raw, 'Scenario'), _need(raw, 'Parameters', dict))


def _write_example(example: Example | None) -> Entry:
    if example is None:
        return {}
    return {'Example': {'Scenario': example.scenario, 'Parameters': dict(example.parameters)}}


def _only_function(instruction: ToolInstruction, shape: str, *, named: bool = False) -> FunctionInstruction:
    if len(instruction.functions) != 1:
        raise ValueError(f'shape {shape} needs tools with exactly one function, unlike {instruction.name!r}')
    function = instruction.functions[0]
    if function.description or (named and function.name != instruction.name):
        raise ValueError(f'shape {shape} cannot store a name and description for the function of {instruction.name!r}')
    return function


def _write_id(instruction: ToolInstruction) -> Entry:
    return {} if instruction.id is None else {'ID': instruction.id}


def _read_restbench(entry: Entry) -> ToolInstruction:
    keys = ('required_parameters', 'optional_parameters')
    function = FunctionInstruction(
        _need(entry, 'tool_usage'),
        required=_parameters(entry, keys[0]),
        optional=_parameters(entry, keys[1]),
        example=_example(entry),
    )
    read_keys = ('ID', 'tool_name', 'tool_description', 'tool_usage', 'Example', *keys)
    name, description = _need(entry, 'tool_name'), _need(entry, 'tool_description')
    return ToolInstruction(name, description, (function,), _id(entry), _rest(entry, *read_keys))


def _write_restbench(instruction: ToolInstruction) -> Entry:
    function = _only_function(instruction, 'restbench')
    return {
        **_write_id(instruction),
        'tool_name': instruction.name,
        'tool_description': instruction.description,
        'tool_usage': function.name,
        **_write_parameters(function, always=False),  # the published file has no parameters
        **_write_example(function.example),
        **function.extra,
        **instruction.extra,
    }


def _read_funcqa(entry: Entry) -> ToolInstruction:
    usage, keys = _need(entry, 'Usage', dict), ('required_parameters', 'optional_parameters')
    name = _need(entry, 'standardized_name')
    function = FunctionInstruction(
        name,
        required=_parameters(usage, keys[0]),
        optional=_parameters(usage, keys[1]),
        example=_example(usage),
        extra=_rest(usage, *keys, 'Example'),
    )
    rest = _rest(entry, 'ID', 'standardized_name', 'API_description', 'Usage')
    return ToolInstruction(name, _need(entry, 'API_description'), (function,), _id(entry), rest)


def _write_funcqa(instruction: ToolInstruction) -> Entry:
    function = _only_function(instruction, 'funcqa', named=True)
    usage = {**_write_parameters(function, always=False), **_write_example(function.example), **function.extra}
    return {
        **_write_id(instruction),
        'standardized_name': instruction.name,
        'API_description': instruction.description,
        'Usage': usage,
        **instruction.extra,
    }


def _read_names(entry: Entry) -> ToolInstruction:
    description, number = _need(entry, 'description'), _id(entry)
    quoted = _QUOTED.match(description)  # only the description contains the name
    name = quoted[1] if quoted else str(number)
    return ToolInstruction(name, description, (), number, _rest(entry, 'ID', 'description'))


def _write_names(instruction: ToolInstruction) -> Entry:
    if instruction.functions:
        raise ValueError(f'shape funcqa_names cannot store functions, but {instruction.name!r} has some')
    return {**_write_id(instruction), 'description': instruction.description, **instruction.extra}


def _read_guideline(name: str, raw: Any) -> FunctionInstruction:
    if not isinstance(raw, dict) or raw.get('name', name) != name:
        raise Fault(f'the guideline of {name[:_MOST_SHOWN]!r} is not an object with that name')
    keys = ('required_parameters', 'optional_parameters')
    read_keys = ('name', 'description', *keys)
    has_example = raw.get('Example') not in (None, '', {})  # empty if none could be made
    return FunctionInstruction(
        name,
        _need({'description': '', **raw}, 'description'),
        _parameters(raw, keys[0]),
        _parameters(raw, keys[1]),
        _example(raw) if has_example else None,
        _rest(raw, *read_keys, 'Example') if has_example else _rest(raw, *read_keys),
    )


def _read_toolbench(entry: Entry) -> ToolInstruction:
    guidelines = _need(entry, 'tool_guidelines', dict)
    functions = tuple(_read_guideline(name, raw) for name, raw in guidelines.items())
    rest = _rest(entry, 'ID', 'tool_name', 'tool_description', 'tool_guidelines')
    name, description = _need(entry, 'tool_name'), _need(entry, 'tool_description')
    return ToolInstruction(name, description, functions, _id(entry), rest)


def _write_toolbench(instruction: ToolInstruction) -> Entry:
    guidelines: Entry = {}
    for function in instruction.functions:
        if function.name in guidelines:
            raise ValueError(f'tool {instruction.name!r} has two functions {function.name!r}')
        guidelines[function.name] = {
            'name': function.name,
            'description': function.description,
            **_write_parameters(function, always=True),
            **_write_example(function.example),
            **function.extra,
        }
    return {
        **_write_id(instruction),
        'tool_name': instruction.name,
        'tool_description': instruction.description,
        'tool_guidelines': guidelines,
        **instruction.extra,
    }


@dataclass(frozen=True)
class Shape:
    """A published shape.

    Attributes:
        marks: The combination of keys that identifies its entries.
        layout: ``list``, ``by_id`` or ``lines``: how a file stores entries.
        read: Converts an entry to an instruction.
        write: Converts an instruction to an entry; raises ValueError if the shape cannot store it.
    """

    marks: frozenset[str]
    layout: str
    read: Callable[[Entry], ToolInstruction]
    write: Callable[[ToolInstruction], Entry]


SHAPES: Mapping[str, Shape] = {
    'toolbench': Shape(frozenset({'tool_name', 'tool_guidelines'}), 'by_id', _read_toolbench, _write_toolbench),
    'restbench': Shape(frozenset({'tool_name', 'tool_usage'}), 'list', _read_restbench, _write_restbench),
    'funcqa': Shape(frozenset({'standardized_name', 'Usage'}), 'by_id', _read_funcqa, _write_funcqa),
    'funcqa_names': Shape(frozenset({'ID', 'description'}), 'lines', _read_names, _write_names),
}


def _unique(pairs: list[tuple[str, Any]]) -> Entry:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        keys = ', '.join(map(repr, entry))[:_MOST_SHOWN]
        raise Fault(f'an object has one of the keys {keys} twice')
    return entry


def _no_number(word: str) -> None:
    raise Fault(f'{word} is not JSON')


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError as error:
        raise Fault(TOO_DEEP) from error


def _entries(path: Path) -> list[Any]:
    value = read_json(path, _parse)
    if isinstance(value, dict):
        value = [value] if _shape_of(value) else [_keyed(path, key, entry) for key, entry in value.items()]
    if not isinstance(value, list) or not value:
        raise DataError(path, 'the file contains no instructions')
    return value


def _keyed(path: Path, key: str, entry: Any) -> Entry:
    """Returns an entry of an object by ID or name; without ``ID`` it gets the key as ``ID``, unless this is its
    name."""
    if not isinstance(entry, dict):
        raise DataError(path, 'the entry is not an object', key[:_MOST_SHOWN])
    if 'ID' not in entry:
        return entry if key in (entry.get('tool_name'), entry.get('standardized_name')) else {'ID': key, **entry}
    if str(entry['ID']) != key and key != entry.get('tool_name'):
        raise DataError(path, "the entry's 'ID' differs from its key", key[:_MOST_SHOWN])
    return entry


def _shape_of(entry: Any) -> Shape | None:
    return next((shape for shape in SHAPES.values() if isinstance(entry, dict) and shape.marks <= set(entry)), None)


def load_instructions(path: Path) -> dict[str, ToolInstruction]:
    """Reads instructions in any of ``SHAPES``.

    Args:
        path: A published file, or one that ``tooleval easytool generate`` wrote.

    Returns:
        Tool name -> instruction, in the file's order.

    Raises:
        DataError: The file is missing or not JSON, an entry has another shape, or two tools share a name.
    """
    entries = _entries(path)
    shape = _shape_of(entries[0])
    if shape is None:
        raise DataError(path, f'the entries match no shape ({", ".join(SHAPES)})', '0')
    instructions: dict[str, ToolInstruction] = {}
    doubled: list[str] = []
    for number, entry in enumerate(entries):
        try:
            if not isinstance(entry, dict):
                raise Fault('the entry is not an object')
            instruction = shape.read(entry)
        except Fault as fault:
            named = entry.get('tool_name', entry.get('standardized_name')) if isinstance(entry, dict) else None
            raise DataError(path, str(fault), str(named or number)[:_MOST_SHOWN]) from fault
        if instruction.name in instructions:
            earlier = instructions.pop(instruction.name)
            if shape is not SHAPES['toolbench'] or None in (earlier.id, instruction.id) or earlier.id == instruction.id:
                raise DataError(path, 'the tool occurs more than once', instruction.name[:_MOST_SHOWN])
            doubled.append(instruction.name)
        instructions[instruction.name] = instruction
    if doubled:
        logger.warning('%s: %d tools have the name of an earlier tool, such as %r; the last counts',
                       path, len(doubled), doubled[0][:_MOST_SHOWN])  # fmt: skip
    return instructions


def to_entry(instruction: ToolInstruction, shape: str = 'toolbench') -> Entry:
    """Converts an instruction to an entry of a shape.

    Raises:
        ValueError: The shape does not exist, or cannot store the instruction.
    """
    if shape not in SHAPES:
        raise ValueError(f'unknown shape {shape!r}; choose one of {", ".join(SHAPES)}')
    return SHAPES[shape].write(instruction)


def dump_instructions(
    instructions: Mapping[str, ToolInstruction] | Iterable[ToolInstruction], shape: str = 'toolbench'
) -> str:
    """Formats instructions as the text of a file, from which :func:`load_instructions` returns the same instructions.

    Args:
        instructions: Tool name -> instruction as loaded, or an iterable of instructions.
        shape: One of ``SHAPES``.

    Raises:
        ValueError: The shape does not exist or cannot store an instruction, or two tools have the same name or ID.
    """
    tools = list(instructions.values() if isinstance(instructions, Mapping) else instructions)
    entries = [to_entry(tool, shape) for tool in tools]
    for what, values in (('name', [tool.name for tool in tools]), ('ID', [tool.id for tool in tools])):
        given = [value for value in values if value is not None]
        if len(set(map(str, given))) < len(given):
            raise ValueError(f'two instructions have the same {what}')
    layout = SHAPES[shape].layout
    if layout == 'lines':
        return ''.join(json.dumps(entry, ensure_ascii=False) + '\n' for entry in entries)
    by_id = layout == 'by_id' and all('ID' in entry for entry in entries)
    value = {str(entry['ID']): entry for entry in entries} if by_id else entries
    return json.dumps(value, indent=4, ensure_ascii=False) + '\n'
