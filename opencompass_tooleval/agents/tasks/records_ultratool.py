"""Reads UltraTool's annotated samples as tasks: a question with its tools, and the calls of its plan."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.tasks.errata import NO_GOLD, UNFIT_GOLD, Erratum, check_gold
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.benchmarks.ultratool.data import (
    Argument,
    Call,
    PlanSample,
    RawTool,
    properties,
    read_samples,
)
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema, describe_tool
from opencompass_tooleval.core.text.reading import parse_literal

_KINDS: dict[str, tuple[type, ...]] = {
    'integer': (int,),
    'number': (int, float),
    'boolean': (bool,),
    'array': (list,),
    'object': (dict,),
}


def read_ultratool_tasks(file: Path, subset: str, errata: list[Erratum], change: Change | None = None) -> list[Task]:
    """Reads the tasks of a file of annotated samples; a task's id is its row.

    Args:
        file: ``test.json`` or ``dev.json`` of a language; damaged rows of ``dev.json`` are left out.
        subset: Name of the subset.
        errata: Receives the errors in the data.
        change: Changes the rows for a variant.

    Raises:
        DataError: The file is missing or damaged; the error names the row.
    """
    samples = read_samples(file, skipped=[] if file.name == 'dev.json' else None, change=change)
    return [_task(sample, subset, errata) for sample in samples]


def _task(sample: PlanSample, subset: str, errata: list[Erratum]) -> Task:
    row = str(sample.row)
    tools = tuple(map(_schema, sample.tools))
    schemas = {tool.name: tool.parameters for tool in reversed(tools)}  # if two share a name, the first is called
    gold = tuple(_gold_call(call, schemas[call.tool], row, errata) for call in sample.calls.values())
    if not gold:
        errata.append(Erratum(row, '', NO_GOLD))
    documents = {str(tool['name']): tool for tool in sample.tools}
    return Task(row, subset, sample.question.strip(), tools, gold, documents)


def _schema(tool: RawTool) -> ToolSchema:
    arguments = tool.get('arguments')
    required = arguments.get('required') if isinstance(arguments, Mapping) else None
    parameters = {name: schema if isinstance(schema, dict) else {} for name, schema in properties(tool).items()}
    needed = [name for name in required if name in parameters] if isinstance(required, list) else []
    schema = {'type': 'object', 'properties': parameters, 'required': needed}
    name = str(tool['name'])
    return ToolSchema(name, describe_tool(name, str(tool.get('description') or ''), tool.get('results')), schema)


def _gold_call(call: Call, schema: Mapping[str, Any], row: str, errata: list[Erratum]) -> GoldCall:
    """Converts a call of the plan; as in the published tool_usage, unknown arguments are left out."""
    schemas = schema['properties']
    arguments = [argument for argument in call.arguments if argument.name in schemas]
    values = {argument.name: _value(argument, schemas[argument.name]) for argument in arguments}
    open_arguments = tuple(argument.name for argument in arguments if _is_open(argument))
    gold, kinds = check_gold(GoldCall(call.tool, values, open_arguments), schema)
    left_out = [UNFIT_GOLD] if len(arguments) < len(call.arguments) else []
    errata += [Erratum(row, call.tool, kind) for kind in dict.fromkeys([*left_out, *kinds])]
    return gold


def _is_open(argument: Argument) -> bool:
    """Tests if the plan names the source of a value instead of the value: ``<Current account balance>``."""
    return '<' in argument.raw and '>' in argument.raw


def _value(argument: Argument, schema: Any) -> Any:
    """Returns the value in the schema's type; its text if the conversion is impossible."""
    kinds = _KINDS.get(schema.get('type', ''), ()) if isinstance(schema, dict) else ()
    text = argument.value
    if not kinds or len(text) > 10_000:
        return text
    literal = parse_literal(text)
    value = literal.value if literal.ok else {'true': True, 'false': False}.get(text.strip().lower(), text)
    fits = isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))
    return value if fits else text
