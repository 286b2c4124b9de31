"""The servers of tests: one of our own, and published ones in environments of their own."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import venv
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


def installed(name: str, folder: Path) -> Path:
    """The program of a published server, in an environment of its own below ``folder``; skips without a registry."""
    package = PUBLISHED[name]
    program = folder / name / 'bin' / package.partition('==')[0]
    if not program.exists():
        venv.create(folder / name, with_pip=False)
        pip = [sys.executable, '-m', 'pip', '--disable-pip-version-check', '--quiet']
        command = [*pip, '--python', str(folder / name / 'bin' / 'python'), 'install', package]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode:
            pytest.skip(f'{package} cannot be installed: {done.stderr.strip().splitlines()[-1:]}')
    return program


def installed_by_npm(name: str, folder: Path) -> Path:
    """The program of a reference server that needs Node; skips without Node or a registry."""
    package = f'@modelcontextprotocol/server-{name}@2026.8.31'
    program = folder / 'node_modules' / '.bin' / f'mcp-server-{name}'
    if shutil.which('npm') is None:
        pytest.skip('there is no Node here')
    if not program.exists():
        folder.mkdir(exist_ok=True)
        command = ['npm', 'install', '--no-audit', '--no-fund', '--silent', '--prefix', str(folder), package]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        if done.returncode:
            pytest.skip(f'{package} cannot be installed: {done.stderr.strip().splitlines()[-1:]}')
    return program
