"""Converts trajectories to and from answer files of ToolBench's evaluator.

A file is an object: query id -> ``{"query", "available_tools", "answer": {"method", "total_steps", "final_answer",
"answer_details"}}``; :mod:`~opencompass_tooleval.benchmarks.toolbench.data` describes it. As in ToolBench's
files, a run is the path to its end without abandoned branches; the number of steps counts all nodes, including those
with the roles ``system`` and ``user``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.loops.finish import FINISH, GIVE_ANSWER, GIVE_UP, finish_call, read_finish, told_user
from opencompass_tooleval.agents.loops.steps import MAX_TEXT, as_written, bounded_value, bounded_written
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.prompts import INVALID_NAME
from opencompass_tooleval.benchmarks.toolbench.data import Node, Run, read_passed, read_runs
from opencompass_tooleval.core.calls.messages import TOOL
from opencompass_tooleval.core.calls.observation import EXACT, UNKNOWN_TOOL
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import GAVE_UP, NOT_FINISHED, AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.text.jsonable import bounded_text, clean_text

_REACT, _EASYTOOL = 'toolbench_react', 'easytool'

_METHODS = {'CoT@1': _REACT, 'DFS_woFilter_w2': 'dfsdt'}
"""ToolBench's names of loops -> ours."""

_OF_EASYTOOL = 'compression'
"""Prefix of the method names in EasyTool's files."""

_MAX_NAME = 200

_RUNNER = 'runner'
"""The setting that marks trajectories of ToolBench's loops."""


@dataclass(frozen=True)
class StoredAnswer:
    """One query of a file.

    Attributes:
        task: Id, query and tools; the subset is ``''``.
        trajectory: The trajectory. Its calls are ``exact``, since the file records them.
    """

    task: Task
    trajectory: Trajectory


def to_toolbench(task: Task, trajectory: Trajectory) -> dict[str, Any]:
    """Returns one answer in ToolBench's format: the value under the query's id.

    The final answer is the text of the arguments of ``Finish`` if the agent called it, else the answer itself. If an
    agent answers without ``Finish``, a call of it is added, since ToolBench's evaluator accepts no other end.
    """
    nodes = [('system', ''), ('user', ''), *run_messages(trajectory)]
    details: list[dict[str, Any]] = []
    for role, message in reversed(nodes):
        details = [{'role': role, 'message': message, 'next': details}]
    return {
        'query': task.query,
        'available_tools': tools_of(task),
        'answer': {
            'method': method_of(trajectory),
            'total_steps': len(nodes),
            'final_answer': final_answer_of(trajectory),
            'answer_details': details,
        },
    }


def tools_of(task: Task) -> list[dict[str, Any]]:
    """Returns the offered tools, with ``Finish``, as functions."""
    return [
        {'name': tool.name, 'description': tool.description, 'parameters': dict(tool.parameters)}
        for tool in (*task.tools, FINISH)
    ]


def method_of(trajectory: Trajectory) -> str:
    """Returns ToolBench's name of the method."""
    method = trajectory.settings.get('method')
    names = {loop: name for name, loop in _METHODS.items()}
    return str(method or names.get(trajectory.loop, trajectory.loop))


def _last_finish(trajectory: Trajectory) -> AnsweredCall | None:
    """Returns the call of ``Finish`` at the end of the path."""
    last = trajectory.steps[trajectory.path[-1]].calls if trajectory.path else ()
    return last[-1] if last and last[-1].name == FINISH.name else None


def _has_end(trajectory: Trajectory) -> bool:
    """Tests if ToolBench's file would contain the end of the run: an answer or a give-up.

    ToolBench stores the give-ups of its search, but not of ReAct.
    """
    if not trajectory.stopped:
        return True
    finish = _last_finish(trajectory)
    gave_up = finish is not None and read_finish(finish.arguments, written=finish.written).stopped == GAVE_UP
    return gave_up and trajectory.loop != _REACT


def final_answer_of(trajectory: Trajectory) -> str:
    """Returns the text of the arguments of ``Finish``, or else the answer; ``''`` if the run has no end."""
    if not _has_end(trajectory):
        return ''
    finish = _last_finish(trajectory)
    # EasyTool's files have the answer itself, and a Finish whose arguments are not JSON.
    if finish is None or trajectory.loop == _EASYTOOL:
        return trajectory.final_answer
    return finish.arguments_text


def run_messages(trajectory: Trajectory) -> Iterator[tuple[str, Any]]:
    """Yields role and message of each node on the path to the answer, the last give-up, or the last node.

    For a run with an end, ToolBench writes the conversation: it lacks texts beside calls and responses to ``Finish``,
    and renames invented functions. For a run without an end, it writes the model's answers unchanged.
    """
    has_end = _has_end(trajectory)
    by_toolbench = _RUNNER in trajectory.settings
    renames_all = not by_toolbench or trajectory.loop == _REACT
    for index in trajectory.path:
        ends = has_end and by_toolbench and index == trajectory.path[-1]
        yield from _messages(trajectory.steps[index], has_end, by_toolbench, renames_all, ends)
    if trajectory.final_answer and _last_finish(trajectory) is None:
        yield TOOL, _call_message(FINISH.name, finish_call(trajectory.final_answer).arguments_text, '')


def _messages(
    step: Step, has_end: bool, by_toolbench: bool, renames_all: bool, ends: bool
) -> Iterator[tuple[str, Any]]:
    """Yields the nodes of a step.

    The converter of ToolBench's runners leaves out calls after ``Finish``, and, in the last answer, calls before it,
    since their responses are not in the conversation. StableToolBench's search only renames unknown functions in the
    first position.
    """
    if not step.purpose and (not step.calls or (step.text and not has_end)):
        yield 'assistant', step.text
    for position, call in enumerate(step.calls):
        if call.name == FINISH.name:
            yield TOOL, _call_message(call.name, call.arguments_text, '' if has_end else call.observation)
            if has_end and by_toolbench:
                return
        elif call.source and not ends:  # lagent's end is not a tool; a call of Finish gives its answer
            is_renamed = has_end and call.fault == UNKNOWN_TOOL and (renames_all or not position)
            name = INVALID_NAME if is_renamed else call.name
            yield TOOL, _call_message(name, call.arguments_text, call.observation)


def _call_message(name: str, arguments: str, response: str) -> dict[str, str]:
    return {'name': name, 'arguments': arguments, 'response': response}


def load_answers(file: Path) -> list[StoredAnswer]:
    """Reads a file of answers, gzipped or not.

    Raises:
        DataError: The file is missing, damaged or in another format; the error names the query.
    """
    return list(map(stored_answer, read_runs(file)))


def stored_answer(run: Run) -> StoredAnswer:
    """Converts a run to a stored answer."""
    tools = {tool['name']: tool for tool in run.tools}
    offered = tuple(
        ToolSchema(name, bounded_text(tool.get('description'), MAX_TEXT), tool['parameters'])
        for name, tool in tools.items()
        if name != FINISH.name
    )
    return StoredAnswer(Task(run.id, '', run.query, offered), _trajectory(run))


def _trajectory(run: Run) -> Trajectory:
    steps: list[Step] = []
    step_at: list[int] = []
    for node in run.nodes:
        before = step_at[node.parent] if node.parent >= 0 else -1
        step = _step(node, before)
        if step:
            steps.append(step)
        step_at.append(len(steps) - 1 if step else before)
    path: list[int] = []
    index = len(steps) - 1
    while index >= 0:
        path.append(index)
        index = steps[index].parent
    is_answer = run.ending == GIVE_ANSWER
    stopped = '' if is_answer else GAVE_UP if run.ending == GIVE_UP else NOT_FINISHED
    return Trajectory(
        _loop(run.method),
        tuple(steps),
        as_written(told_user(run.final_answer)) if is_answer else '',
        stopped,
        tuple(reversed(path)),
        settings={'method': run.method},
    )


def _step(node: Node, parent: int) -> Step | None:
    if node.role == 'assistant':
        return Step(_text(node.message), parent=parent)
    if node.role != TOOL:
        return None
    message: Mapping[str, Any] = node.message
    name, response = bounded_text(message['name'], _MAX_NAME), message.get('response')
    text = clean_text(response) if isinstance(response, str) else ''
    source = '' if name == FINISH.name else EXACT
    arguments = message.get('arguments')
    written = bounded_written(arguments) if isinstance(arguments, str) else None
    call = AnsweredCall(name, _read(arguments), text, source, observation_chars=len(text), written=written)
    return Step('', (call,), parent)


def _read(arguments: Any) -> Any:
    value = read_passed(arguments)
    return as_written(value) if isinstance(value, str) else bounded_value(value)


def _text(message: Any) -> str:
    return as_written(message) if isinstance(message, str) else bounded_text(message, MAX_TEXT)


def _loop(method: str) -> str:
    return _METHODS.get(method) or (_EASYTOOL if method.startswith(_OF_EASYTOOL) else method)
