"""``tooleval status --watch`` while a sweep runs, on a terminal and without one."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Command
from tests.conftest import ROOT, ModelServer, sweep_of
from tests.engines import PATIENCE, until
from tests.forked import Fork, start_opencompass

MODELS = 'models = [dict(models[0], abbr=f"api{number}") for number in range(2)]\n'


@pytest.fixture
def sweep(canned_server: ModelServer, tmp_path: Path) -> Fork:
    """A sweep of two models, of whose requests each waits until the server settles."""
    config = sweep_of('tooleval-teval-review_str_v2', more=MODELS, max_workers=1, timeout=600)
    (tmp_path / 'mine.py').write_text(config.replace('URL', canned_server.url), encoding='utf-8')
    canned_server.reset(latency=30)
    run = start_opencompass('mine.py', '-w', 'out', cwd=tmp_path, output=tmp_path / 'said')
    until(lambda: canned_server.stats()['in_flight'] == 2 or run.poll() is not None)
    return run


def watch(folder: Path, **streams: Any) -> subprocess.Popen[bytes]:
    words = ['-c', 'from opencompass_tooleval.cli.main import main; main()', 'status', '--watch', 'out']
    env = {**os.environ, 'PYTHONPATH': str(ROOT), 'TERM': 'xterm', 'COLUMNS': '100', 'LINES': '40'}
    return subprocess.Popen([sys.executable, *words], cwd=folder, env=env, **streams)


def test_lines_where_there_is_no_terminal(sweep: Fork, canned_server: ModelServer, tmp_path: Path) -> None:
    """The first at once; the whole status when the sweep has ended."""
    said = tmp_path / 'watched'
    with said.open('wb') as stream:
        watching = watch(tmp_path, stdout=stream.fileno())
    until(lambda: said.read_text() or watching.poll() is not None)
    (line,) = said.read_text().splitlines()
    assert re.fullmatch(r'\d\d:\d\d:\d\d 2 running; 0 samples answered', line)
    canned_server.settle()
    assert sweep.wait(PATIENCE) == 0 and watching.wait(PATIENCE) == 0
    assert re.search(r'api1 +1 ', said.read_text().partition('model x data sets')[2])


@pytest.mark.long
def test_redrawn_on_a_terminal(sweep: Fork, canned_server: ModelServer, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    watching = watch(tmp_path, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b''
    while b'running  api1' not in shown:
        shown += os.read(ours, 1 << 16)
    assert shown.count(b'model x data sets') == 1
    canned_server.settle()
    assert sweep.wait(PATIENCE) == 0
    with suppress(OSError):  # the terminal is closed
        while more := os.read(ours, 1 << 16):
            shown += more
    assert watching.wait(PATIENCE) == 0
    last = shown.decode().rpartition('model x data sets')[2]
    assert 'running  api1' not in last and 'api1' in last and '\x1b[2K' in shown.decode()


def test_it_goes_without_json(tooleval: Command) -> None:
    refused = tooleval('status', '--watch', 'out', '--json', '-')
    assert refused.code == 1 and '--watch goes without --json' in refused.err
