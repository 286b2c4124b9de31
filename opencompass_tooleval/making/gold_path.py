"""The gold calls of a made task with the observations and thoughts of the solution that they are taken from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.agents.goal import ORDINARY, SIBLINGS
from opencompass_tooleval.agents.matching import call_key
from opencompass_tooleval.making.made_task import MadeTask, SolvedCall


@dataclass(frozen=True)
class PathCall:
    """A gold call.

    Attributes:
        name: The tool.
        arguments: JSON values.
        solved: The call of the solution; None where it has no such call, as after an edit of the gold.
        purpose: Why the call is made: the model's thought, or the planner's step; ``''`` where neither says it.
    """

    name: str
    arguments: Mapping[str, Any]
    solved: SolvedCall | None
    purpose: str


def has_one_path(made: MadeTask) -> bool:
    """Tests if a task can go into step files: one possible path, of at least one call, all of tools that it offers."""
    goal, names = made.goal, {call.name for call in made.task.gold or ()}
    is_offered = bool(names) and names <= {tool.name for tool in made.task.tools}
    return goal.is_single_path and goal.kind in (ORDINARY, SIBLINGS) and is_offered


def gold_path(made: MadeTask) -> tuple[PathCall, ...]:
    """Returns the gold calls in order.

    A planner's step counts as the purpose only where the plan has as many steps as there are calls.
    """
    gold = made.task.gold or ()
    first = made.solutions[0] if made.solutions else None
    left = [call for call in first.calls if not call.error] if first else []
    planned = first.plan if first and len(first.plan) == len(gold) else ('',) * len(gold)
    path = []
    for call, step in zip(gold, planned, strict=True):
        key = call_key(call.name, call.arguments)
        place = next((place for place, one in enumerate(left) if call_key(one.name, one.arguments) == key), None)
        solved = None if place is None else left[place]
        left = left if place is None else left[place + 1 :]
        purpose = (solved.thought.strip() if solved else '') or step.strip()
        path.append(PathCall(call.name, call.arguments, solved, purpose))
    return tuple(path)


def known_steps(path: Sequence[PathCall]) -> Sequence[PathCall]:
    """Returns the calls from the first on that have a purpose, and the observations of all calls before them."""
    for place, call in enumerate(path):
        if not call.purpose or (place and path[place - 1].solved is None):
            return path[:place]
    return path
