"""Counts the calls of each tool and how they failed, for the owner of the tools."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.calls.observation import (
    INJECTED,
    UNANSWERED,
    UNKNOWN_TOOL,
    WRONG_ARGUMENTS,
    Observation,
)
from opencompass_tooleval.core.errors import MAX_MESSAGE, first_of, shorten
from opencompass_tooleval.environments.live_source import (
    DISCONNECTED,
    FATAL,
    INVALID_OUTPUT,
    REFUSED,
    SERVER_ERRORS,
    TIMEOUT,
    TOO_LARGE,
    TOOL_ERROR,
)

LEAST_FAILURES = 5
"""Failures from which on a tool or a server is called broken: fewer may be accidents."""
_SHARE_OF_TOOL = 1 / 3
_SHARE_OF_SERVER = 1 / 5

_WORDS = {
    TOOL_ERROR: 'error',
    REFUSED: 'refused',
    INVALID_OUTPUT: 'result outside of its outputSchema',
    TIMEOUT: 'hangs',
    TOO_LARGE: 'answer too large',
    DISCONNECTED: 'crash',
    UNANSWERED: 'nothing answers',
}
"""Failure -> as the table of tools has it."""
_MOST_WORDS = 120


def _shown(text: object) -> str:
    return shorten(' '.join(str(text)[: 2 * MAX_MESSAGE].split()), _MOST_WORDS)


@dataclass
class ToolCounts:
    """Calls of one tool.

    Attributes:
        called: Number of calls that reached it.
        failures: Failure, such as ``tool_error`` or ``timeout`` -> number of calls.
        messages: Failure -> message of the tool or its server at the last one.
    """

    called: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    messages: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Number of failed calls."""
        return sum(self.failures.values())

    @property
    def why(self) -> str:
        """The failures in words, the most frequent first; ``''`` without any."""
        rows = [
            f'{_WORDS.get(failure, failure)} {count}x'
            + (f' ({self.messages[failure]})' if self.messages.get(failure) else '')
            for failure, count in self.failures.most_common()
        ]
        return first_of(rows, 3)

    def count(self, failures: Iterable[str]) -> int:
        """Counts calls with some failures."""
        return sum(self.failures[failure] for failure in failures)

    def to_row(self) -> dict[str, Any]:
        """Returns its JSON values."""
        return {'called': self.called, 'failures': dict(self.failures), 'messages': dict(self.messages)}


class Tally:
    """Calls by tool. Sessions add to it from several threads."""

    def __init__(self) -> None:
        self.tools: dict[str, ToolCounts] = {}
        self._adding = threading.Lock()
        self._is_paused = False

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Counts no calls in the block, such as those of an agent that calls blindly."""
        self._is_paused = True
        try:
            yield
        finally:
            self._is_paused = False

    def add(self, name: str, observation: Observation) -> None:
        """Adds a call; calls of unknown tools, and failures that a task has planned, are none of a tool.

        That a tool refuses wrong arguments is no failure of it.
        """
        if self._is_paused or observation.fault == UNKNOWN_TOOL or observation.error == INJECTED:
            return
        failure = '' if observation.fault == WRONG_ARGUMENTS else observation.error or observation.fault
        with self._adding:
            counts = self.tools.setdefault(name, ToolCounts())
            counts.called += 1
            if failure in _WORDS:
                counts.failures[failure] += 1
                counts.messages[failure] = _shown(observation.text)

    def include(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        """Adds the JSON values of another tally.

        Raises:
            ValueError: They are none.
        """
        try:
            for name, row in rows.items():
                counts = self.tools.setdefault(str(name), ToolCounts())
                counts.called += int(row['called'])
                counts.failures.update({_shown(failure): int(count) for failure, count in row['failures'].items()})
                counts.messages.update({_shown(failure): _shown(text) for failure, text in row['messages'].items()})
        except (KeyError, TypeError, AttributeError, OverflowError) as error:
            raise ValueError(f'its counts of calls are none ({type(error).__name__}: {error})') from error

    def to_rows(self) -> dict[str, dict[str, Any]]:
        """Returns tool -> JSON values."""
        with self._adding:
            return {name: counts.to_row() for name, counts in self.tools.items()}

    def broken_tools(self) -> dict[str, str]:
        """Returns the tools that fail again and again through no fault of their callers, with the reason."""
        return {
            name: counts.why
            for name, counts in self.tools.items()
            if (failed := counts.count(SERVER_ERRORS)) >= LEAST_FAILURES and failed >= _SHARE_OF_TOOL * counts.called
        }

    def broken_server(self) -> str:
        """Returns why the server cannot be used, whichever tool is called; ``''`` if it can.

        A server that crashes at each second call fails at any tool; a tool that is broken itself is left out.
        """
        broken = self.broken_tools()
        if 1 < len(self.tools) <= 2 * len(broken):
            return f'{len(broken)} of {len(self.tools)} tools that were called fail again and again'
        sound = [counts for name, counts in self.tools.items() if name not in broken]
        calls, failed = sum(counts.called for counts in sound), sum(counts.count(FATAL) for counts in sound)
        if failed < LEAST_FAILURES or failed < _SHARE_OF_SERVER * calls:
            return ''
        return f'the server fails again and again, at {failed} of {calls} calls, whichever tool is called'
