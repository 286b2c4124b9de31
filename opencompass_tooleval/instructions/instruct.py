"""Builds EasyTool's prompts: replaces documentation with instructions, and changes nothing else.

T-Eval: each API description in a system prompt is replaced by its guideline in EasyTool's format (Table 8). The layout
of the prompt stays.

UltraTool: the toolsets of the query and of the one-shot example are replaced. In tasks that choose tools (selection,
creation awareness) a tool consists of ``name`` and ``description``, from which EasyTool chooses (Section 4.2, Figure
3). In tasks that call tools (usage) it also has its guideline, in the format that the prompt names: ``arguments`` with
``properties``, and an ``Example``. ``results`` are omitted, since the gold uses no names from them
(docs/explanation/easytool.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.instructions.subsets import TEVAL_VARIANTS, ULTRATOOL_BUILT_VARIANTS, ULTRATOOL_VARIANTS
from opencompass_tooleval.tool_docs.api_list import find_api_list, write_api_list
from opencompass_tooleval.tool_docs.instruction import ABSENT, FunctionInstruction, Parameter, ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import to_entry

Found = tuple[ToolInstruction, FunctionInstruction | None]

VARIANTS = {'teval': TEVAL_VARIANTS, 'ultratool': (*ULTRATOOL_VARIANTS, *ULTRATOOL_BUILT_VARIANTS)}


def check_variant(benchmark: str, subset: str) -> None:
    """Checks that a subset's prompts contain documentation.

    Raises:
        ValueError: They contain none; the error lists the subsets whose prompts do.
    """
    if subset not in VARIANTS[benchmark]:
        have = ', '.join(VARIANTS[benchmark])
        raise ValueError(f'{subset} cannot be run with instructions; these can: {have}')


@dataclass
class Catalogue:
    """Instructions by tool name, and the tools without an instruction.

    Attributes:
        tools: Tool name -> instruction.
        file: File of the instructions, for messages.
        fix: The command that makes the file.
        missing: Tools that were not found -> the first record that needs the tool.
    """

    tools: Mapping[str, ToolInstruction]
    file: Path
    fix: str = ''
    missing: dict[str, str] = field(default_factory=dict)

    def find(self, name: str, record: str, described: bool = False) -> Found | None:
        """Finds the instruction for a ``name`` in the documentation; if none exists, records it as missing.

        A name is a tool with one function, or the function ``api`` or ``tool.api`` of ``tool``. A tool without
        functions is only found if ``described`` is True.
        """
        tool = self.tools.get(name)
        if tool is not None and (len(tool.functions) == 1 or (described and not tool.functions)):
            return tool, next(iter(tool.functions), None)
        prefix, _, last = name.rpartition('.')
        group = self.tools.get(prefix)
        for function in group.functions if group else ():
            if group and function.name in (last, name):
                return group, function
        self.missing.setdefault(name, record)
        return None

    def find_function(self, tool: str, function: str, record: str) -> Found | None:
        """Finds the instruction for a function of a tool, whose names may contain dots; records a missing one."""
        group = self.tools.get(tool)
        instruction = next((each for each in group.functions if each.name == function), None) if group else None
        if group is None or instruction is None:
            self.missing.setdefault(f'{tool}: {function}', record)
            return None
        return group, instruction

    def check(self, data: str) -> None:
        """Checks that every look-up found an instruction.

        Args:
            data: The data set, for the message.

        Raises:
            DataError: Tools are missing; the error has their number and at most ``MAX_NAMED`` names.
        """
        if not self.missing:
            return
        names = list(self.missing)
        what = f'{len(names)} tools of {data} have no instruction: {first_of(names)}'
        raise DataError(self.file, f'{what} (first needed by record {self.missing[names[0]]!r})', fix=self.fix)


def _description(tool: ToolInstruction, function: FunctionInstruction | None) -> str:
    """Returns the description of a function, or the tool's description for its only function."""
    return function.description or tool.description if function and len(tool.functions) > 1 else tool.description


def guideline(name: str, tool: ToolInstruction, function: FunctionInstruction) -> dict[str, Any]:
    """Formats name, description, required and optional parameters, and example, as in Table 8."""
    alone = to_entry(ToolInstruction(name, '', (function,)), 'toolbench')['tool_guidelines'][function.name]
    return {**alone, 'name': name, 'description': _description(tool, function)}


def _instruct_text(text: str, record: str, catalogue: Catalogue) -> str | None:
    """Replaces the documentation in a system prompt; None if it has no documentation. ``catalogue`` records missing
    tools."""
    span = find_api_list(text)
    if span is None:
        return None
    instructions = [(api['name'], catalogue.find(api['name'], record)) for api in span.apis]
    guidelines = [guideline(name, pair[0], pair[1]) for name, pair in instructions if pair and pair[1]]
    return write_api_list(text, span, guidelines)


def instruct_teval(
    prompts: Iterable[tuple[str, Sequence[Message]]], catalogue: Catalogue, data: str
) -> list[list[Message]]:
    """Returns the prompts of a T-Eval file with instructions; only the API descriptions in system prompts change.

    Args:
        prompts: Record id and messages of every record.
        catalogue: The instructions.
        data: Name of the data set, for messages.

    Raises:
        DataError: A prompt has no API descriptions, or tools have no instruction; the error lists all of the file.
    """
    rewritten: dict[str, str | None] = {}
    instructed, bare = [], []
    for record, messages in prompts:
        texts = [message.content for message in messages if message.role == 'system']
        for text in texts:
            if text not in rewritten:
                rewritten[text] = _instruct_text(text, record, catalogue)
        if all(rewritten[text] is None for text in texts):
            bare.append(record)
        instructed.append([
            Message(message.role, rewritten[message.content] or message.content)
            if message.role == 'system'
            else message
            for message in messages
        ])  # fmt: skip
    catalogue.check(data)
    if bare:
        what = f'{len(bare)} prompts have no API descriptions that instructions could replace; this is the first'
        raise DataError(data, what, bare[0])
    return instructed


def _property(parameter: Parameter) -> dict[str, Any]:
    documented = {'type': parameter.type, 'description': parameter.description}
    default = {} if parameter.default is ABSENT else {'default': parameter.default}
    return {**{key: value for key, value in documented.items() if value}, **default, **parameter.extra}


def _tool(name: str, tool: ToolInstruction, function: FunctionInstruction | None, described: bool) -> dict[str, Any]:
    entry: dict[str, Any] = {'name': name, 'description': _description(tool, function)}
    if described or function is None:
        return entry
    parameters = (*function.required, *function.optional)
    entry['arguments'] = {
        'type': 'object',
        'properties': {parameter.name: _property(parameter) for parameter in parameters},
    }
    if function.required:
        entry['arguments']['required'] = [parameter.name for parameter in function.required]
    if function.example:
        example = function.example
        entry['Example'] = {'Scenario': example.scenario, 'Parameters': dict(example.parameters)}
    return entry


def instruct_toolset(row: Mapping[str, Any], record: str, catalogue: Catalogue, described: bool) -> dict[str, Any]:
    """Replaces the toolset in a row of UltraTool, or in its one-shot example, with instructions in the same order.

    Args:
        row: A row of the file; it is not changed.
        record: Number of the row, for messages.
        catalogue: The instructions. It records missing instructions; call ``check`` after the last row.
        described: True for tasks that only choose tools, which get descriptions; False adds guidelines for calls.
    """
    instructions = [(tool['name'], catalogue.find(tool['name'], record, described)) for tool in row['toolset'] or ()]
    return {
        **row,
        'toolset': [_tool(name, *instruction, described) for name, instruction in instructions if instruction],
    }
