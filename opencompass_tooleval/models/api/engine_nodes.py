"""Starts one process of an engine on each node of this Slurm job. Imports no OpenCompass."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Mapping
from typing import Any

_SECONDS = 60.0
_TRIES, _PAUSE = 3, 10.0
_MOST_TEXT = 1 << 16
_ADDRESS = re.compile(r'\bNodeAddr=([\w.:-]{1,255})')
_FIRST_END = re.compile(
    r'^srun: error: (?:(\S{1,255}): tasks? ([\d,-]{1,40}): |Node failure on )(.{1,100})', re.MULTILINE
)
_BY_SLURM = ('srun: ', 'slurmstepd')
_FIX = "run it with SlurmArrayRunner (configs/tooleval_slurm.py), or inside 'sbatch --nodes={} --exclusive'"


def nodes_of(model_cfg: Mapping[str, Any]) -> int:
    """Returns the number of nodes of the engine in a model's config; 1 for a model without an engine."""
    engine = model_cfg.get('engine')
    if isinstance(model_cfg.get('shared'), str):
        return 1  # the engine is another job
    nodes = engine.get('nodes', 1) if isinstance(engine, Mapping) else 1
    return nodes if isinstance(nodes, int) else 1


def lacking_nodes(nodes: int) -> str:
    """Returns a fault if the engine needs several nodes and this Slurm job has another number; '' if all is well."""
    allocated = os.environ.get('SLURM_JOB_NUM_NODES', '')
    if nodes == 1 or allocated == str(nodes):
        return ''
    here = f'this one has {allocated}' if allocated else 'this process is not in a job'
    return f'its engine (nodes={nodes}) needs a Slurm job of {nodes} nodes, and {here}: {_FIX.format(nodes)}'


def is_by_slurm(line: str) -> bool:
    """Tests if a line of the log was printed by Slurm, not by the engine."""
    return any(name in line for name in _BY_SLURM)


def first_end(log: str) -> str:
    """Returns which rank ended first, and how, from the messages of ``srun``; '' if there is no such message."""
    found = _FIRST_END.search(log)
    if not found:
        return ''
    node, rank, how = found.groups()
    return f'rank {rank} on {node}: {how}' if node else f'node failure on {how}'


def read_address(node: str) -> str:
    """Reads the address from the output of ``scontrol show node``; '' if there is none."""
    found = _ADDRESS.search(node[:_MOST_TEXT])
    return found[1] if found else ''


def node_address() -> str:
    """Returns Slurm's address of this node, since the names of nodes may not resolve.

    Raises:
        OSError: ``scontrol`` cannot be run, or its output has no address.
    """
    name = os.environ.get('SLURMD_NODENAME', '')
    command = ['scontrol', '--oneliner', 'show', 'node', name]
    for tries_left in reversed(range(_TRIES)):  # a controller that restarts does not answer for some seconds
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors='replace', timeout=_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise OSError(f'scontrol show node {name}: no answer within {_SECONDS:.0f} s') from error
        if address := read_address(done.stdout):
            return address
        if done.returncode and tries_left:
            time.sleep(_PAUSE)
    raise OSError(f'scontrol show node {name} names no NodeAddr: {(done.stderr or done.stdout)[:200].strip()}')


def srun_words(nodes: int) -> list[str]:
    """Returns the words to put before a command, so that ``srun`` runs it on each node of this job.

    ``srun`` copies its input to all ranks, and ends them all when one fails: an engine hangs if one of its processes
    has ended. Each line of output begins with the rank.
    """
    return [
        'srun',
        f'--nodes={nodes}',
        f'--ntasks={nodes}',
        '--ntasks-per-node=1',
        '--distribution=block',
        '--overlap',  # does not wait for an earlier step that is still ending
        '--export=ALL',  # passes the environment even if the job was submitted with --export=NONE
        '--cpu-bind=none',
        '--kill-on-bad-exit=1',
        '--label',
    ]
