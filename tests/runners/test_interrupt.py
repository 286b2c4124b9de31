"""Ctrl-C in a terminal, which sends SIGINT to all that it runs: one line, no further task, nothing left running."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.work_dir.lock import is_held
from tests.conftest import ROOT, ModelServer, sweep_of
from tests.engines import PATIENCE, until
from tests.forked import start_opencompass

SAID = 'tooleval: interrupted; answers so far are kept, go on with: '
BAR = re.compile(r' *\d+%\|[^\r\n\[]*\[[^\]\r\n]*\]')
"""A progress bar, of iterations per second or seconds per iteration; what is written after it may be in its line."""
FOUR = """
models = [dict(models[0], abbr=f'api{number}') for number in range(4)]
infer['runner']['max_num_workers'] = 2
"""
CONFIG = sweep_of('tooleval-teval-review_str_v2', more=FOUR, max_workers=1, timeout=600)


def lines_of(message: str) -> list[str]:
    return [line for line in BAR.sub('', message).splitlines() if line.strip()]


def in_session(session: int) -> list[int]:
    found = []
    for folder in Path('/proc').glob('[0-9]*'):
        with suppress(OSError):
            state, _, _, of, *_ = (folder / 'stat').read_text().rpartition(')')[2].split()
            if int(of) == session and state != 'Z':
                found.append(int(folder.name))
    return found


def test_a_sweep(canned_server: ModelServer, tmp_path: Path) -> None:
    (tmp_path / 'mine.py').write_text(CONFIG.replace('URL', canned_server.url), encoding='utf-8')
    canned_server.reset(latency=30)
    run = start_opencompass('mine.py', '-w', 'out', cwd=tmp_path, output=tmp_path / 'said')
    until(lambda: canned_server.stats()['in_flight'] == 2 or run.poll() is not None)
    (work,) = (tmp_path / 'out').iterdir()
    before = (tmp_path / 'said').read_text(encoding='utf-8')
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(PATIENCE) == -signal.SIGINT  # so that a script of several sweeps ends too
    said = (tmp_path / 'said').read_text(encoding='utf-8').removeprefix(before)
    assert lines_of(said) == [f'{SAID}opencompass mine.py -w out -r {work.name}']
    assert {folder.name for folder in work.glob('logs/infer/*')} == {'api0', 'api1'}
    assert not list(work.glob('logs/eval')) and canned_server.stats()['requests'] == 2
    until(lambda: not any(map(is_held, work.glob('predictions/*/.*.lock'))))  # the tasks have ended
    canned_server.reset()
    resumed = start_opencompass('mine.py', '-w', 'out', '-r', cwd=tmp_path, output=tmp_path / 'said')
    assert resumed.wait(PATIENCE) == 0 and len(list(work.glob('results/*/*.json'))) == 4


@pytest.mark.parametrize('when', ['it imports', pytest.param('it runs', marks=pytest.mark.long)])
def test_a_program_that_runs_another(when: str, tmp_path: Path) -> None:
    """As real programs, which import for seconds."""
    said = tmp_path / 'said'
    environment = {**os.environ, 'PYTHONPATH': str(ROOT), 'COLUMNS': '200'}
    command = [str(Path(sys.executable).with_name('tooleval')), 'demo', '-w', 'out']
    with said.open('w') as stream:
        streams: dict[str, Any] = dict(stdin=subprocess.DEVNULL, stdout=stream, stderr=stream)
        run = subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True, **streams)
    reached = {'it runs': lambda: 'infer on ' in said.read_text(), 'it imports': lambda: len(in_session(run.pid)) > 1}
    until(lambda: reached[when]() or run.poll() is not None)
    before = said.read_text()
    os.killpg(run.pid, signal.SIGINT)
    assert run.wait(PATIENCE) == 130
    *started, last = lines_of(said.read_text().removeprefix(before))
    assert last == f'{SAID}tooleval demo -w out' and all(line.startswith('infer on ') for line in started)
    until(lambda: not in_session(run.pid))
