"""Trajectories as ToolEval's answer files have them, and the way back.

A file is an object by query id, of ``{"query", "available_tools", "answer": {"method", "total_steps", "final_answer",
"answer_details"}}``; :mod:`~opencompass_tooleval.easytool.toolbench.trajectories` says more. As in ToolBench's own
files, text beside a call is left out, a run that has an answer is the way to it without the branches that were given
up, and the steps are counted as nodes, those of roles ``system`` and ``user`` among them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.finish import FINISH, GIVE_ANSWER, GIVE_UP, finish_call
from opencompass_tooleval.agents.steps import MAX_TEXT, bounded_value
from opencompass_tooleval.agents.task import Task
from opencompass_tooleval.agents.trajectory import GAVE_UP, NOT_FINISHED, AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.errors import DataError, naming_record
from opencompass_tooleval.core.jsonable import bounded_text, clean_text
from opencompass_tooleval.core.messages import TOOL
from opencompass_tooleval.core.tool_set import ToolSchema
from opencompass_tooleval.easytool.files import read_json
from opencompass_tooleval.easytool.toolbench.trajectories import Node, Run, read_passed, read_run
from opencompass_tooleval.environments.observation import EXACT

_METHODS = {'CoT@1': 'toolbench_react', 'DFS_woFilter_w2': 'dfsdt'}
"""What ToolBench calls its loops, and we."""

_OF_EASYTOOL = 'compression'
"""Begins what EasyTool's files call their method."""

_MAX_NAME = 200

_PASSED = frozenset(FINISH.parameters['properties'])
"""What ``Finish`` takes."""


@dataclass(frozen=True)
class StoredAnswer:
    """One query of a file.

    Attributes:
        task: Id, query and tools; the subset is ``''``.
        trajectory: What was done. Its calls are ``exact``: the file is where they are recorded.
    """

    task: Task
    trajectory: Trajectory


def to_tooleval(task: Task, trajectory: Trajectory) -> dict[str, Any]:
    """One answer: what stands under the query's id.

    The final answer is the text of what ``Finish`` was passed where the agent called it, else the answer itself. An
    agent that answers without ``Finish`` gets one, since ToolEval counts no other end.
    """
    details = _details(trajectory)
    return {
        'query': task.query,
        'available_tools': [_tool(tool) for tool in (*task.tools, FINISH)],
        'answer': {
            'method': _method(trajectory),
            'total_steps': _count(details),
            'final_answer': _final_answer(trajectory),
            'answer_details': details,
        },
    }


def _tool(tool: ToolSchema) -> dict[str, Any]:
    return {'name': tool.name, 'description': tool.description, 'parameters': dict(tool.parameters)}


def _method(trajectory: Trajectory) -> str:
    method = trajectory.settings.get('method')
    names = {loop: name for name, loop in _METHODS.items()}
    return str(method or names.get(trajectory.loop, trajectory.loop))


def _last_finish(trajectory: Trajectory) -> AnsweredCall | None:
    """The call of ``Finish`` that the way to the end ends with."""
    last = trajectory.steps[trajectory.path[-1]].calls if trajectory.path else ()
    return last[-1] if last and last[-1].name == FINISH.name else None


def _final_answer(trajectory: Trajectory) -> str:
    finish = _last_finish(trajectory)
    return _text(finish.arguments) if finish and isinstance(finish.arguments, dict) else trajectory.final_answer


def _text(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, indent=2, ensure_ascii=False)


def _details(trajectory: Trajectory) -> list[dict[str, Any]]:
    """The tree: of a run that has an answer the way to it, else all of it."""
    user = _node('user', '')
    below: dict[int, list[dict[str, Any]]] = {-1: user['next']}
    end = user['next']
    last = trajectory.path[-1] if trajectory.path else -1
    is_answered = bool(trajectory.final_answer)
    for place in trajectory.path if is_answered else range(len(trajectory.steps)):
        step = trajectory.steps[place]
        end = end if is_answered else below[step.parent]
        for message in _messages(step, place == last):
            node = _node(*message)
            end.append(node)
            end = node['next']
        below[place] = end
    if is_answered and _last_finish(trajectory) is None:
        end.append(_node(TOOL, _call_message(FINISH.name, finish_call(trajectory.final_answer).arguments, '')))
    return [_node('system', '', user)]


def _messages(step: Step, is_end: bool) -> Iterator[tuple[str, Any]]:
    if not step.calls and not step.purpose:
        yield 'assistant', step.text
    for call in step.calls:
        if not call.source and call.name != FINISH.name:
            continue  # what ends lagent's agent is no tool; its answer is given by a Finish of ours
        # The files say no response of the Finish that ends a run.
        is_last_finish = is_end and call is step.calls[-1] and call.name == FINISH.name
        yield TOOL, _call_message(call.name, call.arguments, '' if is_last_finish else call.observation)


def _call_message(name: str, arguments: Any, response: str) -> dict[str, str]:
    return {'name': name, 'arguments': _text(arguments), 'response': response}


def _node(role: str, message: Any, *below: dict[str, Any]) -> dict[str, Any]:
    return {'role': role, 'message': message, 'next': list(below)}


def _count(details: list[dict[str, Any]]) -> int:
    count, waiting = 0, list(details)
    while waiting:
        count += 1
        waiting += waiting.pop()['next']
    return count


def load_answers(file: Path) -> list[StoredAnswer]:
    """Reads a file of answers, gzipped or not.

    Raises:
        DataError: It is missing or damaged, or is of another format; names the query.
    """
    rows = read_json(file)
    if not isinstance(rows, dict) or not rows:
        raise DataError(file, "the file is no object of answers by query id, as ToolEval's are")
    answers = []
    for task_id, row in rows.items():
        with naming_record(file, task_id[:_MAX_NAME]):
            answers.append(of_tooleval(task_id, row))
    return answers


def of_tooleval(task_id: str, row: Any) -> StoredAnswer:
    """One answer, read.

    Args:
        task_id: The query's id.
        row: What stands under it.

    Raises:
        Fault: It is no answer.
    """
    run = read_run(task_id, row)
    tools = {tool['name']: tool for tool in row['available_tools']}
    offered = tuple(
        ToolSchema(name, bounded_text(tool.get('description'), MAX_TEXT), tool['parameters'])
        for name, tool in tools.items()
        if name != FINISH.name
    )
    return StoredAnswer(Task(task_id, '', run.query, offered), _trajectory(run))


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
    place = len(steps) - 1
    while place >= 0:
        path.append(place)
        place = steps[place].parent
    is_answer = run.ending == GIVE_ANSWER
    stopped = '' if is_answer else GAVE_UP if run.ending == GIVE_UP else NOT_FINISHED
    return Trajectory(
        _loop(run.method),
        tuple(steps),
        _as_written(_told_user(run.final_answer)) if is_answer else '',
        stopped,
        tuple(reversed(path)),
        settings={'method': run.method},
    )


def _step(node: Node, parent: int) -> Step | None:
    if node.role == 'assistant':
        return Step(_as_written(node.message), parent=parent)
    if node.role != TOOL:
        return None
    message: Mapping[str, Any] = node.message
    name, response = bounded_text(message['name'], _MAX_NAME), message.get('response')
    text = clean_text(response) if isinstance(response, str) else ''
    source = '' if name == FINISH.name else EXACT
    call = AnsweredCall(name, _read(message.get('arguments')), text, source, whole_chars=len(text))
    return Step('', (call,), parent)


def _read(arguments: Any) -> Any:
    value = read_passed(arguments)
    return _as_written(value) if isinstance(value, str) else bounded_value(value)


def _as_written(text: Any) -> str:
    """A text with the blanks around it."""
    return clean_text(text[:MAX_TEXT]) if isinstance(text, str) else bounded_text(text, MAX_TEXT)


def _loop(method: str) -> str:
    return _METHODS.get(method) or ('easytool' if method.startswith(_OF_EASYTOOL) else method)


def _told_user(final_answer: str) -> str:
    """The answer itself, where the file has all that ``Finish`` was passed."""
    passed = read_passed(final_answer)
    is_passed = isinstance(passed, dict) and not _PASSED.isdisjoint(passed)  # else it is an answer written in JSON
    return str(passed.get('final_answer', '')) if is_passed else final_answer
