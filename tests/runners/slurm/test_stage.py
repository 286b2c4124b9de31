"""runners/slurm/stage: when a task has ended, by what Slurm says of it. ``test_runner.py`` has a real Slurm."""

from __future__ import annotations

from pathlib import Path

import pytest

from opencompass_tooleval.runners.slurm.client import Slurm
from opencompass_tooleval.runners.slurm.stage import Element, Stage
from opencompass_tooleval.runners.slurm.syntax import Resources
from tests.runners.slurm.conftest import write_programs

COMMANDS = {
    'scontrol': 'echo MaxArraySize = 1001',
    'sbatch': 'echo >>jobs; echo 7',
    'squeue': 'read state code <said; sed -i 1d said; [ $code = - ] || echo $code >run/0-0.exit; echo 7 0 $state None',
}


@pytest.mark.parametrize(
    ('message', 'jobs'),
    [
        pytest.param('RUNNING -\nPREEMPTED -\nCOMPLETED 0\n', 2, id='preempted'),
        pytest.param('RUNNING -\nPENDING 9\nRUNNING -\nCOMPLETED 0\n', 1, id='stopped and queued again by Slurm'),
    ],
)
def test_a_task_that_slurm_stops_has_not_failed(
    message: str, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line is the task's state, and the exit code that it has left by then. There is no retry."""
    write_programs(tmp_path, COMMANDS)
    monkeypatch.setenv('PATH', f'{tmp_path}:/usr/bin:/bin')
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'said').write_text(message)
    (tmp_path / 'run').mkdir()
    task = Element(0, 0, 'true', tmp_path / 'log')
    Stage(tmp_path / 'run', Slurm(), Resources(), retry=0, poll=(0.01, 0.01)).run([task])
    assert task.code == 0 and (tmp_path / 'jobs').read_text() == '\n' * jobs
