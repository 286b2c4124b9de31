"""The servers of tests: one of our own, and published ones in environments of their own."""

from __future__ import annotations

import shlex
import shutil
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NOTES_SERVER = Path(__file__).with_name('notes_server.py')
QUICK_PYTHON = [sys.executable, '-S']
"""Without the packages that are installed, which servers of the standard library alone do not need."""
NOTES = shlex.join([*QUICK_PYTHON, str(NOTES_SERVER)])

PUBLISHED = {
    'git': 'mcp-server-git==2026.10.19',
    'time': 'mcp-server-time==2026.10.19',
    'excel': 'excel-mcp-server==2.2.2',
}


@contextmanager
def notes_over_http(folder: Path) -> Iterator[str]:
    """Serves the notes of a folder, and gives the URL."""
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, NOTES_SERVER, '--http', str(port)], cwd=folder)
    try:
        while process.poll() is None:
            with socket.socket() as waiting:
                if waiting.connect_ex(('127.0.0.1', port)) == 0:
                    break
            time.sleep(0.05)
        yield f'http://127.0.0.1:{port}/mcp'
    finally:
        process.kill()
        process.wait()


def install(command: list[str]) -> None:
    """Runs a command that installs its last word; skips the test if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        pytest.skip(f'{command[-1]} cannot be installed: {done.stderr.strip().splitlines()[-1:]}')


def installed(name: str, folder: Path) -> Path:
    """The program of a published server, in an environment of its own below ``folder``; skips without a registry."""
    package = PUBLISHED[name]
    program = folder / name / 'bin' / package.partition('==')[0]
    if not program.exists():
        venv.create(folder / name, with_pip=False)
        pip = [sys.executable, '-m', 'pip', '--disable-pip-version-check', '--quiet']
        install([*pip, '--python', str(folder / name / 'bin' / 'python'), 'install', package])
    return program


def installed_by_npm(name: str, folder: Path) -> Path:
    """The program of a reference server that needs Node; skips without Node or a registry."""
    package = f'@modelcontextprotocol/server-{name}@2026.8.31'
    program = folder / 'node_modules' / '.bin' / f'mcp-server-{name}'
    if shutil.which('npm') is None:
        pytest.skip('there is no Node here')
    if not program.exists():
        folder.mkdir(exist_ok=True)
        install(['npm', 'install', '--no-audit', '--no-fund', '--silent', '--prefix', str(folder), package])
    return program
