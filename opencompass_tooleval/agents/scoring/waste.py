"""Counts an agent's wasted calls: repeated calls, calls to unknown tools, and calls with wrong arguments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from opencompass_tooleval.agents.scoring.matching import CallKey, call_key
from opencompass_tooleval.benchmarks.toolbench.reading import EMPTY, error_kind
from opencompass_tooleval.core.calls.observation import ERROR, UNKNOWN_TOOL, WRONG_ARGUMENTS
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Trajectory

LOOP_CALLS = 3
"""Number of equal calls with equal observations at the end that count as a loop."""

UNKNOWN_TOOLS = (UNKNOWN_TOOL, 'unknown_function')
"""This error's kinds, from the environment and in recordings; wrong arguments have the same kind in both."""


@dataclass(frozen=True)
class Waste:
    """Calls of one task, including abandoned branches.

    Attributes:
        calls: Number of all calls.
        repeated_call: Calls with the name, arguments and observation of an earlier call on the same path, so nothing
            changed in between.
        unknown_tool: Calls to tools that the task does not offer.
        invalid_call: Calls whose arguments the tool rejects, or whose arguments are not a JSON object.
        repeated_after_error: Calls with the name and arguments of an earlier call on the path that failed.
    """

    calls: int = 0
    repeated_call: int = 0
    unknown_tool: int = 0
    invalid_call: int = 0
    repeated_after_error: int = 0


def error_of(call: AnsweredCall) -> str:
    """Returns the error of a call, from the environment or a recording; ``''`` for no error.

    A label in the recording, such as T-Eval's, has priority. Otherwise the text of the response decides, with the kinds
    of :mod:`~opencompass_tooleval.benchmarks.toolbench.reading` and ``empty``.
    """
    if call.source == ERROR:
        return call.fault
    return error_kind(call.observation) if call.error is None else call.error


def count_waste(trajectory: Trajectory) -> Waste:
    """Counts the wasted calls of a trajectory."""
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
    """Yields, for each call, if it is repeated and if it is repeated after an error."""
    children = Counter(step.parent for step in trajectory.steps)
    # For every step with more children to come: call -> the last equal call.
    earlier: dict[int, dict[CallKey, AnsweredCall]] = {-1: {}}
    for index, step in enumerate(trajectory.steps):
        children[step.parent] -= 1
        # The last child takes the dict itself, so that a chain of 10,000 steps copies nothing.
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
        if children[index]:
            earlier[index] = last


def ends_in_loop(trajectory: Trajectory) -> bool:
    """Tests if the path ends with :data:`LOOP_CALLS` equal calls in a row that have the same observation."""
    last = trajectory.path_calls[-LOOP_CALLS:]
    if len(last) < LOOP_CALLS:
        return False
    return len({(call_key(call.name, call.arguments), call.observation) for call in last}) == 1
