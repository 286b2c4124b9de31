"""Tasks with EasyTool instructions: the model sees guidelines instead of documentation.

The environment does not change: parameter names and valid arguments are those of the documentation, which a simulator
still reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.names import json_type, standard_parameter
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.data_path import candidate_paths, resolve_data_path
from opencompass_tooleval.instructions.instruct import Catalogue, Found, guideline
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from opencompass_tooleval.work_dir.data_files import command_to_generate

_GROUPS = ('required_parameters', 'optional_parameters')


def instruct_task(task: Task, catalogue: Catalogue) -> Task:
    """Returns a task with instructions; the catalogue records missing ones.

    Args:
        task: A task as its reader returns it.
        catalogue: The instructions; check it after all tasks.
    """
    guidelines = {
        tool.name: entry for tool in task.tools if (entry := _guideline(tool.name, task, catalogue)) is not None
    }
    tools = tuple(_instructed(tool, guidelines.get(tool.name, {})) for tool in task.tools)
    return replace(task, tools=tools, instructions=guidelines)


def _guideline(name: str, task: Task, catalogue: Catalogue) -> dict[str, Any] | None:
    """Returns the guideline of a tool, with the names used in calls."""
    document = task.documents[name]
    is_toolbench = 'api_name' in document
    if is_toolbench:
        found = catalogue.find_function(document['tool_name'], document['api_name'], task.id)
    else:
        found = catalogue.find(name, task.id)
    return _entry(name, found, standard_parameter if is_toolbench else str) if found else None


def _entry(name: str, found: Found, called: Callable[[str], str]) -> dict[str, Any] | None:
    tool, function = found
    if function is None:
        return None
    entry = guideline(name, tool, function)
    for group in _GROUPS:
        entry[group] = [{**parameter, 'name': called(parameter['name'])} for parameter in entry[group]]
    if 'Example' in entry:
        passed = {called(key): value for key, value in entry['Example']['Parameters'].items()}
        entry['Example'] = {**entry['Example'], 'Parameters': passed}
    return {'tool_name': tool.name, 'tool_description': tool.description, **entry}


def _instructed(tool: ToolSchema, entry: Mapping[str, Any]) -> ToolSchema:
    """Describes a tool by its guideline; only names and types remain from its documentation."""
    described = {parameter['name']: parameter for group in _GROUPS for parameter in entry.get(group, ())}
    documented = tool.parameters.get('properties', {})
    # A guideline may have parameters that ToolBench does not show; the model may pass them.
    unseen = {
        name: {'type': json_type(parameter.get('type'))}
        for name, parameter in described.items()
        if name not in documented
    }
    properties = {name: _property(schema, described.get(name, {})) for name, schema in {**documented, **unseen}.items()}
    description = str(entry.get('description', ''))
    if example := entry.get('Example'):
        passed = json.dumps(example['Parameters'], ensure_ascii=False)
        description = f'{description}\nExample: {example["Scenario"]} {passed}'.strip()
    return ToolSchema(tool.name, description, {**tool.parameters, 'properties': properties})


_INNER = frozenset({'items', 'prefixItems', 'additionalProperties', 'anyOf', 'oneOf', 'allOf'})
"""Keys of subschemas in a schema, besides ``properties``."""
_DOCUMENTED = frozenset({'title', 'description', 'example', 'examples', 'example_value', 'default'})
"""Keys that describe a parameter without restricting its values."""


def _without_texts(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Removes texts and examples from a schema and its subschemas."""
    kept = {key: value for key, value in schema.items() if key not in _DOCUMENTED}
    if isinstance(kept.get('properties'), Mapping):
        kept['properties'] = {name: _of_inner(inner) for name, inner in kept['properties'].items()}
    return {key: _of_inner(value) if key in _INNER else value for key, value in kept.items()}


def _of_inner(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _without_texts(value)
    return [_of_inner(each) for each in value] if isinstance(value, list) else value


def _property(schema: Mapping[str, Any], described: Mapping[str, Any]) -> dict[str, Any]:
    kept = _without_texts(schema)
    more = {key: described[key] for key in ('description', 'default') if key in described}
    return {**kept, **more}


def load_instructed(tasks: Sequence[Task], instructions: str, name: str, data: Path) -> tuple[list[Task], Path]:
    """Returns tasks with the instructions of a file.

    Args:
        tasks: Tasks as their reader returns them.
        instructions: The file of instructions; its path is resolved like that of a data file.
        name: The subset, for messages.
        data: The file of the tasks.

    Returns:
        The tasks, and the path of the instructions.

    Raises:
        DataError: The file is missing or damaged, or tools have no instruction; the error contains the command that
            makes them.
    """
    source = name.partition('_')[0]
    fix = command_to_generate(source, data, candidate_paths(instructions)[0])
    file = resolve_data_path(instructions, fix)
    catalogue = Catalogue(load_instructions(file), file, fix)
    instructed = [instruct_task(task, catalogue) for task in tasks]
    catalogue.check(name)
    return instructed, file
