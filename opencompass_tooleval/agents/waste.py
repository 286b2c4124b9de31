"""Calls that brought an agent nothing: what is the same once more, unknown tools, wrong arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from opencompass_tooleval.agents.matching import CallKey, call_key
from opencompass_tooleval.agents.trajectory import AnsweredCall, Trajectory
from opencompass_tooleval.benchmarks.toolbench.responses import EMPTY, error_kind
from opencompass_tooleval.environments.observation import ERROR, UNKNOWN_TOOL, WRONG_ARGUMENTS

LOOP_CALLS = 3
"""So many times the same call with the same observation at the end is a loop."""

UNKNOWN_TOOLS = (UNKNOWN_TOOL, 'unknown_function')
"""As the environment has that error, and recorded responses; wrong arguments are called the same by both."""


@dataclass(frozen=True)
class Waste:
    """Calls of one task, those of abandoned branches too.

    Attributes:
        calls: All of them.
        repeated_call: Same name and arguments as an earlier call on the way to it, and the same observation as that:
            nothing has changed in between.
        unknown_tool: Of a tool that the task does not offer.
        invalid_call: With arguments that the tool refuses, or that are no JSON object.
        repeated_after_error: Same name and arguments as an earlier call on the way to it that ended in an error.
    """

    calls: int = 0
    repeated_call: int = 0
    unknown_tool: int = 0
    invalid_call: int = 0
    repeated_after_error: int = 0


def error_of(call: AnsweredCall) -> str:
    """Why a call gave nothing: the environment's fault, or the kind of a recorded error; ``''`` if it gave something.

    What the recording says counts, such as T-Eval's own label. Of other responses the text is looked at: kinds are
    those of :mod:`~opencompass_tooleval.benchmarks.toolbench.responses`, of which ``empty`` is one.
    """
    if call.source == ERROR:
        return call.fault
    return error_kind(call.observation) if call.error is None else call.error


def count_waste(trajectory: Trajectory) -> Waste:
    """Counts the calls of a trajectory that brought nothing."""
    calls = trajectory.calls
    repeats = list(_repeats(trajectory))
    return Waste(
        calls=len(calls),
        repeated_call=sum(again for again, _ in repeats),
        unknown_tool=sum(error_of(call) in UNKNOWN_TOOLS for call in calls),
        invalid_call=sum(error_of(call) == WRONG_ARGUMENTS for call in calls),
        repeated_after_error=sum(after_error for _, after_error in repeats),
    )


def _repeats(trajectory: Trajectory) -> Iterator[tuple[bool, bool]]:
    """Of each call: whether it is repeated, and whether it is after an error."""
    children = Counter(step.parent for step in trajectory.steps)
    # Call -> the last one like it, for every step that others still follow.
    earlier: dict[int, dict[CallKey, AnsweredCall]] = {-1: {}}
    for place, step in enumerate(trajectory.steps):
        children[step.parent] -= 1
        # The last child takes the dict itself: a chain of 10,000 steps copies nothing.
        last = dict(earlier[step.parent]) if children[step.parent] else earlier.pop(step.parent)
        for call in step.calls:
            if call.source:
                pair = call_key(call.name, call.arguments)
                same = last.get(pair)
                yield (
                    same is not None and same.observation == call.observation,
                    same is not None and error_of(same) not in ('', EMPTY),
                )
                last[pair] = call
        if children[place]:
            earlier[place] = last


def ends_in_loop(trajectory: Trajectory) -> bool:
    """Whether the way to the end ends with one call, :data:`LOOP_CALLS` times in a row, that is answered the same."""
    last = trajectory.path_calls[-LOOP_CALLS:]
    if len(last) < LOOP_CALLS:
        return False
    return len({(call_key(call.name, call.arguments), call.observation) for call in last}) == 1
