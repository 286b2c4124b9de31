"""Counts the calls of each tool and their failures, for the tool's owner."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

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
    INVALID_OUTPUT,
    REFUSED,
    TIMEOUT,
    TOO_LARGE,
    TOOL_ERROR,
)

_WORDS = {
    TOOL_ERROR: 'error',
    REFUSED: 'refused',
    INVALID_OUTPUT: 'result violates its outputSchema',
    TIMEOUT: 'hangs',
    TOO_LARGE: 'answer too large',
    DISCONNECTED: 'crash',
    UNANSWERED: 'nothing answers',
}
"""Failure -> its words in the table of tools."""
_MOST_WORDS = 120


def _shown(text: object) -> str:
    return shorten(' '.join(str(text)[: 2 * MAX_MESSAGE].split()), _MOST_WORDS)


@dataclass
class ToolCounts:
    """Calls of one tool.

    Attributes:
        called: Number of calls that reached the tool.
        failures: Failure, such as ``tool_error`` or ``timeout`` -> number of calls.
        messages: Failure -> the last message of the tool or its server.
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
        """The failures in words, most frequent first; ``''`` without failures."""
        rows = [
            f'{_WORDS.get(failure, failure)} {count}x'
            + (f' ({self.messages[failure]})' if self.messages.get(failure) else '')
            for failure, count in self.failures.most_common()
        ]
        return first_of(rows, 3)


class Tally:
    """Calls by tool. Several threads may add to it."""

    def __init__(self) -> None:
        self.tools: dict[str, ToolCounts] = {}
        self._adding = threading.Lock()

    def add(self, name: str, observation: Observation) -> None:
        """Adds a call, except for calls of unknown tools and failures that a task has planned.

        If a tool rejects wrong arguments, this does not count as its failure.
        """
        if observation.fault == UNKNOWN_TOOL or observation.error == INJECTED:
            return
        failure = '' if observation.fault == WRONG_ARGUMENTS else observation.error or observation.fault
        with self._adding:
            counts = self.tools.setdefault(name, ToolCounts())
            counts.called += 1
            if failure in _WORDS:
                counts.failures[failure] += 1
                counts.messages[failure] = _shown(observation.text)
