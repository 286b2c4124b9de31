"""Reads the state of a live server by probes, and tests if it resets and which parts are volatile.

A task that is checked by its final state needs a server whose state resets. :func:`check_reset` starts the server twice
and reads the state twice after each start. A difference within one start is volatile (a clock); a difference between
two starts is state that does not reset.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import first_of, shorten
from opencompass_tooleval.environments.arguments import canonical_arguments
from opencompass_tooleval.environments.bank import Built, RecordedCall, write_bank
from opencompass_tooleval.environments.live_source import SERVER_ERRORS, TOOL_ERROR, ServerError
from opencompass_tooleval.extras.mcp_servers.fixture import folder_state, text_digest
from opencompass_tooleval.extras.mcp_servers.live import LiveTools, LiveTrial
from opencompass_tooleval.extras.mcp_servers.volatile import MAX_CHARS, difference_text, differing_fields, mask_fields

CHECK_TASK = 'state check'
PAUSE = 1.1
"""Seconds between two readings of one start: a clock with seconds shows another time then."""

_FILE = 'file '
"""Begins the names of files among the parts of the state."""
_MOST_SHOWN = 5
_MOST_TEXT = 120


@dataclass(frozen=True)
class CallProbe:
    """Reads state by a call of a read-only tool.

    Attributes:
        name: The tool.
        arguments: JSON values.
        mask: Fields of its answer that are no state (:mod:`~opencompass_tooleval.extras.mcp_servers.volatile`).
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    mask: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f'{self.name}({canonical_arguments(self.arguments) if self.arguments else ""})'

    def without_mask(self) -> CallProbe:
        """Returns a probe that reads the whole answer."""
        return replace(self, mask=())

    def to_row(self) -> dict[str, Any]:
        """Returns its JSON values."""
        mask = {'mask': list(self.mask)} if self.mask else {}
        return {'tool': self.name, 'arguments': dict(self.arguments), **mask}


@dataclass(frozen=True)
class FolderProbe:
    """Reads state from the files of the trial's copy of the fixture.

    Attributes:
        leave_out: Patterns of paths to skip, for :func:`~opencompass_tooleval.extras.mcp_servers.fixture.folder_state`.
        mask: File -> fields of it that are no state (:mod:`~opencompass_tooleval.extras.mcp_servers.volatile`).
    """

    leave_out: tuple[str, ...] = ()
    mask: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def without_mask(self) -> FolderProbe:
        """Returns a probe that reads whole files."""
        return replace(self, mask={})

    def to_row(self) -> dict[str, Any]:
        """Returns its JSON values."""
        mask = {'mask': {file: list(fields) for file, fields in self.mask.items()}} if self.mask else {}
        return {'leave_out': list(self.leave_out), **mask}


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
                folder = trial.folder
                files = folder_state(folder, probe.leave_out)
                for path, fields in probe.mask.items():
                    if path in files and (text := _text_of(folder / path)) is not None:
                        files[path] = text_digest(mask_fields(text, fields))
            except (OSError, ValueError) as error:
                raise ServerError(f'the files that the server left cannot be read: {error}') from error
            state |= {f'{_FILE}{path}': digest for path, digest in files.items()}
            continue
        answer = trial.call(probe.name, probe.arguments)
        if answer.error in SERVER_ERRORS:
            raise ServerError(f'the server fails at the probe {shorten(str(probe), _MOST_TEXT)}: {answer.text}')
        text = mask_fields(answer.text, probe.mask)
        state[str(probe)] = f'{answer.error}: {text}' if answer.error else text
    return state


def _text_of(file: Path) -> str | None:
    """Returns the text of a small file; None for any other file."""
    if file.is_symlink() or not file.is_file() or file.stat().st_size > MAX_CHARS:
        return None
    content = file.read_bytes()
    return None if b'\0' in content else content.decode('utf-8', 'replace')


def with_masks(probes: Sequence[Probe], masks: Mapping[str, Sequence[str]]) -> tuple[Probe, ...]:
    """Returns probes that leave fields out of the state.

    Args:
        probes: The probes.
        masks: Part of the state -> further fields of it.
    """

    files = {part.removeprefix(_FILE): fields for part, fields in masks.items() if part.startswith(_FILE)}

    def masked(probe: Probe) -> Probe:
        if isinstance(probe, CallProbe):
            return replace(probe, mask=_union(probe.mask, masks.get(str(probe), ())))
        names = dict.fromkeys([*probe.mask, *files])
        return replace(probe, mask={name: _union(probe.mask.get(name, ()), files.get(name, ())) for name in names})

    return tuple(map(masked, probes))


def _union(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*one, *other]))


def state_differences(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Returns each different part of two states -> its values before and after; ``''`` if it is missing."""
    names = dict.fromkeys([*before, *after])
    pairs = {name: (before.get(name, ''), after.get(name, '')) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1] or (name in before) != (name in after)}


class TrialState:
    """State of the trials of a server, compared with that of a fresh one.

    Args:
        live: The server.
        probes: The probes that define the state.

    Attributes:
        probes: The probes, without the fields that :meth:`mask` was told.
    """

    def __init__(self, live: LiveTools, probes: Sequence[Probe]) -> None:
        self._live = live
        self.probes = tuple(probes)

    def mask(self, masks: Mapping[str, Sequence[str]]) -> None:
        """Leaves fields out of the state.

        Args:
            masks: Part of the state -> fields of it.
        """
        self.probes = with_masks(self.probes, masks)
        self.__dict__.pop('start', None)

    @cached_property
    def start(self) -> State:
        """The state of a fresh trial; read once.

        Raises:
            ServerError: The server cannot be started, or fails at a probe.
        """
        with self._live.begin(CHECK_TASK) as trial:
            return read_state(trial, self.probes)

    def changes(self, trial: LiveTrial) -> dict[str, str]:
        """Returns part of the state -> its value now, of those that differ from the start; ``''`` where it is gone.

        Raises:
            ServerError: The server failed, and its state cannot be read.
        """
        before, after = self.start, read_state(trial, self.probes)
        return {name: now for name, (_, now) in state_differences(before, after).items()}


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


def start_differences(start: Mapping[str, str], other: Mapping[str, str]) -> str:
    """Describes how two starts differ, other than in ids and times; ``''`` if they do not."""
    rows = [
        f'{shorten(name, _MOST_TEXT)}: {difference_text(*pair)}'
        for name, pair in state_differences(start, other).items()
        if differing_fields(*pair) is None
    ]
    return first_of(rows, _MOST_SHOWN)


def check_start(live: LiveTools, probes: Sequence[Probe], start: Mapping[str, str], what: str) -> None:
    """Starts a server once more, after calls in other trials, and compares its state with an earlier start.

    Args:
        live: The server; processes that were started in advance are stopped.
        probes: The probes.
        start: What they read at the earlier start.
        what: The calls, in words.

    Raises:
        ServerError: The state is another one: the calls have left something outside of their trials. Ids and times
            may differ.
    """
    live.renew()
    with live.begin(CHECK_TASK) as trial:
        now = read_state(trial, probes)
    if differing := start_differences(start, now):
        raise ServerError(
            f'{live.name}: its state does not reset: after {what}, a new start is different: {differing}. '
            'It keeps state outside of the fixture: give the place of its state, such as by --env, with {fixture} in it'
        )


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
