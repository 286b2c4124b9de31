"""Tools of a service: as texts in prompts, from documentation or EasyTool instructions, and as native tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.restbench.paths import Inventory
from opencompass_tooleval.benchmarks.restbench.prompts import documentation_text
from opencompass_tooleval.benchmarks.restbench.records import FIX, Record
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.tool_docs.function_tools import function_tool
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions, to_entry
from opencompass_tooleval.tool_docs.render import render_instruction
from opencompass_tooleval.tool_docs.sources import load_docs
from opencompass_tooleval.tool_docs.template import sample_value
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc
from opencompass_tooleval.work_dir.data_files import command_to_generate, shown_files


@dataclass(frozen=True)
class Toolbox:
    """The tools of a service.

    Attributes:
        inventory: Tool names, in the document's order.
        texts: Tool texts in the prompt, in the same order.
        shown: ``tools`` (``documentation`` or ``instructions``), and the names and SHA-256 of the files, for
            provenance.
        functions: Tool documentation, in the same order.
        entries: The complete instructions for EasyTool's prompt, in the file's order; empty unless answers choose tools
            by number.
    """

    inventory: Inventory
    texts: tuple[str, ...]
    shown: dict[str, str]
    functions: tuple[FunctionDoc, ...]
    entries: tuple[Mapping[str, Any], ...] = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """The number of each tool of the inventory; empty if tools are not chosen by number."""
        number = {entry['tool_usage']: int(entry['ID']) for entry in self.entries}
        return tuple(number[name] for name in self.inventory.names) if number else ()


def load_functions(document: Path) -> tuple[FunctionDoc, ...]:
    """Reads the tools of an OpenAPI document: one per path and method.

    Raises:
        DataError: The file is missing or not an OpenAPI document.
    """
    return tuple(function for tool in load_docs('openapi', document) for function in tool.functions)


def match_instructions(file: Path, inventory: Inventory, fix: str = '') -> list[ToolInstruction]:
    """Reads a file of instructions; returns them in the inventory's order.

    Returns:
        One instruction per tool in the file; it covers all functions of that tool.

    Raises:
        DataError: A tool has no instruction or two, or an instruction is for an unknown tool; the error lists them.
    """
    tool_of: dict[str, ToolInstruction] = {}
    doubled = []
    for tool in load_instructions(file).values():
        for function in tool.functions:
            if function.name in tool_of:
                doubled.append(function.name)
            tool_of[function.name] = tool
    faults = {
        'tools without an instruction': [name for name in inventory.names if name not in tool_of],
        'instructions for unknown tools': [name for name in tool_of if name not in inventory],
        'tools with several instructions': doubled,
    }
    problems = '; '.join(f'{len(names)} {fault}: {", ".join(names)}' for fault, names in faults.items() if names)
    if problems:
        raise DataError(file, problems, fix=fix)
    return list({tool_of[name].name: tool_of[name] for name in inventory.names}.values())


def _numbered(file: Path) -> tuple[Mapping[str, Any], ...]:
    """Returns a file's instructions in order, with their ``ID``; if no entry has one, numbered from 1."""
    tools = list(load_instructions(file).values())
    bare = all(tool.id is None for tool in tools)
    entries: list[Mapping[str, Any]] = []
    for number, tool in enumerate(tools, start=1):
        if not bare and (not isinstance(tool.id, int) or tool.id < 0):
            raise DataError(file, "'ID' must be a number from 0, since answers choose tools by it", tool.name)
        try:
            entries.append({'ID': number if bare else tool.id, **to_entry(tool, 'restbench')})
        except ValueError as error:
            raise DataError(file, str(error), tool.name) from error
    if len({entry['ID'] for entry in entries}) < len(entries):
        raise DataError(file, "two tools have the same 'ID'")
    return tuple(entries)


METHODS = ('names', 'easytool', 'function_calling')
"""Kinds of answers: tool names (our prompt), tool numbers (EasyTool's prompt), or native calls."""


def open_toolbox(
    document: Path, instructions: Path | None = None, method: str = 'names', change: Change | None = None
) -> Toolbox:
    """Reads a service's OpenAPI document, and the instructions that replace it, if any.

    Args:
        document: Path of the document.
        instructions: A file of instructions.
        method: One of ``METHODS``; ``easytool`` needs instructions of one function each.
        change: Changes the documented tools, by name, for a variant.

    Raises:
        DataError: A file is missing or damaged, or the instructions do not match the document's tools.
        ValueError: The method does not exist, needs instructions, or does not accept them.
    """
    if method not in METHODS:
        raise ValueError(f'RestBench has methods {", ".join(METHODS)}, not {method!r}')
    if method == 'function_calling' and instructions is not None:
        raise ValueError("method 'function_calling' uses the documented tools: leave out instructions")
    if method == 'easytool' and instructions is None:
        raise ValueError("method 'easytool' needs instructions: name the file")
    if not document.is_file():
        raise DataError(document, 'the OpenAPI document is missing', fix=FIX)
    functions = load_functions(document)
    if change:
        functions = tuple(change({function.name: function for function in functions}).values())
    try:
        inventory = Inventory(function.name for function in functions)
    except ValueError as error:
        raise DataError(document, str(error)) from error
    shown = shown_files('document', document, instructions)
    shown |= {'method': method} if method != 'names' else {}
    if instructions is None:
        return Toolbox(inventory, tuple(map(documentation_text, functions)), shown, functions)
    matched = match_instructions(instructions, inventory, command_to_generate('openapi', document, instructions))
    numbered = _numbered(instructions) if method == 'easytool' else ()
    return Toolbox(inventory, tuple(map(render_instruction, matched)), shown, functions, numbered)


def offered_tools(functions: Sequence[FunctionDoc]) -> ToolSet:
    """Returns the operations of an OpenAPI document as native tools, with the parameters of path, query and body.

    Each has a name such as ``GET /movie/{movie_id}``; an answer may call several.
    """
    return ToolSet([function_tool(function, has_defaults=False) for function in functions], parallel=True)


def gold_calls(record: Record, functions: Sequence[FunctionDoc]) -> list[ToolCall]:
    """Returns the gold path as calls. RestBench has no gold arguments: required ones get documented or invented values.

    A step keeps the name in the scored gold path, even a wrong one; its arguments are those of the intended tool.
    """
    required = {function.name: function.required for function in functions}
    return [
        ToolCall(step, {parameter.name: sample_value(parameter) for parameter in required[meant]})
        for step, meant in zip(record.path, record.repaired, strict=True)
    ]
