"""runners/slurm/stage: when a task has ended, by what Slurm says of it. ``test_runner.py`` has a real Slurm."""

from __future__ import annotations

import sys
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


SBATCH = """#!PYTHON
import os, subprocess, sys
array = next(word for word in sys.argv if word.startswith('--array=')).removeprefix('--array=').partition('%')[0]
spans = [part.partition('-') for part in array.split(',')]
numbers = [number for first, _, last in spans for number in range(int(first), int(last or first) + 1)]
here = os.path.dirname(__file__)
waiting = open(here + '/queue').read().split() if os.path.exists(here + '/queue') else []
open(here + '/asked', 'a').write(f'{len(numbers)} ')
if len(waiting) + len(numbers) > int(open(here + '/limit').read()):
    sys.exit('sbatch: error: QOSMaxSubmitJobPerUserLimit\\nsbatch: error: Batch job submission failed: Job violates '
             "accounting/QOS policy (job submit limit, user's size and/or time limits)")
open(here + '/queue', 'a').write(''.join(f'7_{number} ' for number in numbers))
print(7)
"""
SQUEUE = """#!PYTHON
import os
here = os.path.dirname(__file__)
waiting = open(here + '/queue').read().split() if os.path.exists(here + '/queue') else []
for job in waiting[:2]:  # two jobs end between two looks
    open(f'{here}/run/0-{job[2:]}.exit', 'w').write('0')
open(here + '/queue', 'w').write(''.join(f'{job} ' for job in waiting[2:]))
for job in waiting[2:]:
    print('7', job[2:], 'PENDING', 'None')
"""


@pytest.mark.parametrize(('limit', 'asked'), [(3, '8 4 2'), (1, '8 4 2 1'), (8, '8')])
def test_an_array_above_the_limit_of_submitted_jobs_is_submitted_in_parts(
    limit: int, asked: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_programs(tmp_path, {'scontrol': 'echo MaxArraySize = 1001', 'scancel': 'true'})
    for name, text in (('sbatch', SBATCH), ('squeue', SQUEUE)):
        (tmp_path / name).write_text(text.replace('PYTHON', sys.executable))
        (tmp_path / name).chmod(0o755)
    (tmp_path / 'limit').write_text(str(limit))
    monkeypatch.setenv('PATH', f'{tmp_path}:/usr/bin:/bin')
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'run').mkdir()
    ended: list[int] = []
    tasks = [Element(number, 0, 'true', tmp_path / f'log{number}') for number in range(8)]
    stage = Stage(
        tmp_path / 'run',
        Slurm(),
        Resources(),
        retry=0,
        poll=(0.01, 0.01),
        on_end=lambda task: ended.append(task.number),
    )
    stage.run(tasks)
    assert sorted(ended) == list(range(8)) and [task.code for task in tasks] == [0] * 8
    submitted = (tmp_path / 'asked').read_text().split()
    assert ' '.join(submitted).startswith(asked)


def test_a_queue_that_stays_full_ends_with_the_words_of_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = "echo 'sbatch: error: Batch job submission failed: (job submit limit)' >&2; exit 1"
    write_programs(tmp_path, {'scontrol': 'echo MaxArraySize = 1001', 'sbatch': refused, 'squeue': 'true'})
    monkeypatch.setenv('PATH', f'{tmp_path}:/usr/bin:/bin')
    (tmp_path / 'run').mkdir()
    task = Element(0, 0, 'true', tmp_path / 'log')
    Stage(tmp_path / 'run', Slurm(), Resources(), poll=(0.01, 0.01), patience=0.05).run([task])
    assert task.state == 'refused' and 'job submit limit' in task.log.read_text()
