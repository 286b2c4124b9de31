"""Agents without a model, whose scores show what a task set gives away: they do nothing, ask back, call everything."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar

from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.agents.loops.steps import MAX_TEXT, Chain, answered_call
from opencompass_tooleval.agents.tasks.goal import RESTRAINT
from opencompass_tooleval.agents.tasks.task import Task, example_arguments
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.environments.environment import Session
from opencompass_tooleval.extras.tasks.goal_check import check_goal
from opencompass_tooleval.extras.tasks.metrics import RESTRAINT_RATE, SOLVED
from opencompass_tooleval.models.dialogue_runner import DialogueRunner

SAYS_DONE, ASKS_BACK, CALLS_EVERYTHING = 'does nothing', 'asks back', 'calls everything'
_DONE = 'I have done it.'


class _Says:
    """Calls nothing, and answers each request with the same sentence."""

    settings: ClassVar[dict[str, Any]] = {}

    def __init__(self, text: str) -> None:
        self._text = text

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        yield from ()
        chain = Chain('says', self.settings)
        chain.add(Answer(self._text))
        return chain.end(self._text)


class _CallsEverything:
    """Calls each tool once, with example arguments, and tells all that it was told."""

    settings: ClassVar[dict[str, Any]] = {}

    def run(self, task: Task, session: Session) -> Dialogue[Trajectory]:
        yield from ()
        chain, texts = Chain('calls_everything', self.settings), [_DONE]
        chain.add(Answer(''))
        for tool in task.tools:
            arguments = example_arguments(tool.parameters)
            observation = session.call(tool.name, arguments)
            chain.add_call(answered_call(tool.name, arguments, observation, MAX_TEXT))
            texts.append(observation.text)
        return chain.end('\n'.join(texts))


AGENTS: Mapping[str, Loop] = {
    SAYS_DONE: _Says(_DONE),
    ASKS_BACK: _Says('Which one do you mean?'),
    CALLS_EVERYTHING: _CallsEverything(),
}
"""Name -> agent."""


def solved_by(
    tasks: Sequence[Task], carry_out: Callable[[Task, Loop], Dialogue[Trajectory]], threads: int = 1
) -> dict[str, list[str]]:
    """Runs the agents.

    Args:
        tasks: The tasks.
        carry_out: Carries out a task with an agent, from a fresh state.
        threads: Number of tasks at the same time.

    Returns:
        Agent -> ids of the tasks whose goal it reaches.

    Raises:
        ServerError: The server cannot be started.
    """
    found: dict[str, list[str]] = {}
    for name, loop in AGENTS.items():
        runner = DialogueRunner(None, None, 0, threads=threads)
        done = runner.run({task.id: carry_out(task, loop) for task in tasks})
        runs = ((task, done[task.id].value) for task in tasks)
        found[name] = [task.id for task, run in runs if run and task.goal and check_goal(task.goal, run).is_solved]
    return found


def scripted_scores(tasks: Sequence[Task], solved: Mapping[str, Collection[str]]) -> dict[str, dict[str, float | None]]:
    """Returns agent -> its ``solved`` and ``restraint``, 0-100; None if no task has these kinds.

    Args:
        tasks: The tasks of the set.
        solved: As of :func:`solved_by`.
    """
    parts = {
        SOLVED: [task.id for task in tasks if task.goal and task.goal.kind not in RESTRAINT],
        RESTRAINT_RATE: [task.id for task in tasks if task.goal and task.goal.kind in RESTRAINT],
    }
    return {
        agent: {name: 100 * len({*ids} & {*reached}) / len(ids) if ids else None for name, ids in parts.items()}
        for agent, reached in solved.items()
    }
