"""Executes the gold calls of tasks, twice from fresh states: gold that does not reproduce makes no task."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import zip_longest

from opencompass_tooleval.agents.scoring.goal_check import WRONG_EFFECTS, holds_fact
from opencompass_tooleval.agents.scoring.scoring import ALL_RIGHT
from opencompass_tooleval.agents.tasks.goal import RESTRAINT
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.observation import ERROR, INJECTED
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.scoring.typed_result import named_values, plain_text
from opencompass_tooleval.extras.making.facts import observed_text
from opencompass_tooleval.extras.making.scoring import score_made
from opencompass_tooleval.extras.making.wording import without_line
from opencompass_tooleval.extras.mcp_servers.volatile import difference_text, differing_fields
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.fixed_models import OracleModel

VOLATILE = 'execution:volatile'
VOLATILE_EFFECTS = 'environment:volatile_effects'
BROKEN_TOOL = 'environment:broken_tool'
NOT_REPRODUCED = 'execution:effects'
NO_FACT = 'execution:facts'
FAILED = 'execution:error'
FREE = 'execution:free'


@dataclass(frozen=True)
class Executed:
    """Fault of the gold calls of a task.

    Attributes:
        reason: As ``area:code``.
        detail: What was found, such as both answers.
        tool: The tool at fault, where the same call is answered differently, or leaves other effects.
    """

    reason: str
    detail: str
    tool: str = ''

    def __str__(self) -> str:
        """In words, for a person."""
        words = {VOLATILE: f'flips: {self.tool} answers differently', NO_FACT: f'no call returns {self.detail}'}
        return words.get(self.reason, self.detail)


def execute_gold(
    tasks: Iterable[Task], carry_out: Callable[[Task], Dialogue[Trajectory]], threads: int = 1
) -> dict[str, Executed]:
    """Has the oracle solve tasks twice, each time from a fresh state, and compares the runs with each other and goals.

    Args:
        tasks: With their goals.
        carry_out: Carries out a task.
        threads: Number of tasks at the same time.

    Returns:
        Task -> what is wrong, for those whose gold does not reproduce.

    Raises:
        ServerError: The server cannot be started.
    """
    tasks = list(tasks)
    first, second = (
        DialogueRunner(OracleModel(), None, 1, threads=threads).run({task.id: carry_out(task) for task in tasks})
        for _ in range(2)
    )
    found = {task.id: _fault(task, first[task.id].value, second[task.id].value) for task in tasks}
    return {name: fault for name, fault in found.items() if fault}


def _fault(task: Task, first: Trajectory | None, second: Trajectory | None) -> Executed | None:
    assert task.goal is not None and first is not None and second is not None
    before, again = ([(call.name, call.observation) for call in run.calls] for run in (first, second))
    for (name, text), (_, other) in zip_longest(before, again, fillvalue=('the loop', '')):
        if differing_fields(text, other) is None:  # an id or a time may be another one, if no fact is in it
            return Executed(VOLATILE, f'{name}: {difference_text(text, other)}', name)
    for call in first.calls:
        if call.source == ERROR or (call.error or INJECTED) != INJECTED:
            return Executed(FAILED, f'{call.name}: {call.observation[:200]}')
    for run in (first, second):
        score = score_made(task, run)
        if score.reason == WRONG_EFFECTS:
            return Executed(NOT_REPRODUCED, f'{run.changes} instead of {task.goal.effects}'[:500])
        if not score.result.is_solved or score.values[ALL_RIGHT] != 1:
            return Executed(FAILED, f'the gold calls score {score.reason}')
    seen = [observed_text(call.observation for call in run.calls) for run in (first, second)]
    missing = [fact for fact in task.goal.facts if not all(holds_fact(text, fact) for text in seen)]
    if task.goal.kind not in RESTRAINT:
        asked = plain_text(without_line(task.query, task.goal.form, task.language))
        named = named_values(task.goal.form, task.goal.result)
        missing += [text for text in named if not all(holds_fact(f'{one}\n{asked}', text) for one in seen)]
    return Executed(NO_FACT, ', '.join(missing)) if missing else None
