"""Formats a tool for a model or an encoder, from its documentation or its EasyTool instruction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.tool_docs.instruction import FunctionInstruction, ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions, to_entry
from opencompass_tooleval.tool_docs.render import compact, to_json
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc

_OF_RESPONSES = ('template_response', 'test_endpoint')


def match_instructions(file: Path, tools: Mapping[str, ToolDoc], fix: str) -> dict[str, ToolInstruction]:
    """Reads the instructions for a test file's tools.

    Args:
        file: A file in any published format; it may also contain other tools.
        tools: The documented tools.
        fix: The command that makes the file.

    Returns:
        Name -> instruction, for each of ``tools`` and in their order.

    Raises:
        DataError: The file is damaged, or tools or functions have no instruction; the error counts and names them.
    """
    instruction_of = load_instructions(file)
    missing = []
    for name, doc in tools.items():
        guided = {function.name for function in instruction_of[name].functions} if name in instruction_of else set()
        if name not in instruction_of:
            missing.append(name)
        missing += [f'{name}: {f.name}' for f in doc.functions if name in instruction_of and f.name not in guided]
    if missing:
        raise DataError(file, f'{len(missing)} tools or APIs have no instruction: {first_of(missing)}', fix=fix)
    return {name: instruction_of[name] for name in tools}


def documented_tool(doc: ToolDoc) -> str:
    """Returns the documented description of a tool, if it has one, followed by the descriptions of its APIs.

    The test files describe only APIs, not whole tools.
    """
    head = f'{doc.name}: {doc.description}' if doc.description else doc.name
    return '\n'.join([head, *(f'- {f.name}: {f.description}'.rstrip(': ') for f in doc.functions)])


def instructed_tool(instruction: ToolInstruction) -> str:
    """Returns the tool's name and the description in its instruction, which names its functions (Table 8)."""
    return f'{instruction.name}: {instruction.description}'


def documented_api(doc: ToolDoc, function: FunctionDoc) -> str:
    """Returns the documented description of one API."""
    return f'{doc.name}: {function.name}: {function.description}'.rstrip(': ')


def instructed_api(instruction: ToolInstruction, function: FunctionInstruction) -> str:
    """Returns the description of one function in an instruction; a tool's only function may use the tool's."""
    alone = len(instruction.functions) == 1 and not function.description
    description = instruction.description if alone else function.description
    return f'{instruction.name}: {function.name}: {description}'.rstrip(': ')


def api_document(doc: ToolDoc, function: FunctionDoc) -> str:
    """Returns the complete documentation of one API, as ToolBench's retriever indexes it (Qin et al., 2023)."""
    raw: Mapping[str, Any] = function.raw if isinstance(function.raw, Mapping) else {}
    head: Mapping[str, Any] = doc.raw if isinstance(doc.raw, Mapping) else {}
    fields = {
        'required_params': raw.get('required_parameters', ''),
        'optional_params': raw.get('optional_parameters', ''),
        'return_schema': raw.get('template_response', ''),
    }
    names = [str(head.get('category_name') or ''), doc.name, function.name, function.description]
    return ', '.join([*names, *(f'{name}: {to_json(value)}' for name, value in fields.items())])


def guideline(instruction: ToolInstruction, function: FunctionInstruction) -> dict[str, Any]:
    """Returns the guideline of one function: parameters and example (Table 8)."""
    alone = replace(instruction, description='', functions=(function,))
    guideline: dict[str, Any] = to_entry(alone, 'toolbench')['tool_guidelines'][function.name]
    return guideline


def documented_calls(doc: ToolDoc, apis: Collection[str]) -> str:
    """Returns the documentation of some of a tool's APIs as JSON: all data except the form of responses."""
    functions = [function for function in doc.functions if function.name in apis]
    raws = [function.raw for function in functions if isinstance(function.raw, Mapping)]
    shown_raws = [{key: value for key, value in raw.items() if key not in _OF_RESPONSES} for raw in raws]
    head = {key: value for key, value in dict(doc.raw).items() if key != 'api_list'}  # type: ignore[arg-type]
    return to_json({**head, 'api_list': shown_raws})


def instructed_calls(instruction: ToolInstruction, apis: Collection[str]) -> str:
    """Returns the instruction of a tool, with the guidelines of some of its functions, without empty members.

    The tool's description lists all functions. It is left out if only some of them are included, since it would suggest
    calls of the others.
    """
    entry = to_entry(instruction, 'toolbench')
    guidelines = {name: entry['tool_guidelines'][name] for name in entry['tool_guidelines'] if name in apis}
    described = {'tool_description': instruction.description} if len(guidelines) == len(instruction.functions) else {}
    return to_json(compact({'tool_name': instruction.name, **described, 'tool_guidelines': guidelines}))
