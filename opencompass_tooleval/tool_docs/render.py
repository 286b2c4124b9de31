"""How one instruction, and one tool's documentation, is written into a prompt."""

from __future__ import annotations

import json
from typing import Any

from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.instruction_formats import to_entry
from opencompass_tooleval.tool_docs.rest import is_usage
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc

_VERBATIM = ('Example', 'default', 'enum')


def to_json(value: object) -> str:
    """JSON on one line, as Python separates it: what is counted and what is asked, before and after alike."""
    return json.dumps(value, ensure_ascii=False)


def native_shape(instruction: ToolInstruction) -> str:
    """The published shape of such tools.

    ``restbench`` for one function ``GET /path``, ``funcqa`` for one function that is called as its tool, else
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
    """Without what says nothing: empty texts and lists, but for those in examples and defaults."""
    if isinstance(value, list):
        return [compact(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = {key: item if key in _VERBATIM else compact(item) for key, item in value.items()}
    return {key: item for key, item in kept.items() if key in _VERBATIM or item not in ('', [])}


def render_instruction(instruction: ToolInstruction) -> str:
    """Description and guidelines as JSON in the tool's published shape, without its ``ID`` and what is empty."""
    entry = to_entry(instruction, native_shape(instruction))
    return to_json(compact({key: value for key, value in entry.items() if key != 'ID'}))


def render_doc(doc: ToolDoc | FunctionDoc) -> str:
    """The documentation as its source has it: text, or JSON."""
    return doc.raw if isinstance(doc.raw, str) else to_json(doc.raw)
