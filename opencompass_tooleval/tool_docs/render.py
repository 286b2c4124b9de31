"""Formats an instruction, or a tool's documentation, for a prompt."""

from __future__ import annotations

import json
from typing import Any

from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import to_entry
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc, is_usage

_VERBATIM = ('Example', 'default', 'enum')


def to_json(value: object) -> str:
    """Formats JSON on one line with Python's separators, both for prompts and for token counts."""
    return json.dumps(value, ensure_ascii=False)


def native_shape(instruction: ToolInstruction) -> str:
    """Returns the published shape of an instruction's tool.

    ``restbench`` for one function ``GET /path``, ``funcqa`` for one function named like its tool, otherwise
    ``toolbench``.
    """
    if len(instruction.functions) == 1 and not instruction.functions[0].description:
        name = instruction.functions[0].name
        if is_usage(name):
            return 'restbench'
        if name == instruction.name:
            return 'funcqa'
    return 'toolbench'


def compact(value: Any) -> Any:
    """Returns a value without empty texts and lists, except in examples and defaults."""
    if isinstance(value, list):
        return [compact(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: item if key in _VERBATIM else compact(item) for key, item in value.items()}
    return {key: item for key, item in kept.items() if key in _VERBATIM or item not in ('', [])}


def render_instruction(instruction: ToolInstruction) -> str:
    """Formats description and guidelines as JSON in the tool's published shape, without ``ID`` or empty values."""
    entry = to_entry(instruction, native_shape(instruction))
    return to_json(compact({key: value for key, value in entry.items() if key != 'ID'}))


def render_doc(doc: ToolDoc | FunctionDoc) -> str:
    """Formats documentation as in its source: as text, or as JSON."""
    return doc.raw if isinstance(doc.raw, str) else to_json(doc.raw)
