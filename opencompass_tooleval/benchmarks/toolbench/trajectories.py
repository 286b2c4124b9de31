"""Reads stored runs in ToolBench's format, with all calls and responses. Only this module knows the quirks of the
files.

A file is an object: query id -> ``{"query", "available_tools": [JSON schema of a function, ...], "answer":
{"method", "total_steps", "final_answer", "answer_details": [node, ...]}}``. A node is ``{"role", "message", "next":
[node, ...]}``; the message of role ``tool`` is ``{"name", "arguments", "response"}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.request import Signature
from opencompass_tooleval.core.calls.messages import TOOL
from opencompass_tooleval.core.calls.trajectory import AnsweredCall
from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.core.text.bounds import beyond_bounds
from opencompass_tooleval.core.text.json_members import TooMuchError
from opencompass_tooleval.core.text.jsonable import bounded_text
from opencompass_tooleval.tool_docs.instruction import ABSENT, Parameter
from opencompass_tooleval.work_dir.data_files import read_members

FINISH = 'Finish'
GIVE_ANSWER = 'give_answer'

MAX_NODES = 10_000
"""Maximum number of nodes of one run: ToolBench's agents send at most 200 requests."""

MAX_STEPS = 500
"""Maximum depth of one run in steps: StableToolBench's runs have at most 50."""

_A_FILE = "an object of runs by query id, as ToolBench's are"
_ROOTS = 2
"""Number of nodes above the steps: the nodes with the roles ``system`` and ``user``."""

_MAX_HEAD = 200
_MAX_STEPS = 1_000_000
_RETURN_TYPE = re.compile(r'"return_type"\s{0,9}:\s{0,9}"(\w{1,40})"')


@dataclass(frozen=True)
class Node:
    """One node of a run's tree.

    Attributes:
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        message: Text; for a tool ``{"name", "arguments", "response"}``.
        parent: Index of the node before it, depth first; -1 for a root.
    """

    role: str
    message: Any
    parent: int


@dataclass(frozen=True)
class Run:
    """One stored run.

    Attributes:
        id: Query id.
        query: The request; ``''`` if the file lacks it.
        method: The method's name in the file.
        total_steps: The number of steps in the file.
        final_answer: The answer to the user.
        ending: ``give_answer``, ``give_up_and_restart`` or another argument of ``Finish`` in the last step; ``''`` if
            the last step does not call ``Finish``.
        calls: The tool calls, without ``Finish``, in the order of the tree, depth first.
        inventory: Name -> signature of the available tools in the file, without ``Finish``.
        nodes: The complete tree, depth first; the members of a tool node's message are checked.
        tools: The tools in the file; the members that the inventory needs are checked.
    """

    id: str
    query: str
    method: str
    total_steps: int
    final_answer: str
    ending: str
    calls: tuple[AnsweredCall, ...]
    inventory: Mapping[str, Signature]
    nodes: tuple[Node, ...] = ()
    tools: Sequence[Mapping[str, Any]] = ()

    @property
    def first_way(self) -> Iterator[Node]:
        """Yields the nodes to an end: where a node has several children, the first, as in ToolBench's evaluator."""
        for index, node in enumerate(self.nodes):
            if node.parent != index - 1:
                return
            yield node

    @property
    def is_retrieved(self) -> bool:
        """True if the tools were retrieved, so that ``inventory`` lacks the tools to choose from."""
        return 'retrieve' in self.method.casefold()


def _need(row: Any, key: str, kind: type) -> Any:
    if not isinstance(row, dict) or not isinstance(row.get(key), kind) or isinstance(row.get(key), bool):
        raise Fault(f'{key!r} is missing or not of type {kind.__name__}')
    return row[key]


def _parameter(name: str, raw: Any) -> Parameter:
    if not isinstance(raw, dict):
        raise Fault(f'the parameter {name[:_MAX_HEAD]!r} is not an object')
    type_name = raw.get('type')
    default = raw.get('example_value', ABSENT)
    return Parameter(name, type_name if isinstance(type_name, str) else '', default=default)


def _signature(tool: Any) -> Signature:
    name, schema = _need(tool, 'name', str), _need(tool, 'parameters', dict)
    properties = _need(schema, 'properties', dict)
    required = schema.get('required', [])
    if not isinstance(required, list) or not all(isinstance(key, str) for key in required):
        raise Fault(f"'required' of {name[:_MAX_HEAD]!r} is not a list of texts")
    needed = dict.fromkeys(required)
    return Signature(
        '',
        name,
        tuple(_parameter(key, properties.get(key, {})) for key in needed),
        tuple(_parameter(key, raw) for key, raw in properties.items() if key not in needed),
    )


def _nodes(details: list[Any]) -> tuple[Node, ...]:
    """Returns all nodes, depth first, without recursion, since a file may be nested deeply."""
    nodes: list[Node] = []
    waiting = [(node, -1) for node in reversed(details)]
    while waiting:
        node, parent = waiting.pop()
        if len(nodes) == MAX_NODES:
            raise Fault(f"'answer_details' has more than {MAX_NODES} nodes")
        role, below = _need(node, 'role', str), node.get('next', [])
        if not isinstance(below, list):
            raise Fault("'next' of a node is not a list")
        waiting += [(child, len(nodes)) for child in reversed(below)]
        nodes.append(Node(role, _need(node, 'message', dict) if role == TOOL else node.get('message'), parent))
    return tuple(nodes)


def read_passed(raw: Any) -> Any:
    """Returns arguments; text is parsed as JSON if possible."""
    if not isinstance(raw, str):
        return raw
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


def _ending(message: Mapping[str, Any]) -> str:
    """Parses the end from ``Finish``'s arguments, which the files store as text that may not be JSON
    (``\\{...\\}``)."""
    arguments = message.get('arguments')
    if isinstance(arguments, dict):
        return str(arguments.get('return_type', ''))[:_MAX_HEAD]
    return_type = _RETURN_TYPE.search(arguments[:_MAX_HEAD]) if isinstance(arguments, str) else None
    return return_type[1] if return_type else ''


def read_run(run_id: str, row: Any) -> Run:
    """Parses one run of a file.

    Raises:
        Fault: The row is not a run.
    """
    answer = _need(row, 'answer', dict)
    nodes = _nodes(_need(answer, 'answer_details', list))
    called = [(node.message, _need(node.message, 'name', str)) for node in nodes if node.role == TOOL]
    final = answer.get('final_answer', '')
    tools = [_signature(tool) for tool in _need(row, 'available_tools', list)]
    query, steps = row.get('query', ''), _need(answer, 'total_steps', int)
    if not 0 <= steps <= _MAX_STEPS:
        raise Fault(f"'total_steps' is not between 0 and {_MAX_STEPS}")
    return Run(
        run_id,
        query if isinstance(query, str) else '',
        bounded_text(answer.get('method'), _MAX_HEAD),
        steps,
        final if isinstance(final, str) else '',
        _ending(called[-1][0]) if called and called[-1][1] == FINISH else '',
        tuple(
            AnsweredCall(name, read_passed(message.get('arguments')), _need(message, 'response', str))
            for message, name in called
            if name != FINISH
        ),
        {tool.api: tool for tool in reversed(tools) if tool.api != FINISH},
        nodes,
        row['available_tools'],
    )


def _check_bounds(row: Any) -> None:
    """Checks the size of a run without its nesting, and the nodes of its tree level by level."""
    answer = row.get('answer') if isinstance(row, dict) else None
    details = answer.get('answer_details') if isinstance(answer, dict) else None
    if not isinstance(answer, dict) or not isinstance(details, list):
        _check_part(row)
        return
    _check_part([row | {'answer': ''}, answer | {'answer_details': ''}])
    level = details
    for _ in range(_ROOTS + MAX_STEPS):
        below: list[Any] = []
        for node in level:
            is_tree = isinstance(node, dict) and isinstance(node.get('next'), list)
            _check_part(node | {'next': ''} if is_tree else node)
            below += node['next'] if is_tree else []
        if not below:
            return
        level = below
    raise Fault(f"'answer_details' is nested deeper than {MAX_STEPS} steps")


def _check_part(value: Any) -> None:
    if excess := beyond_bounds(value):
        raise Fault(f'it is nested too deeply or contains too large a number ({excess})')


def stored_rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Yields query id and value of every run of a file, which may be gzipped; keeps one in memory.

    A run may have up to ``MAX_STEPS`` nested steps; its other content has the limits of all files.

    Raises:
        DataError: The file is missing, damaged or of another format, has a query twice, or a run exceeds the limits.
    """
    seen: set[str] = set()
    for run_id, row in read_members(file, _A_FILE):
        with naming_record(file, run_id[:_MAX_HEAD]):
            if run_id in seen:
                raise Fault('the query occurs twice in the file')
            _check_bounds(row)
        seen.add(run_id)
        yield run_id, row
    if not seen:
        raise DataError(file, f'the file is not an {_A_FILE}')


def holds_runs(file: Path) -> bool:
    """Tests if the first member of a file is a run.

    Raises:
        DataError: The first member is too long or nested too deeply.
    """
    try:
        _, first = next(read_members(file), ('', None))
    except DataError as error:
        if isinstance(error.__cause__, TooMuchError):
            raise
        return False
    return isinstance(first, dict) and isinstance(first.get('answer'), dict) and 'answer_details' in first['answer']


def read_runs(file: Path) -> Iterator[Run]:
    """Reads a file of stored runs, which may be gzipped; keeps one run in memory.

    Raises:
        DataError: The file is missing, damaged or in another format; the error names the run.
    """
    for run_id, row in stored_rows(file):
        with naming_record(file, run_id[:_MAX_HEAD]):
            run = read_run(run_id, row)
        yield run


def load_runs(file: Path) -> list[Run]:
    """Reads all runs of a file with :func:`read_runs`."""
    return list(read_runs(file))
