"""What a model is shown of a service's tools: their documentation, or their EasyTool instructions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.easytool.files import sha256_of
from opencompass_tooleval.easytool.instruction import ToolInstruction
from opencompass_tooleval.easytool.render import render_instruction
from opencompass_tooleval.easytool.restbench.paths import Inventory
from opencompass_tooleval.easytool.restbench.prompts import documentation_text
from opencompass_tooleval.easytool.restbench.records import CURE
from opencompass_tooleval.easytool.shapes import load_instructions
from opencompass_tooleval.easytool.sources import load_docs
from opencompass_tooleval.easytool.tool_doc import FunctionDoc


@dataclass(frozen=True)
class Toolbox:
    """The tools of a service.

    Attributes:
        inventory: Their names, in the document's order.
        texts: What the prompt says of them, in the same order.
        shown: ``tools`` (``documentation`` or ``instructions``), and names and SHA-256 of the files, for provenance.
    """

    inventory: Inventory
    texts: tuple[str, ...]
    shown: dict[str, str]


def generate_command(document: Path, out: object) -> str:
    """The command that makes the instructions of a document's tools."""
    return f'tooleval easytool generate --source openapi --input {document} --model MODEL --out {out}'


def load_functions(document: Path) -> tuple[FunctionDoc, ...]:
    """Reads the tools of an OpenAPI document: one per path and method.

    Raises:
        DataError: It is missing or no OpenAPI document.
    """
    return tuple(function for tool in load_docs('openapi', document) for function in tool.functions)


def match_instructions(file: Path, inventory: Inventory, cure: str = '') -> list[ToolInstruction]:
    """Reads instructions and puts them into the inventory's order.

    Returns:
        One instruction per tool as the file has them; one of a tool with several functions covers them all.

    Raises:
        DataError: A tool has no instruction, or an instruction is of no tool of the document, or of one that has
            another already; the message lists them.
    """
    found: dict[str, ToolInstruction] = {}
    doubled = []
    for tool in load_instructions(file).values():
        for function in tool.functions:
            if function.name in found:
                doubled.append(function.name)
            found[function.name] = tool
    faults = {
        'tools without an instruction': [name for name in inventory.names if name not in found],
        'instructions of no tool of the document': [name for name in found if name not in inventory],
        'tools with several instructions': doubled,
    }
    said = '; '.join(f'{len(names)} {fault}: {", ".join(names)}' for fault, names in faults.items() if names)
    if said:
        raise DataError(file, said, cure=cure)
    return list({found[name].name: found[name] for name in inventory.names}.values())


def open_toolbox(document: Path, instructions: Path | None = None) -> Toolbox:
    """Reads a service's OpenAPI document, and the instructions that stand in for it if there are any.

    Raises:
        DataError: A file is missing or damaged, or the instructions are not those of the document's tools.
    """
    if not document.is_file():
        raise DataError(document, 'the OpenAPI document is missing', cure=CURE)
    functions = load_functions(document)
    try:
        inventory = Inventory(function.name for function in functions)
    except ValueError as error:
        raise DataError(document, str(error)) from error
    shown = {'tools': 'documentation', 'document': document.name, 'document_sha256': sha256_of(document)}
    if instructions is None:
        return Toolbox(inventory, tuple(map(documentation_text, functions)), shown)
    matched = match_instructions(instructions, inventory, generate_command(document, instructions))
    shown |= {
        'tools': 'instructions',
        'instructions': instructions.name,
        'instructions_sha256': sha256_of(instructions),
    }
    return Toolbox(inventory, tuple(map(render_instruction, matched)), shown)
