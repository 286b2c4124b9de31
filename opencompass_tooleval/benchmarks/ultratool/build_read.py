"""Reads annotated samples (``test.json``, ``dev.json``), from which the tasks are built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.calls import (
    Call,
    CallError,
    call_name,
    is_parent,
    needs_no_tool,
    parse_call,
)
from opencompass_tooleval.benchmarks.ultratool.records import read_lines
from opencompass_tooleval.core.errors import DataError, Fault
from opencompass_tooleval.core.text.json_object import load_json

TASKS = (
    'planning',
    'tool_creation_awareness',
    'tool_creation',
    'tool_usage_awareness',
    'tool_selection',
    'tool_usage',
)
FIX_MISSING = 'git clone --depth 1 https://github.com/JoeYing1019/UltraTool'
FIX_DAMAGED = 'correct the row, or leave out damaged rows with --skip-damaged'

Tool = Mapping[str, Any]


@dataclass(frozen=True)
class PlanStep:
    """One step of a plan.

    Attributes:
        text: The text with its number, such as ``1.2 Write the file``.
        is_parent: True if it groups other steps; no question about tools refers to it.
        call: The step's call; None for a parent and for a step that needs no tool.
    """

    text: str
    is_parent: bool
    call: Call | None


@dataclass(frozen=True)
class PlanSample:
    """One annotated sample (UltraTool, section 2: query, plan, toolset).

    Attributes:
        row: Index in the file, from 0; the official files have the same order.
        question: The user's query.
        steps: The plan.
        tools: The toolset, in the file's order.
        domain: One of 22 domains.
    """

    row: int
    question: str
    steps: tuple[PlanStep, ...]
    tools: tuple[Tool, ...]
    domain: str

    @property
    def calls(self) -> dict[int, Call]:
        """Position of each step that needs a tool -> its call."""
        return {position: step.call for position, step in enumerate(self.steps) if step.call is not None}

    def tool(self, name: str) -> Tool:
        """Returns the tool called ``name``, which exists, as checked on reading."""
        return next(tool for tool in self.tools if tool['name'] == name)


def properties(tool: Tool) -> Mapping[str, Any]:
    """Returns name -> schema of a tool's arguments; a tool without arguments may lack the key."""
    arguments = tool.get('arguments')
    schemas = arguments.get('properties') if isinstance(arguments, Mapping) else None
    return schemas if isinstance(schemas, Mapping) else {}


def _text(raw: Mapping[str, Any], key: str) -> str:
    if not isinstance(raw.get(key), str):
        raise Fault(f'field {key!r} is missing or not text')
    return str(raw[key])


def _list(raw: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = raw.get(key)
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        raise Fault(f'field {key!r} is not a list of objects')
    return value


def _step(raw: Mapping[str, Any], tools: Mapping[str, Tool]) -> PlanStep:
    text, annotation = _text(raw, 'step'), raw.get('tool')
    if annotation is not None and not isinstance(annotation, str):
        raise Fault(f"step {text!r}: 'tool' is neither null nor text")
    if is_parent(annotation):
        return PlanStep(text, True, None)
    assert annotation is not None
    if needs_no_tool(annotation):
        return PlanStep(text, False, None)
    try:
        name = call_name(annotation)
        if name not in tools:
            raise Fault(f"step {text!r} calls {name!r}, which is not in 'tools'")
        return PlanStep(text, False, parse_call(annotation, properties(tools[name])))
    except CallError as error:
        raise Fault(f'step {text!r}: {error}') from error


def _sample(row: int, line: str) -> PlanSample:
    try:
        raw = load_json(line, bounded=True)
    except ValueError as error:
        raise Fault(f'the line is not JSON ({error})') from error
    if not isinstance(raw, dict):
        raise Fault('the line is not a JSON object')
    tools: dict[str, Tool] = {}
    for tool in _list(raw, 'tools'):
        name = _text(tool, 'name')
        if name in tools:
            raise Fault(f'tool {name!r} occurs twice')
        tools[name] = tool
    steps = tuple(_step(step, tools) for step in _list(raw, 'plan'))
    return PlanSample(row, _text(raw, 'question'), steps, tuple(tools.values()), _text(raw, 'domain'))


def read_samples(file: Path, *, skipped: list[DataError] | None = None) -> list[PlanSample]:
    """Reads a file of annotated samples, one JSON object per line.

    Args:
        file: ``test.json``, ``dev.json``, or a file in the same format.
        skipped: Receives the error of each damaged row, which is left out; with None, the first one is raised.

    Returns:
        The samples in the file's order; :attr:`PlanSample.row` counts damaged rows too.

    Raises:
        DataError: The file is missing or empty, or a row is damaged.
    """
    samples = []
    for row, line in enumerate(read_lines(file, FIX_MISSING, 'the file of annotated samples')):
        try:
            samples.append(_sample(row, line))
        except Fault as fault:
            damage = DataError(file, str(fault), record=str(row), fix=FIX_DAMAGED)
            if skipped is None:
                raise damage from fault
            skipped.append(damage)
    if not samples:
        raise DataError(file, 'the file has no annotated sample', fix=FIX_MISSING)
    return samples
