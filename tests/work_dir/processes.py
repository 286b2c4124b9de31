"""Processes that hold something until they are told to end, or are killed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

CODE = """
import sys
from contextlib import nullcontext
from pathlib import PosixPath
from opencompass_tooleval.work_dir.{} import *
with {} as held:
    print(held, flush=True)
    sys.stdin.read()
"""


def start(module: str, what: str, env: Mapping[str, str] | None = None) -> tuple[subprocess.Popen[str], Path]:
    """Starts a process that holds what an expression gives until its input ends; returns what it holds too."""
    command = [sys.executable, '-c', CODE.format(module, what)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    assert process.stdout is not None
    held = process.stdout.readline().strip()
    assert held
    return process, Path(held)


def hold(path: Path) -> subprocess.Popen[str]:
    """A process that holds a lock."""
    return start('lock', f'exclusive({path!r})')[0]


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait()
