"""Reads annotated samples (``test.json``, ``dev.json``), from which the tasks are built."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import read_lines
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.core.text.json_object import load_json

PARENT = 'null'
NO_TOOL = frozenset({'No tool required', '不需要工具'})

_CLOSERS = {"'": "'", '"': '"', '“': '”', '‘': '’', '[': ']', '{': '}', '(': ')', '<': '>'}
_QUOTES = frozenset('\'"“‘')
_CALL = re.compile(r'\s*([^\s(（]+)\s*[(（](.*)[)）]\s*', re.DOTALL)
_NAME = r'[^\W\d][\w.\-]*'
_VALUE_START = re.compile(r'\s*(?:[\'"“‘\[{<\-\d]|true|false|null|None)', re.IGNORECASE)


class CallError(ValueError):
    """The annotation is not a call."""


@dataclass(frozen=True)
class Argument:
    """One argument of a call.

    Attributes:
        name: Name, without the quotes that some annotations put around it.
        raw: The text after the equals sign in the plan.
    """

    name: str
    raw: str

    @property
    def value(self) -> str:
        """The text without its quotes; a list, a number or a ``<value of an earlier step>`` is unchanged."""
        text = self.raw
        return text[1:-1] if text[:1] in _QUOTES and _is_closed(text) else text


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    tool: str
    arguments: tuple[Argument, ...]


def is_parent(annotation: str | None) -> bool:
    """Tests if the step only groups other steps; the files write ``null`` as a JSON null or as text."""
    return annotation is None or annotation.strip() == PARENT


def needs_no_tool(annotation: str) -> bool:
    """Tests if the step needs no tool."""
    return annotation.strip() in NO_TOOL


def call_name(annotation: str) -> str:
    """Returns the tool that ``name(...)`` calls.

    Raises:
        CallError: The text is not a call.
    """
    match = _CALL.fullmatch(annotation)
    if match is None:
        raise CallError(f'{annotation!r} is neither null, nor No tool required, nor a call name(...)')
    return match.group(1)


def parse_call(annotation: str, properties: Collection[str]) -> Call:
    """Parses a call.

    Args:
        annotation: ``name(arg='value', ...)``.
        properties: Argument names of the tool. Other names are accepted only before text that looks like a value.

    Raises:
        CallError: The annotation is not a call, or a part between the brackets has no name.
    """
    name = call_name(annotation)
    match = _CALL.fullmatch(annotation)
    body = match.group(2) if match else ''
    borders = list(_borders(body, properties))
    if body.strip() and (not borders or body[: borders[0].start()].strip()):
        raise CallError(f'{annotation!r} has a value without a name')
    if not borders:
        return Call(name, ())
    ends = [*(border.start() for border in borders[1:]), len(body)]
    values = [body[border.end() : end].strip() for border, end in zip(borders, ends, strict=True)]
    arguments = tuple(Argument(border['name'], value) for border, value in zip(borders, values, strict=True))
    return Call(name, arguments)


def published_value(argument: Argument) -> str:
    """Returns the value in the authors' tool_usage file for :attr:`Argument.value`.

    The text is cut at its first comma; if it then starts with a single quote, its first and last characters are
    removed, even if the cut removed the closing quote. This gives all 6,809 values of the published file, in both
    languages. Double quotes stay, as does the rest of a list.
    """
    text = argument.raw.split(',')[0]
    return text[1:-1] if text.startswith("'") else text


def _is_closed(text: str) -> bool:
    """Tests if a value that begins with a quote or bracket ends with its partner; other values are always closed."""
    closer = _CLOSERS.get(text[:1])
    # A lone quote is its own first and last character.
    return closer is None or (len(text) > 1 and text.endswith(closer))


def _borders(body: str, properties: Collection[str]) -> Iterator[re.Match[str]]:
    """Yields the places ``, name=`` at which an argument starts; ``content='a, title=b'`` has only one.

    A repeated name starts no argument: in ``f(a='x', b='y', a='z')``, ``b`` is ``'y', a='z'``, since a value that
    quotes a call is more likely than a call with a repeated argument.
    """
    documented = '|'.join(re.escape(name) for name in sorted(properties, key=len, reverse=True))
    names = f'{documented}|{_NAME}' if documented else _NAME
    # 'a == b' after a comma is a comparison, not the name of an argument.
    pattern = re.compile(rf'(?:^|[,，、;；])\s*(?P<quote>[\'"]?)(?P<name>{names})(?P=quote)\s*=(?!=)')
    previous: re.Match[str] | None = None
    seen: set[str] = set()
    position = 0
    while match := pattern.search(body, position):
        position = match.start() + 1
        if match['name'] in seen:
            continue
        if match['name'] not in properties and not _VALUE_START.match(body, match.end()):
            continue
        if previous is not None:
            value = body[previous.end() : match.start()].strip()
            if not value or not _is_closed(value):
                continue
        seen.add(match['name'])
        previous, position = match, match.end()
        yield match


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


def _load(line: str) -> Any:
    try:
        return load_json(line, bounded=True)
    except ValueError as error:
        raise Fault(f'the line is not JSON ({error})') from error


def _sample(row: int, raw: Any) -> PlanSample:
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


def read_samples(
    file: Path, *, skipped: list[DataError] | None = None, change: Change | None = None
) -> list[PlanSample]:
    """Reads a file of annotated samples, one JSON object per line.

    Args:
        file: ``test.json``, ``dev.json``, or a file in the same format.
        skipped: Receives the error of each damaged row, which is left out; with None, the first one is raised.
        change: Changes the rows for a variant.

    Returns:
        The samples in the file's order; :attr:`PlanSample.row` counts damaged rows too.

    Raises:
        DataError: The file is missing or empty, or a row is damaged.
    """
    samples, rows = [], dict[str, Any]()
    for row, line in enumerate(read_lines(file, FIX_MISSING, 'the file of annotated samples')):
        try:
            raw = _load(line)
            samples.append(_sample(row, raw))
            rows[str(row)] = raw
        except Fault as fault:
            damage = DataError(file, str(fault), record=str(row), fix=FIX_DAMAGED)
            if skipped is None:
                raise damage from fault
            skipped.append(damage)
    if not samples:
        raise DataError(file, 'the file has no annotated sample', fix=FIX_MISSING)
    if change is None:
        return samples
    changed = []
    for name, raw in change(rows).items():
        with naming_record(file, name):
            changed.append(_sample(int(name), raw))
    return changed
