"""The protocol of live servers that answer calls, and their errors. Servers themselves are an extra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

TOOL_ERROR = 'tool_error'
REFUSED = 'refused'
INVALID_OUTPUT = 'invalid_output'
TIMEOUT = 'timeout'
TOO_LARGE = 'too_large'
DISCONNECTED = 'disconnected'

SERVER_ERRORS = (REFUSED, INVALID_OUTPUT, TIMEOUT, TOO_LARGE, DISCONNECTED)
"""Errors of the server; ``tool_error`` is a regular answer."""

FATAL = (TIMEOUT, TOO_LARGE, DISCONNECTED)
"""Errors that leave the server in an unknown state: it is no longer called."""

GONE = 'The server is gone'
"""Begins the answer to a call that is not made any more, after an error in :data:`FATAL`."""


class ServerError(ValueError):
    """A server cannot be started or reached, or breaks the protocol; the message names it."""


class LiveAnswer(Protocol):
    """The answer to a call: its text, and the error in one word."""

    @property
    def text(self) -> str:
        """The text for the model."""

    @property
    def error(self) -> str:
        """:data:`TOOL_ERROR`, one of :data:`SERVER_ERRORS`, or ``''``."""


class LiveTrial(Protocol):
    """A run of one task on a server, with its own state."""

    def call(self, name: str, arguments: Mapping[str, Any]) -> LiveAnswer:
        """Calls a tool; returns within the server's limits.

        Raises:
            ServerError: The tool is not allowed, or the server cannot be started.
        """

    def close(self, wait: bool = True) -> None:
        """Ends the trial; without ``wait`` in the background."""


class LiveSource(Protocol):
    """A server with a separate state for each trial."""

    @property
    def most(self) -> int:
        """Maximum number of simultaneous trials."""

    @property
    def server(self) -> object:
        """The server; its text is its name in results."""

    @property
    def listed(self) -> Sequence[Mapping[str, Any]]:
        """The allowed tools, each with its ``name``.

        Raises:
            ServerError: The server cannot be started.
        """

    def begin(self, task: str) -> LiveTrial:
        """Begins a trial of a task; the caller closes it."""

    def close(self) -> None:
        """Stops all processes."""


class LiveState(Protocol):
    """Compares the state of trials with that of a fresh one."""

    def changes(self, trial: Any) -> dict[str, str]:
        """Returns part of the state -> its difference from the start, as JSON text.

        Raises:
            ServerError: The state cannot be read.
        """
