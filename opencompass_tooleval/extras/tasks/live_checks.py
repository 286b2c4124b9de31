"""Checks that a live server resets: calls of one task must leave nothing for the next."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from opencompass_tooleval.agents.loops.steps import CUT_MARK, shown_observation
from opencompass_tooleval.core.calls.observation import LIVE
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Trajectory
from opencompass_tooleval.core.errors import first_of
from opencompass_tooleval.environments.live_source import ServerError
from opencompass_tooleval.extras.mcp_servers.live import LiveTools
from opencompass_tooleval.extras.mcp_servers.state import Probe, State, check_reset, check_start
from opencompass_tooleval.extras.mcp_servers.volatile import difference_text, differing_fields

_TASK = 'repeated'
_MOST_TOOLS = 5


class ResetChecks:
    """Compares starts of a server before and after calls.

    Args:
        live: The server.
        probes: The probes that read its state; without them, answers are compared.

    Raises:
        ServerError: Two starts differ, a probe changes what it reads, or the server fails.
    """

    def __init__(self, live: LiveTools, probes: Sequence[Probe]) -> None:
        self._live = live
        self._probes = probes
        self._start: State = check_reset(live, probes, may_be_volatile=False).state if probes else {}

    def check(self, runs: Sequence[Trajectory]) -> None:
        """Checks that nothing is left in a fresh start after calls.

        If nothing reads the state, the calls are repeated: a server that keeps state answers differently from the
        first time, and answers so again.

        Args:
            runs: The runs with the calls; their processes are stopped.

        Raises:
            ServerError: Something is left; the message has the difference.
            FixtureChangedError: A process has changed the fixture, of which each has a copy.
        """
        calls = [call for run in runs for call in _live_calls(run)]
        if not calls:
            return
        self._live.check_fixture()
        if self._probes:
            check_start(self._live, self._probes, self._start, f'calls of {_names(calls)}')
            return
        for run in [*runs, *runs]:  # again: it may have been repeated before the first that writes
            self._compare_answers(_live_calls(run))

    def _compare_answers(self, calls: Sequence[AnsweredCall]) -> None:
        """Compares the answers of a new process with those of a run.

        Only the first call with a different answer is looked at: later ones may depend on an id of its answer. The
        calls up to it are repeated, without those after it, which may change what a server keeps.

        Raises:
            ServerError: New processes answer a call alike, and differently from the run.
        """
        for number, (call, answer) in enumerate(zip(calls, self._repeat(calls), strict=False), 1):
            before = call.observation
            fields = differing_fields(before, answer)
            if fields is None and not before.endswith(CUT_MARK):
                first, second = (self._repeat(calls[:number]) for _ in range(2))
                if len(first) == len(second) == number and first[-1] == second[-1] != before:
                    raise ServerError(
                        f'{self._live.name}: its state does not reset: after calls of {_names(calls)}, a new start '
                        f'answers {call.name} differently: {difference_text(before, first[-1])}'
                    )
            if fields != ():
                return

    def _repeat(self, calls: Sequence[AnsweredCall]) -> list[str]:
        """Repeats calls from a fresh start, until the server fails; returns the answers."""
        answers: list[str] = []
        self._live.renew()
        with self._live.begin(_TASK) as trial, suppress(ServerError):
            for call in calls:
                answer = trial.call(call.name, call.arguments)
                if trial.failed:
                    break
                answers.append(shown_observation(answer.text))
        return answers


def _names(calls: Sequence[AnsweredCall]) -> str:
    return first_of(list(dict.fromkeys(call.name for call in calls)), _MOST_TOOLS)


def _live_calls(run: Trajectory) -> list[AnsweredCall]:
    return [call for call in run.calls if call.source == LIVE]
