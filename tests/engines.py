"""Engines in tests: their settings, and the processes that are theirs, found by a mark in their environment."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.conftest import ROOT

PATIENCE = 1500.0
KEY_VARIABLE = 'ENGINE_KEY'
_MARK = 'TOOLEVAL_TEST_ENGINE'


def marked(folder: Path) -> dict[str, str]:
    """Environment of the engines of one test; OpenCompass's process does not have it."""
    return {_MARK: str(folder)}


def scripted_engine(folder: Path, *arguments: str, **more: Any) -> dict[str, Any]:
    """Settings of an engine that runs ``tests/engine_script.py``; ``folder`` is the test's."""
    command = ['{python}', str(ROOT / 'tests' / 'engine_script.py'), '--port', '{port}', '--folder', str(folder)]
    settings = dict(command=[*command, *arguments], env=marked(folder), key_variable=KEY_VARIABLE, grace=5)
    return {**settings, **more}


def engine_on_nodes(folder: Path, nodes: int, *arguments: str, **more: Any) -> dict[str, Any]:
    """Settings of a scripted engine on several nodes."""
    ranks = ['--nodes', '{nodes}', '--rank', '{rank}', '--master', '{address}:{master_port}']
    return scripted_engine(folder, *ranks, *arguments, nodes=nodes, **more)


def serve_engine(folder: Path, **more: Any) -> dict[str, Any]:
    """Settings of the real ``transformers serve``."""
    serve = ['{python}', '-m', 'transformers.commands.transformers_cli', 'serve', '--device', 'cpu']
    command = [*serve, '--host', '{host}', '--port', '{port}', '--force_model', '{model}']
    return {**dict(command=command, env=marked(folder), startup=PATIENCE, grace=10), **more}


def command_lines() -> list[bytes]:
    """The command lines of all processes; those that end meanwhile are left out."""
    lines = []
    for file in Path('/proc').glob('[0-9]*/cmdline'):
        with suppress(OSError):
            lines.append(file.read_bytes())
    return lines


def is_alive(process: int) -> bool:
    """Tests if a process runs; a zombie has ended."""
    try:
        return Path(f'/proc/{process}/stat').read_text().rpartition(')')[2].split()[0] != 'Z'
    except OSError:
        return False


def processes(folder: Path) -> dict[int, str]:
    """Command lines of a test's engines and of what these started, by process; zombies have ended."""
    mark = f'{_MARK}={folder}'.encode()
    alive = {}
    for place in Path('/proc').glob('[0-9]*'):
        with suppress(OSError):  # it has ended meanwhile
            if mark in (place / 'environ').read_bytes().split(b'\0'):
                words = (place / 'cmdline').read_bytes().replace(b'\0', b' ').decode('utf-8', 'replace')
                if words:
                    alive[int(place.name)] = words
    return alive


def until(condition: Callable[[], Any], what: str = '') -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what or 'waited in vain'
        time.sleep(0.05)


def until_gone(folder: Path) -> None:
    """Waits until no process of a test's engines is left."""
    until(lambda: not processes(folder), 'an engine is left')


@contextmanager
def none_left(folder: Path) -> Iterator[None]:
    """Ends what a test that fails would leave behind."""
    try:
        yield
    finally:
        for process in processes(folder):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
