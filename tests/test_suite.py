"""The tests themselves: they pass as a job in the background, and report skipped tests with reasons."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from pytest import mark

from tests.conftest import ROOT

pytestmark = mark.long


def ignore_signals() -> None:
    """As shells do for jobs in the background, and nohup."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def pytest(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, preexec_fn=ignore_signals, capture_output=True, text=True)


def test_signals_are_heard_in_the_background() -> None:
    done = pytest('tests/work_dir/test_interrupts.py', '-n', '1')
    assert done.returncode == 0, done.stdout


def test_the_last_lines_say_what_is_skipped_and_why(tmp_path: Path) -> None:
    file = tmp_path / 'test_it.py'
    file.write_text('import pytest\n\ndef test_it():\n    pytest.skip("there is no Slurm here")\n')
    done = pytest(file, '-c', ROOT / 'pyproject.toml', '-n', '1')
    *_, why, count = done.stdout.strip().splitlines()
    assert 'SKIPPED [1]' in why and why.endswith('there is no Slurm here') and '1 skipped' in count
