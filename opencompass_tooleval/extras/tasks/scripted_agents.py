"""Agents without a model: one makes the calls of the solution; the others show if a task is too easy to pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.agents.loops.steps import MAX_TEXT, Chain, answered_call
from opencompass_tooleval.agents.tasks.task import Task, example_arguments
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.environments.environment import Session
from opencompass_tooleval.extras.tasks.goal import is_named
from opencompass_tooleval.extras.tasks.leaves import shown
from opencompass_tooleval.models.dialogue_runner import DialogueRunner

SOLUTION = 'makes the calls of the solution'
SAYS_DONE, ASKS_BACK = 'does nothing', 'asks back'
CALLS_EVERYTHING, SAYS_RESULT = 'calls everything', 'answers the result without calls'
_DONE = 'I have done it.'
_NUMBER = re.compile(r'\d{1,15}')
_MAX_TEXT = 4_000


class Scripted:
    """Makes calls, and answers with a text.

    Args:
        calls: Returns the calls for a task, each with tool and arguments.
        text: Returns the final answer for a task.
        tells: True to append the observations to the final answer.
    """

    settings: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        calls: Callable[[Task], Sequence[tuple[str, Mapping[str, Any]]]],
        text: Callable[[Task], str],
        tells: bool = False,
    ) -> None:
        self._calls, self._text, self._tells = calls, text, tells

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        yield from ()
        chain, texts = Chain('scripted', self.settings), [self._text(task)]
        chain.add(Answer(''))
        for name, arguments in self._calls(task):
            observation = session.call(name, arguments)
            chain.add_call(answered_call(name, arguments, observation, MAX_TEXT))
            texts.append(observation.text)
        return chain.end('\n'.join(texts) if self._tells else texts[0])


def agents(callable_tools: Sequence[str] = ('*',)) -> dict[str, Loop]:
    """Returns name -> agent.

    Args:
        callable_tools: Patterns of tools for the agent that calls everything.
    """
    return {
        SOLUTION: Scripted(_solution, lambda task: task.gold_answer),
        SAYS_DONE: Scripted(_none, lambda task: _DONE),
        ASKS_BACK: Scripted(_none, lambda task: 'Which one do you mean?'),
        CALLS_EVERYTHING: Scripted(
            lambda task: [
                (tool.name, example_arguments(tool.parameters))
                for tool in task.tools
                if is_named(tool.name, callable_tools)
            ],
            lambda task: _DONE,
            tells=True,
        ),
        SAYS_RESULT: Scripted(_none, lambda task: task.gold_answer),
    }


def _none(task: Task) -> list[tuple[str, Mapping[str, Any]]]:
    return []


def _solution(task: Task) -> list[tuple[str, Mapping[str, Any]]]:
    return [(call.name, call.arguments) for call in task.gold or ()]


def changed_arguments(
    arguments: Mapping[str, Any], tools: Sequence[ToolSchema], name: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the arguments of a call with one value changed or left out, each after the change in words.

    Args:
        arguments: The arguments, as JSON values.
        tools: The tools of the server.
        name: The called tool.
    """
    required = next((tool.parameters.get('required', ()) for tool in tools if tool.name == name), ())
    yield from _changed(dict(arguments), '')
    for key in arguments:
        if key not in required:
            yield f'no {key}', {one: value for one, value in arguments.items() if one != key}


def _changed(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yields a value with one number, text or boolean in it changed, each after the change in words."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from ((words, {**value, key: other}) for words, other in _changed(one, f'{path}.{key}'.lstrip('.')))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            for words, other in _changed(one, f'{path}[{place}]'):
                yield words, [*value[:place], other, *value[place + 1 :]]
    else:
        yield from ((f'{path}={shown(other)}', other) for other in _others(value))


def _others(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield value + 1
    elif isinstance(value, str):
        if numbers := list(_NUMBER.finditer(value[:_MAX_TEXT])):
            start, end = numbers[-1].span()
            yield f'{value[:start]}{int(value[start:end]) + 1}{value[end:]}'
        yield f'{value}x'


def run_agent(
    tasks: Sequence[Task], carry_out: Callable[[Task], Dialogue[Trajectory]], threads: int = 1
) -> dict[str, Trajectory]:
    """Runs an agent without a model; returns task -> trajectory.

    Args:
        tasks: The tasks.
        carry_out: Carries out a task from a fresh state.
        threads: Number of tasks that run at the same time.

    Raises:
        ServerError: The server cannot be started.
    """

    runner = DialogueRunner(None, None, 1, threads=threads)
    ended = runner.run({task.id: carry_out(task) for task in tasks})
    return {name: outcome.value for name, outcome in ended.items() if outcome.value}
