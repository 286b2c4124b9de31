"""The program of a shared server on Slurm ends once no job needs it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from opencompass_tooleval.runners.server_program import ServerProgram
from tests.engines import until

SQUEUE = '#!/bin/sh\ncat {folder}/jobs\necho >> {folder}/looks\n'


def test_it_goes_on_while_a_job_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner is gone: jobs of it that wait or run are listed, and those of others do not count."""
    command = tmp_path / 'squeue'
    command.write_text(SQUEUE.format(folder=tmp_path), encoding='utf-8')
    command.chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path), prepend=':')
    jobs, looks = tmp_path / 'jobs', tmp_path / 'looks'
    jobs.write_text('7 RUNNING tooleval-mine-0\n8 RUNNING tooleval-other-0\n')
    program = ServerProgram('m', {}, 'server.json', 'log', jobs='tooleval-mine', runner=str(tmp_path / 'r'), seconds=0)
    watch = threading.Thread(target=program._watch, daemon=True)
    watch.start()
    until(lambda: not watch.is_alive() or (looks.exists() and len(looks.read_text()) > 3))
    assert watch.is_alive() and not program._stop.is_set()
    jobs.write_text('8 RUNNING tooleval-other-0\n')
    watch.join()
    assert program._stop.is_set()
