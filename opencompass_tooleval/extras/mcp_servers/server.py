"""Identifies an MCP server, with its limits and possible errors."""

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


@dataclass(frozen=True)
class Limits:
    """Limits on a server.

    Attributes:
        start_seconds: Maximum time for starting and listing tools.
        call_seconds: Maximum time for each call.
        message_bytes: Maximum size of one message. A server that sends more is stopped.
        tools: Maximum number of tools in all pages of the list.
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
        url: The endpoint; ``''`` for a command.
        env: Variables in addition to ``PATH``, ``HOME``, ``USER``, ``LOGNAME``, ``SHELL`` and ``TERM``, and to a mark
            that identifies its processes (``TOOLEVAL_SERVER``). The server gets no other variable of this process.
        folder: Working directory; None for that of this process.
        limits: Limits on the server.
    """

    command: tuple[str, ...] = ()
    url: str = ''
    env: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    limits: Limits = Limits()

    def __str__(self) -> str:
        """Name in messages: without arguments, user and query, which may contain keys."""
        if self.command:
            return Path(self.command[0]).name
        parts = urlsplit(self.url)
        return f'{parts.scheme}://{parts.netloc.rpartition("@")[2]}{parts.path}'


def check_sdk() -> None:
    """Checks that the MCP SDK is installed.

    Raises:
        ValueError: It is not installed; the error contains the command that installs it.
    """
    if importlib.util.find_spec('mcp') is None:
        raise ValueError(f'MCP servers need the MCP SDK, which is not installed. Fix it with: {INSTALL}')


def fill_variables(env: Mapping[str, str]) -> dict[str, str]:
    """Fills the variables of a server: the value ``$NAME`` stands for the variable ``NAME`` of this process.

    The variables must come from the user's config or command line, or from a task set that the user trusts.

    Raises:
        ValueError: This process does not have the variable.
    """
    for name, value in env.items():
        if value.startswith('$') and value[1:] not in os.environ:
            raise ValueError(f'the server needs {name}={value}, but the variable {value[1:]} is not set')
    return {name: os.environ[value[1:]] if value.startswith('$') else value for name, value in env.items()}


def parse_server(text: str, env: Mapping[str, str] | None = None, limits: Limits | None = None) -> Server:
    """Parses a server from a command line, ``'COMMAND ARGS'`` quoted as in a shell, or from a URL.

    Args:
        text: The server.
        env: Variables for :class:`Server`.
        limits: Limits for :class:`Server`.

    Raises:
        ValueError: The text is neither, a URL has variables, or the MCP SDK is not installed.
    """
    check_sdk()
    text = text.strip()
    if text.startswith(_URLS):
        if env:
            raise ValueError('a server at a URL is already running and cannot get environment variables')
        return Server(url=text, limits=limits or Limits())
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise ValueError(f'the command of the MCP server cannot be parsed ({error}): {text[:200]}') from error
    if not command:
        raise ValueError("an MCP server must be a command ('python my_server.py') or a URL (http://...)")
    return Server(command, env=dict(env or {}), limits=limits or Limits())
