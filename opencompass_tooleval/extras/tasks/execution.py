"""Executes the gold calls of tasks, twice from fresh states: gold that does not reproduce is a fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from opencompass_tooleval.agents.scoring.scoring import ALL_RIGHT
from opencompass_tooleval.agents.tasks.goal import RESTRAINT
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import Dialogue
from opencompass_tooleval.core.calls.observation import ERROR, INJECTED
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.core.scoring.typed_result import named_values, plain_text
from opencompass_tooleval.core.text.reading import parse_literal
from opencompass_tooleval.extras.mcp_servers.volatile import difference_text, differing_fields
from opencompass_tooleval.extras.tasks.goal_check import WRONG_EFFECTS, holds_fact
from opencompass_tooleval.extras.tasks.scoring import score_task
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.fixed_models import OracleModel

_MOST_TEXT = 500


@dataclass(frozen=True)
class Executed:
    """The result of the gold calls.

    Attributes:
        runs: The first run of each task.
        faults: Task -> fault, for tasks whose gold does not reproduce.
    """

    runs: Sequence[Trajectory]
    faults: dict[str, str]


def execute_gold(
    tasks: Iterable[Task], carry_out: Callable[[Task], Dialogue[Trajectory]], threads: int = 1
) -> Executed:
    """Has the oracle solve tasks twice, each time from a fresh state, and compares the runs with each other and goals.

    Args:
        tasks: With their goals.
        carry_out: Carries out a task.
        threads: Number of tasks at the same time.

    Raises:
        ServerError: The server cannot be started.
    """
    tasks = list(tasks)
    first, second = (
        DialogueRunner(OracleModel(), None, 1, threads=threads).run({task.id: carry_out(task) for task in tasks})
        for _ in range(2)
    )
    found = {task.id: _fault(task, first[task.id].value, second[task.id].value) for task in tasks}
    runs = [run for task in tasks if (run := first[task.id].value)]
    return Executed(runs, {name: fault for name, fault in found.items() if fault})


def _fault(task: Task, first: Trajectory | None, second: Trajectory | None) -> str:
    assert task.goal is not None and first is not None and second is not None
    before, again = ([(call.name, call.observation) for call in run.calls] for run in (first, second))
    for (name, text), (_, other) in zip_longest(before, again, fillvalue=('the loop', '')):
        if differing_fields(text, other) is None:  # an id or a time may be another one, if no fact is in it
            return f'{name} answers differently when it is called again: {difference_text(text, other)}'
    for call in first.calls:
        if call.source == ERROR or (call.error or INJECTED) != INJECTED:
            return f'the gold call of {call.name} fails: {call.observation[:_MOST_TEXT]}'
    for run in (first, second):
        score = score_task(task, run)
        if score.reason == WRONG_EFFECTS:
            return f'the gold calls have the effects {run.changes} instead of {task.goal.effects}'[:_MOST_TEXT]
        if not score.result.is_solved or score.values[ALL_RIGHT] != 1:
            return f'the gold calls score {score.reason}'
    seen = [_observed_text(call.observation for call in run.calls) for run in (first, second)]
    missing = [fact for fact in task.goal.facts if not all(holds_fact(text, fact) for text in seen)]
    if task.goal.kind not in RESTRAINT:
        query = plain_text(task.query)
        named = named_values(task.goal.form, task.goal.result)
        missing += [text for text in named if not all(holds_fact(f'{one}\n{query}', text) for one in seen)]
    return f'no gold call returns {", ".join(missing)}' if missing else ''


def _observed_text(observations: Iterable[str]) -> str:
    """Returns the plain text of observations; of JSON also its values, without their escapes."""
    texts = []
    for text in observations:
        read = parse_literal(text) if text.lstrip()[:1] in ('{', '[') else None
        texts += [text, *(_values(read.value) if read and read.ok else ())]
    return plain_text('\n'.join(texts))


def _values(value: Any) -> Iterator[str]:
    if isinstance(value, (dict, list)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _values(item)
    elif value is not None:
        yield str(value)
