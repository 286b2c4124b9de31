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
    """Returns the number of nodes that the engine of a model's config takes; 1 for a model without an engine."""
    engine = model_cfg.get('engine')
    if isinstance(model_cfg.get('shared'), str):
        return 1  # the engine is another job
    nodes = engine.get('nodes', 1) if isinstance(engine, Mapping) else 1
    return nodes if isinstance(nodes, int) else 1


def lacking_nodes(nodes: int) -> str:
    """Returns the fault of an engine on several nodes if this process runs in no Slurm job of as many; '' for none."""
    allocated = os.environ.get('SLURM_JOB_NUM_NODES', '')
    if nodes == 1 or allocated == str(nodes):
        return ''
    here = f'this one has {allocated}' if allocated else 'this process is in none'
    return f'its engine (nodes={nodes}) needs a Slurm job of {nodes} nodes, and {here}: {_FIX.format(nodes)}'


def is_by_slurm(line: str) -> bool:
    """Tests if a line of the log is Slurm's, and not the engine's."""
    return any(name in line for name in _BY_SLURM)


def first_end(log: str) -> str:
    """Returns the rank that ended first, and how, by the lines of ``srun``; '' if they do not tell."""
    found = _FIRST_END.search(log)
    if not found:
        return ''
    node, rank, how = found.groups()
    return f'rank {rank} on {node}: {how}' if node else f'node failure on {how}'


def read_address(node: str) -> str:
    """Reads the address from the output of ``scontrol show node``; '' if it has none."""
    found = _ADDRESS.search(node[:_MOST_TEXT])
    return found[1] if found else ''


def node_address() -> str:
    """Returns the address that Slurm has for this node, since names of nodes need not resolve.

    Raises:
        OSError: ``scontrol`` cannot be run, or does not tell.
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
    """Returns the command before that of a process, to run it on each node of this job.

    ``srun`` copies its input to all of them. It ends them when one fails: engines hang when one of their processes has
    ended. Lines of output have the rank in front.
    """
    return [
        'srun',
        f'--nodes={nodes}',
        f'--ntasks={nodes}',
        '--ntasks-per-node=1',
        '--distribution=block',
        '--overlap',  # a step that still ends does not delay it
        '--export=ALL',  # also if the job was submitted with --export=NONE
        '--cpu-bind=none',
        '--kill-on-bad-exit=1',
        '--label',
    ]
