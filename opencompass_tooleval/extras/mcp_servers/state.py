"""Reads the state of a live server by probes, and tests if it resets and which parts are volatile.

A task that is checked by its final state needs a server whose state resets. :func:`check_reset` starts the server twice
and reads the state twice after each start. A difference within one start is volatile (a clock); a difference between
two starts is state that does not reset.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.environments.arguments import canonical_arguments
from opencompass_tooleval.environments.bank import Built, RecordedCall, write_bank
from opencompass_tooleval.extras.mcp_servers.fixture import folder_state
from opencompass_tooleval.extras.mcp_servers.live import LiveTools, LiveTrial
from opencompass_tooleval.extras.mcp_servers.server import SERVER_ERRORS, TOOL_ERROR, ServerError

CHECK_TASK = 'state check'
PAUSE = 1.1
"""Seconds between two readings of one start: a clock with seconds shows another time then."""

_MOST_SHOWN = 5
_MOST_TEXT = 120


@dataclass(frozen=True)
class CallProbe:
    """Reads state by a call of a read-only tool.

    Attributes:
        name: The tool.
        arguments: JSON values.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f'{self.name}({canonical_arguments(self.arguments) if self.arguments else ""})'


@dataclass(frozen=True)
class FolderProbe:
    """Reads state from the files of the trial's copy of the fixture.

    Attributes:
        leave_out: Patterns of paths to skip, for :func:`~opencompass_tooleval.extras.mcp_servers.fixture.folder_state`.
    """

    leave_out: tuple[str, ...] = ()


Probe = CallProbe | FolderProbe
State = dict[str, str]
"""A part of the state, such as ``notes.txt`` or ``git_status({...})`` -> its digest, or the answer and its error."""


def read_state(trial: LiveTrial, probes: Sequence[Probe]) -> State:
    """Reads a trial's state.

    Args:
        trial: The trial; the calls of the probes are made on its server.
        probes: The probes, in this order.

    Raises:
        ServerError: The server fails at a probe, the probe's tool is not allowed, or the files cannot be read, such as
            those of a server that wrote too many.
    """
    state: State = {}
    for probe in probes:
        if isinstance(probe, FolderProbe):
            try:
                files = folder_state(trial.folder, probe.leave_out)
            except (OSError, ValueError) as error:
                raise ServerError(f'the files that the server left cannot be read: {error}') from error
            state |= {f'file {path}': digest for path, digest in files.items()}
            continue
        answer = trial.call(probe.name, probe.arguments)
        if answer.error in SERVER_ERRORS:
            raise ServerError(f'the server fails at the probe {shorten(str(probe), _MOST_TEXT)}: {answer.text}')
        state[str(probe)] = f'{answer.error}: {answer.text}' if answer.error else answer.text
    return state


def state_differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Returns each different part of two states -> its values before and after; ``''`` if it is missing."""
    names = dict.fromkeys([*before, *after])
    pairs = {name: (before.get(name, ''), after.get(name, '')) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1] or (name in before) != (name in after)}


@dataclass(frozen=True)
class ResetCheck:
    """State of a server after two starts from one fixture.

    Attributes:
        state: State at the start, without volatile parts.
        volatile: Calls with two different answers within one start, with the first answer: leave out their tools, or
            :meth:`freeze` them.
    """

    state: State
    volatile: tuple[RecordedCall, ...]

    def freeze(self, file: Path) -> Built | None:
        """Writes a bank of the first volatile answers; an environment with it never asks the server for these tools.

        Args:
            file: Path of the bank; it is not written if nothing is volatile.
        """
        return write_bank(self.volatile, file) if self.volatile else None


def check_reset(
    live: LiveTools, probes: Sequence[Probe], pause: float = PAUSE, may_be_volatile: bool = True
) -> ResetCheck:
    """Starts a server twice from its fixture, reads the state twice after each start, and compares.

    Args:
        live: The server.
        probes: The probes that define its state.
        pause: Seconds between two readings of one start.
        may_be_volatile: Whether probes may answer differently within one start.

    Raises:
        ServerError: Two starts differ in state that is not volatile, a reading changes files, a probe is volatile that
            may not be, or the server fails; the message names the difference.
    """
    with live.begin(CHECK_TASK) as one, live.begin(CHECK_TASK) as other:
        first, second = read_state(one, probes), read_state(other, probes)
        time.sleep(pause)
        again, second_again = read_state(one, probes), read_state(other, probes)
    named = {str(probe): probe for probe in probes if isinstance(probe, CallProbe)}
    changed = state_differences(first, again) | state_differences(second, second_again)
    files = {name: pair for name, pair in changed.items() if name not in named}
    if files:
        raise ServerError(f'{live.name}: reading its state changes it: {_shown(files)}')
    if changed and not may_be_volatile:
        raise ServerError(
            f'{live.name}: a probe of the state answers differently when it is called twice: {_shown(changed)}'
        )
    volatile = tuple(_recorded(named[name], first[name]) for name in changed)
    stable = {name: value for name, value in first.items() if name not in changed}
    differing = state_differences(stable, {name: value for name, value in second.items() if name not in changed})
    if differing:
        raise ServerError(
            f'{live.name}: its state does not reset, since two starts from the same fixture differ: {_shown(differing)}'
        )
    return ResetCheck(stable, volatile)


def _recorded(probe: CallProbe, read: str) -> RecordedCall:
    error, sign, text = read.partition(': ')
    is_error = bool(sign) and error == TOOL_ERROR
    response, word = (text, TOOL_ERROR) if is_error else (read, '')
    return RecordedCall(CHECK_TASK, '', probe.name, probe.arguments, response, word)


def _shown(differences: Mapping[str, tuple[str, str]]) -> str:
    rows = [
        f'{shorten(name, _MOST_TEXT)}: {shorten(before, _MOST_TEXT)!r} and {shorten(after, _MOST_TEXT)!r}'
        for name, (before, after) in differences.items()
    ]
    return first_of(rows, _MOST_SHOWN)
