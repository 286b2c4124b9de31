"""Repeats the calls of solutions on a live server: it has to reset, and what it generates anew is no effect."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.loops.steps import CUT_MARK, shown_observation
from opencompass_tooleval.core.calls.observation import LIVE
from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.extras.making.execution import VOLATILE_EFFECTS, Executed
from opencompass_tooleval.extras.making.made_task import MadeTask, Solution, SolvedCall
from opencompass_tooleval.extras.making.solving import Attempt
from opencompass_tooleval.extras.making.tool_source import ToolSource
from opencompass_tooleval.extras.mcp_servers.live import LiveTools
from opencompass_tooleval.extras.mcp_servers.state import (
    PAUSE,
    State,
    TrialState,
    check_start,
    read_contents,
    start_differences,
    state_differences,
)
from opencompass_tooleval.extras.mcp_servers.volatile import difference_text, differing_fields
from opencompass_tooleval.work_dir.data_files import read_json
from opencompass_tooleval.work_dir.whole_file import write_json

_START_FILE = 'start_state.json'
_TASK = 'repeated'
_MOST_TOOLS = 5
_MOST_SAME = 3
"""Number of solutions that are repeated again after each part, since all their answers were the same."""


@dataclass(frozen=True)
class _Step:
    """A call that was repeated: its answer, and what differed from the start after it."""

    call: SolvedCall
    answer: str
    changes: State


class LiveChecks:
    """Checks of the server of a set.

    Args:
        source: The tools, with a live server.
        live: The server.

    Attributes:
        masked: Part of the state -> its fields that are no effects, since the server generates them anew.
    """

    def __init__(self, source: ToolSource, live: LiveTools) -> None:
        self._source = source
        self._live = live
        self.masked: dict[str, tuple[str, ...]] = {}
        self._same: dict[str, Solution] = {}

    @property
    def _state(self) -> TrialState | None:
        state = self._source.environment.state
        return state if isinstance(state, TrialState) else None

    def probe_rows(self) -> list[dict[str, Any]]:
        """Returns the JSON values of the probes of the state, without masked fields."""
        return [probe.to_row() for probe in self._state.probes] if self._state else []

    def check_begun(self, folder: Path) -> None:
        """Checks that a set that was begun goes on from the state that it was begun with.

        Args:
            folder: Where the state at the beginning is kept.

        Raises:
            ServerError: The server starts with another state.
        """
        file, start = folder / _START_FILE, dict(self._source.start)
        if not file.exists():
            folder.mkdir(parents=True, exist_ok=True)
            write_json(file, start)
        elif differing := start_differences(read_json(file), start):
            raise ServerError(
                f'{self._live.name}: its state is not the one that the set was begun with: {differing}. '
                'Restore it, or remove the folder of the set'
            )

    def check_reset(self, solutions: Sequence[Solution]) -> None:
        """Checks that nothing of what solutions did is left in a fresh start.

        Where nothing reads the state, the calls are repeated: a server that keeps state answers otherwise than it
        answered the solution, and answers so again.

        Args:
            solutions: The solutions; their processes are stopped.

        Raises:
            ServerError: Something is left; the message has the difference.
            FixtureChangedError: A process has changed the fixture, of which each has a copy.
        """
        calls = [call for one in solutions for call in _live_calls(one)]
        if not calls:
            return
        names = first_of(list(dict.fromkeys(call.name for call in calls)), _MOST_TOOLS)
        self._live.check_fixture()
        if self._source.reads:
            check_start(self._live, self._source.reads, self._source.start, f'calls of {names}')
            return
        for one in solutions:
            if self._compare_answers(one) and len(self._same) < _MOST_SAME:
                self._same.setdefault(str([(call.name, call.arguments) for call in _live_calls(one)]), one)
        for one in self._same.values():  # again: it may have been repeated before the first that writes
            self._compare_answers(one)

    def _compare_answers(self, solution: Solution) -> bool:
        """Compares the answers of a new process with those that a solution got; returns whether all are the same.

        Only the first call that is answered otherwise is looked at: later ones may depend on an id of its answer. The
        calls up to it are repeated, without those that come after it, which may change what a server keeps.

        Raises:
            ServerError: New processes answer a call alike, and otherwise than it answered the solution.
        """
        for number, step in enumerate(self._repeat(solution), 1):
            before = step.call.observation
            fields = differing_fields(before, step.answer)
            if fields is None and not before.endswith(CUT_MARK):
                calls = _live_calls(solution)
                up_to_it = replace(solution, calls=tuple(calls[:number]))
                first, second = (self._repeat(up_to_it) for _ in range(2))
                if len(first) == len(second) == number and first[-1].answer == second[-1].answer != before:
                    names = first_of(list(dict.fromkeys(call.name for call in calls)), _MOST_TOOLS)
                    raise ServerError(
                        f'{self._live.name}: its state does not reset: after calls of {names}, a new start answers '
                        f'{step.call.name} differently: {difference_text(before, first[-1].answer)}'
                    )
            if fields != ():
                return False
        return True

    def find_volatile(self, solution: Solution) -> Executed | None:
        """Repeats a solution's calls twice, and masks what the server generates anew in the state.

        Args:
            solution: The solution.

        Returns:
            The fault, where calls leave states that differ otherwise too, or nothing to compare is left; else None.
        """
        first, second = self._repeat(solution), self._repeat(solution, PAUSE)
        masks: dict[str, tuple[str, ...]] = {}
        for one, other in zip(first, second, strict=False):
            for part in dict.fromkeys([*one.changes, *other.changes]):
                before, after = one.changes.get(part, ''), other.changes.get(part, '')
                fields = differing_fields(before, after)
                if fields is None:
                    detail = f'{one.call.name}: {part}: {difference_text(before, after)}'
                    return Executed(VOLATILE_EFFECTS, detail, one.call.name)
                if fields:
                    masks[part] = tuple(dict.fromkeys([*masks.get(part, ()), *fields]))
        for part, fields in masks.items():
            self.masked[part] = tuple(dict.fromkeys([*self.masked.get(part, ()), *fields]))
        if state := self._state:
            state.mask(masks)
        return None

    def with_effects(self, attempt: Attempt) -> Attempt:
        """Returns an attempt whose effects are read anew, without masked fields."""
        return replace(attempt, solution=self._read_anew(attempt.solution)) if attempt.solution else attempt

    def with_effects_of_task(self, made: MadeTask) -> MadeTask:
        """Returns a task whose effects are read anew, without masked fields."""
        solutions = tuple(map(self._read_anew, made.solutions))
        return replace(made.with_goal(replace(made.goal, effects=solutions[0].changes)), solutions=solutions)

    def _read_anew(self, solution: Solution) -> Solution:
        if not solution.changes:
            return solution
        state = self._state
        if state is None:
            return solution
        with self._live.begin(_TASK) as trial:
            for call in _live_calls(solution):
                trial.call(call.name, call.arguments)
            return replace(solution, changes=state.changes(trial))

    def _repeat(self, solution: Solution, pause: float = 0) -> list[_Step]:
        """Repeats a solution's calls from a fresh start, until the server fails."""
        probes, steps = self._state.probes if self._state else (), list[_Step]()
        self._live.renew()
        time.sleep(pause)
        with self._live.begin(_TASK) as trial, suppress(ServerError):
            start = read_contents(trial, probes)
            for call in _live_calls(solution):
                answer = trial.call(call.name, call.arguments)
                if trial.failed:
                    break
                now = read_contents(trial, probes)
                changes = {part: after for part, (_, after) in state_differences(start, now).items()}
                steps.append(_Step(call, shown_observation(answer.text), changes))
        return steps


def _live_calls(solution: Solution) -> list[SolvedCall]:
    return [call for call in solution.calls if call.source == LIVE]
