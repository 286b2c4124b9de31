"""runners/slurm/syntax: options, throttles, and Slurm's output; without Slurm."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from opencompass_tooleval.runners.slurm.client import Slurm, SlurmError, slurm_environment
from opencompass_tooleval.runners.slurm.syntax import (
    ELEMENT_SCRIPT,
    Resources,
    State,
    array_indices,
    file_pattern,
    is_forgotten,
    is_passing,
    read_array_limit,
    read_job_id,
    read_jobs,
    read_states,
    shares,
)
from tests.runners.slurm.conftest import write_programs

CONFIG = """Configuration data as of 2026-01-01T00:00:00
MaxArraySize            = 1001
MaxJobCount             = 10000
SchedulerParameters     = {}
"""


@pytest.mark.parametrize(
    ('resources', 'gpus', 'nodes', 'options'),
    [
        (Resources(), 0, 1, ['--nodes=1', '--ntasks=1']),
        (Resources(), 2, 1, ['--nodes=1', '--ntasks=1', '--gres=gpu:2']),
        (Resources(gpu_request='--gpus-per-node=a100:{n} --exclusive'), 8, 1,
         ['--nodes=1', '--ntasks=1', '--gpus-per-node=a100:8', '--exclusive']),
        (Resources(partition='p'), 4, 2,  # whole nodes, with a task each
         ['--nodes=2', '--ntasks=2', '--ntasks-per-node=1', '--exclusive', '--partition=p', '--gres=gpu:4']),
        # The user's options come last.
        (Resources('p', 'q', 'a', 30, extra_command=['-c 8', '--comment="two words"', '--nodes=2']), 0, 1,
         ['--nodes=1', '--ntasks=1', '--partition=p', '--qos=q', '--account=a', '--time=30',
          '-c', '8', '--comment=two words', '--nodes=2']),
    ],
)  # fmt: skip
def test_options(resources: Resources, gpus: int, nodes: int, options: list[str]) -> None:
    assert resources.options(gpus, nodes=nodes) == options


@pytest.mark.parametrize(
    ('limit', 'sizes', 'held', 'expected'),
    [
        pytest.param(8, [16], [0], [8], id='throttled'),
        pytest.param(10, [90, 10], [0, 0], [9, 1], id='in proportion'),
        pytest.param(4, [100, 1, 1], [0, 0, 0], [2, 1, 1], id='something for each'),
        pytest.param(2, [5, 5, 5], [0, 0, 0], [1, 1, 0], id='more arrays than workers'),
        pytest.param(3, [7, 1], [3, 0], [3, 0], id='what is held is not taken back'),
        pytest.param(3, [9, 1], [1, 0], [2, 1], id='what waits comes first'),
        pytest.param(5, [3, 2], [3, 1], [3, 2], id='none more than its size'),
    ],
)
def test_shares(limit: int, sizes: list[int], held: list[int], expected: list[int]) -> None:
    assert shares(limit, sizes, held) == expected


@pytest.mark.parametrize(('indices', 'expected'), [([0], '0'), ([3, 1, 2], '1-3'), ([0, 1, 2, 7, 9, 10], '0-2,7,9-10')])
def test_array_indices(indices: list[int], expected: str) -> None:
    assert array_indices(indices) == expected


def test_placeholders_in_paths_are_none() -> None:
    assert file_pattern('/a/100% done/%j') == '/a/100%% done/%%j'


def test_job_id() -> None:
    for said, number in (
        ('7\n', '7'),
        ('12;cluster\n', '12'),
        ('3 jobs\n8;b', '8'),
        ('-- 412 left --\n7\nnote: 3\n', '7'),
    ):
        assert read_job_id(said) == number
    for said in ('', 'Submitted batch job 7\n', 'x;y'):
        with pytest.raises(ValueError, match='not a job id'):
            read_job_id(said)


def test_states_of_elements_and_jobs_that_are_not_over() -> None:
    message = '7 0 RUNNING None\n7 11 PENDING launch failed requeued held\n8 N/A COMPLETED None\n\n9 3 CANCELLED\n'
    assert read_states(message) == {
        ('7', 0): State('RUNNING', 'None'),
        ('7', 11): State('PENDING', 'launch failed requeued held'),
        ('9', 3): State('CANCELLED'),
    }
    assert all(State(name).is_over for name in ('COMPLETED', 'CANCELLED', 'FAILED', 'PREEMPTED', 'NODE_FAIL'))
    going_on = ('PENDING', 'RUNNING', 'COMPLETING', 'REQUEUED', 'REQUEUE_HOLD', 'SUSPENDED', 'SOMETHING_NEW')
    assert not any(State(name).is_over for name in going_on)
    jobs = '7 RUNNING a b\n7 PENDING a b\n8 COMPLETING c\n9 CANCELLED d\n\n'
    assert read_jobs(jobs) == {('7', 'a b'), ('8', 'c')}


@pytest.mark.parametrize(
    ('message', 'stuck', 'held'),
    [
        ('7 1 PENDING launch failed requeued held', True, False),
        ('7 1 PENDING JobHoldMaxRequeue', True, False),
        ('7 1 CANCELLED launch failed requeued held', False, False),
        ('7 1 PENDING JobHeldUser', False, True),
        ('7 1 PENDING job requeued in held state', False, True),
        ('7 1 PENDING Priority', False, False),
    ],
)
def test_who_holds_a_job(message: str, stuck: bool, held: bool) -> None:
    (state,) = read_states(message).values()
    assert (state.is_stuck, state.is_held) == (stuck, held)


def test_array_limit() -> None:
    for parameters, limit in (('', 1001), ('bf_window=9,max_array_tasks=50,defer', 50), ('max_array_tasks=9999', 1001)):
        assert read_array_limit(CONFIG.format(parameters)) == limit
    with pytest.raises(ValueError, match='allows no job arrays'):
        read_array_limit('MaxArraySize = 0')
    with pytest.raises(ValueError, match='names no MaxArraySize'):
        read_array_limit('MaxJobCount = 3')


@pytest.mark.parametrize(
    ('message', 'passing'),
    [
        ('slurm_load_jobs error: Unable to contact slurm controller (connect failure)', True),
        ('sbatch: error: Batch job submission failed: Socket timed out on send/recv operation', True),
        ('sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying', True),
        ('slurm_load_jobs error: Zero Bytes were transmitted or received', True),
        ('scontrol: error: Slurm backup controller in standby mode', True),
        ('sbatch: error: invalid partition specified: nowhere', False),
        ('sbatch: error: AssocMaxSubmitJobLimit', False),
    ],
)
def test_errors_that_pass(message: str, passing: bool) -> None:
    assert is_passing(message) is passing and not is_forgotten(message)
    assert is_forgotten('slurm_load_jobs error: Invalid job id specified')


def test_without_slurm_the_error_names_the_way_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv('PATH', str(tmp_path))
    with pytest.raises(SlurmError, match=r'scontrol is not on PATH.*tooleval_local'):
        Slurm().array_limit()


def test_what_slurm_said_of_another_job_and_options_of_its_commands_are_not_passed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = ('SQUEUE_PARTITION', 'SQUEUE_FORMAT', 'SCANCEL_STATE', 'SCONTROL_ALL', 'SBATCH_CLUSTERS', 'SBATCH_WAIT')
    for name in ('SLURM_CONF', 'OTHER', 'SLURM_MEM_PER_NODE', *own):
        monkeypatch.setenv(name, 'mine')
    environment = slurm_environment()
    assert environment['SLURM_CONF'] == environment['OTHER'] == 'mine'
    assert not {'SLURM_MEM_PER_NODE', *own} & environment.keys()


def run_element(folder: Path, command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / '0-7.sh').write_text(command)
    (folder / 'element.sh').write_text(ELEMENT_SCRIPT)
    variables = {'SLURM_ARRAY_JOB_ID': '12', 'SLURM_ARRAY_TASK_ID': '7', 'PATH': f'{folder}:/usr/bin:/bin'}
    words = ['bash', str(folder / 'element.sh'), f'{folder}/0']
    return subprocess.run(words, env={**variables, **environment}, capture_output=True, text=True)


@pytest.mark.parametrize(('command', 'code'), [('exit 3', 3), ('true', 0), ('kill -9 $$', 137)])
def test_the_element_script_leaves_the_exit_code(tmp_path: Path, command: str, code: int) -> None:
    folder = tmp_path / 'odd "$x" dir'
    folder.mkdir()
    (folder / '0-7.exit').write_text('99')
    done = run_element(folder, command, SLURMD_NODENAME='n1')
    assert done.returncode == code
    assert (folder / '0-7.exit').read_text() == f'{code}\n'
    assert done.stdout.startswith('slurm: job 12_7 on n1, ')
    assert sorted(file.name for file in folder.iterdir()) == ['0-7.exit', '0-7.sh', '0-7.starts', 'element.sh']


def test_an_element_that_is_told_to_stop_waits_for_its_command_and_leaves_no_exit_code(tmp_path: Path) -> None:
    done = run_element(tmp_path, f'trap : TERM; kill -TERM $PPID; sleep 0.5; echo done >>{tmp_path}/said')
    assert done.returncode == 0 and (tmp_path / 'said').read_text() == 'done\n'
    assert not (tmp_path / '0-7.exit').exists()


def test_an_element_whose_time_is_short_has_itself_queued_again(tmp_path: Path) -> None:
    """While its command runs; and no more often than may be."""
    write_programs(tmp_path, {'scontrol': f'echo "$@" >>{tmp_path}/told'})
    done = run_element(tmp_path, f'kill -USR1 $PPID; until [ -e {tmp_path}/told ]; do sleep 0.05; done; exit 4')
    assert done.returncode == 4 and (tmp_path / 'told').read_text() == 'requeue 12_7\n'
    done = run_element(tmp_path, 'kill -USR1 $PPID; sleep 0.2; exit 5', SLURM_RESTART_COUNT='100')
    assert done.returncode == 5 and (tmp_path / 'told').read_text() == 'requeue 12_7\n'


def test_a_job_whose_answer_was_lost_is_not_submitted_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The first answer of sbatch is lost after Slurm took the job; a second call would get another one."""
    told = f'[ -e {tmp_path}/told ] && echo 8 && exit; touch {tmp_path}/told; echo Socket timed out >&2; exit 1'
    write_programs(tmp_path, {'sbatch': told, 'squeue': 'echo 7 true unique'})
    monkeypatch.setenv('PATH', f'{tmp_path}:/usr/bin:/bin')
    assert Slurm(sleep=lambda _: None).submit('unique', [], ['true']) == '7'
