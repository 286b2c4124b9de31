"""Engines on several nodes, without Slurm: what is refused, what each rank gets, and what Slurm's lines say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from opencompass_tooleval.models.api import engine_guard, engine_nodes
from opencompass_tooleval.models.api.engine import Engine, EngineError
from opencompass_tooleval.models.api.engine_nodes import (
    first_end,
    is_by_slurm,
    lacking_nodes,
    node_address,
    nodes_of,
    read_address,
    srun_words,
)

WORDS = ['vllm', '--port', '{port}', '--node-rank', '{rank}']
NODE = 'NodeName=n1 Arch=x86_64 CoresPerSocket=1 Gres=gpu:4 NodeAddr=10.0.0.7 NodeHostName=h OS=Linux'


def test_settings_and_the_nodes_of_a_model() -> None:
    for engine, nodes in ((dict(nodes=3), 3), ({}, 1), (None, 1), (dict(nodes='2'), 1)):
        assert nodes_of(dict(engine=engine)) == nodes
    assert nodes_of({}) == 1
    with pytest.raises(ValueError, match='is missing in the command'):
        Engine(['vllm', '{port}'], 'm', nodes=2)
    for more in (dict(nodes=0), dict(nodes=2, worker_options='--headless')):
        with pytest.raises(ValueError, match='below 1, or worker_options'):
            Engine(WORDS, 'm', **more)
    words = srun_words(3)
    assert words[:4] == ['srun', '--nodes=3', '--ntasks=3', '--ntasks-per-node=1'] and '--kill-on-bad-exit=1' in words


def test_no_job_of_several_nodes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv('SLURM_JOB_NUM_NODES', raising=False)
    engine = Engine(WORDS, 'm', nodes=2)
    with pytest.raises(EngineError) as caught:
        engine.start(tmp_path / 'log', threading.Event())
    assert str(caught.value) == (
        'its engine (nodes=2) needs a Slurm job of 2 nodes, and this process is not in a job: run it with '
        "SlurmArrayRunner (configs/tooleval_slurm.py), or inside 'sbatch --nodes=2 --exclusive'"
    )
    assert not engine.is_started and not (tmp_path / 'log').exists()
    monkeypatch.setenv('SLURM_JOB_NUM_NODES', '3')
    assert 'and this one has 3:' in lacking_nodes(2)
    assert lacking_nodes(3) == lacking_nodes(1) == ''


def test_the_address_is_that_of_slurm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert read_address(NODE) == '10.0.0.7'
    assert read_address(NODE.replace('10.0.0.7', 'node-1.cluster')) == 'node-1.cluster'
    assert read_address('NodeName=n1 NodeHostName=h') == ''
    scontrol = tmp_path / 'scontrol'
    scontrol.write_text('#!/bin/sh\necho "$@" >&2; exit 1\n')
    scontrol.chmod(0o755)
    monkeypatch.setenv('PATH', f'{tmp_path}:{os.environ["PATH"]}')
    monkeypatch.setenv('SLURMD_NODENAME', 'n7')
    monkeypatch.setattr(engine_nodes, '_PAUSE', 0.0)
    with pytest.raises(OSError, match='show node n7 names no NodeAddr: --oneliner show node n7'):
        node_address()


@pytest.mark.parametrize(
    ('rank', 'expected'), [('0', "['0', 'w'] r0 False"), ('2', "['2', 'w', '--headless', '2'] r2 False")]
)
def test_each_rank_gets_its_words(rank: str, expected: str) -> None:
    show = 'import os, sys; print(sys.argv[1:], os.environ["R"], "OURS" in os.environ)'
    words = [sys.executable, '-c', show, '{rank}', 'w']
    settings = dict(words=words, env={'R': 'r{rank}', 'OURS': None}, grace=1, worker_options=['--headless', '{rank}'])
    env, command = {**os.environ, 'SLURM_PROCID': rank, 'OURS': 'set'}, [sys.executable, engine_guard.__file__]
    done = subprocess.run(command, env=env, input=json.dumps(settings) + '\n', capture_output=True, text=True)
    # Its input ends at once: it may be stopped before it prints.
    assert done.returncode == 0 and done.stdout in ('', f'{expected}\n')


def test_the_rank_that_ended_first() -> None:
    lines = [
        '1: RuntimeError: no such weights',
        'srun: error: n2: task 1: Exited with exit code 1',
        'srun: launch/slurm: _step_signal: Terminating StepId=6.0',
        '0: slurmstepd-n1: error: *** STEP 6.0 ON n1 CANCELLED ***',
        'srun: error: n1: task 0: Exited with exit code 143',
    ]
    assert first_end('\n'.join(lines)) == 'rank 1 on n2: Exited with exit code 1'
    assert [is_by_slurm(line) for line in lines] == [False, True, True, True, True]
    assert first_end('srun: error: n[2-3]: tasks 1-2: Killed') == 'rank 1-2 on n[2-3]: Killed'
    assert first_end('srun: error: Node failure on n2') == 'node failure on n2'
    assert first_end('0: srun: error: n2: task 1: of the engine') == first_end('') == ''
