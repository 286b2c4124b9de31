"""Identifies an MCP server, with its limits and its possible errors."""

from __future__ import annotations

import importlib.util
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

INSTALL = "pip install 'opencompass-tooleval[mcp]'"
_URLS = ('http://', 'https://')

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


@dataclass(frozen=True)
class Limits:
    """Limits on a server.

    Attributes:
        start_seconds: Maximum time for its start and the list of its tools.
        call_seconds: Maximum time for each call.
        message_bytes: Maximum size of one message. A server that sends more is stopped.
        tools: Maximum number of tools in all pages of its list.
        memory_bytes: Maximum memory of each process of a command; None for no limit. Only on Linux.
        file_bytes: Maximum size of each file that a command writes; None for no limit. Only on Linux.
    """

    start_seconds: float = 120.0
    call_seconds: float = 30.0
    message_bytes: int = 4 * 1024 * 1024
    tools: int = 2_000
    memory_bytes: int | None = 8 * 1024**3
    file_bytes: int | None = 1024**3


@dataclass(frozen=True)
class Server:
    """An MCP server: a command that communicates over standard input and output, or a URL (streamable HTTP).

    Attributes:
        command: Program and arguments; empty for a URL.
        url: Its endpoint; ``''`` for a command.
        env: Variables beside ``PATH``, ``HOME``, ``USER``, ``LOGNAME``, ``SHELL`` and ``TERM``, and a mark by which its
            processes are found (``TOOLEVAL_SERVER``). No other variable of this process reaches the server.
        folder: Its working directory; None for that of this process.
        limits: Its limits.
    """

    command: tuple[str, ...] = ()
    url: str = ''
    env: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    limits: Limits = Limits()

    def __str__(self) -> str:
        """Its name in messages: without arguments, user and query, which may hold keys."""
        if self.command:
            return Path(self.command[0]).name
        parts = urlsplit(self.url)
        return f'{parts.scheme}://{parts.netloc.rpartition("@")[2]}{parts.path}'


def check_sdk() -> None:
    """Checks that the MCP SDK is installed.

    Raises:
        ValueError: It is not; the message has the command that installs it.
    """
    if importlib.util.find_spec('mcp') is None:
        raise ValueError(f'MCP servers need the MCP SDK, which is not installed. Fix it with: {INSTALL}')


def fill_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Fills the variables of a server: the value ``$NAME`` is that of the variable ``NAME`` of this process.

    Callers have them from the user's config or command line, or from a set that the user trusts.

    Raises:
        ValueError: This process has no such variable.
    """
    for name, value in env.items():
        if value.startswith('$') and value[1:] not in os.environ:
            raise ValueError(f'the server is given {name}={value}, and the variable {value[1:]} is not set')
    return {name: os.environ[value[1:]] if value.startswith('$') else value for name, value in env.items()}


def parse_server(text: str, env: Mapping[str, str] | None = None, limits: Limits | None = None) -> Server:
    """Reads a server from a command line: ``'COMMAND ARGS'``, quoted as in a shell, or a URL.

    Args:
        text: The server.
        env: Variables for :class:`Server`.
        limits: Limits for :class:`Server`.

    Raises:
        ValueError: It is neither, a URL has variables, or the MCP SDK is not installed.
    """
    check_sdk()
    text = text.strip()
    if text.startswith(_URLS):
        if env:
            raise ValueError('a server at a URL is running already and takes no environment variables')
        return Server(url=text, limits=limits or Limits())
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f'the command of the MCP server cannot be read ({error}): {text[:200]}') from error
    if not command:
        raise ValueError("an MCP server is a command ('python my_server.py') or a URL (http://...)")
    return Server(command, env=dict(env or {}), limits=limits or Limits())
