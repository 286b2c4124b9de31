"""An engine over two nodes of a real Slurm of four: it answers when all ranks are there, and nothing of it is left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from mmengine.config import Config

from tests.engines import engine_on_nodes, processes, until, until_gone
from tests.runners.slurm.conftest import NodesTestbed
from tests.runners.slurm.test_engines import log, nothing_left, rows, runner, task, task_each

__all__ = ['nothing_left']
pytestmark = pytest.mark.long
RANK_1 = '--rank 1 '
NODES = 2


def on_two_nodes(folder: Path, *arguments: str, **more: Any) -> Config:
    return task(folder, engine_on_nodes(folder, NODES, *arguments, **more), 1)


def ranks(folder: Path) -> list[int]:
    """Processes of the engine, without its helpers: rank 0, rank 1."""
    found = {words: number for number, words in processes(folder).items() if 'engine_script' in words}
    return [found[words] for words in sorted(found, key=lambda words: RANK_1 in words)]


def check_answers(folder: Path, in_flight: int = 0) -> None:
    """What was in flight may have been asked again; nothing of the engine is left."""
    answered = rows(folder)
    assert len(answered) <= len((folder / 'asked').read_text()) <= len(answered) + in_flight
    assert all(row['prediction'] == 'Answer: A' for row in answered)
    until_gone(folder)


def until_asked(folder: Path, count: int) -> None:
    asked = folder / 'asked'
    until(lambda: asked.exists() and len(asked.read_text()) >= count)


def test_all_ranks_answer_and_end(nodes: NodesTestbed, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner().launch, [on_two_nodes(tmp_path, '--latency', '0.5')])
        until_asked(tmp_path, 1)
        (row,) = nodes.queue()
        assert nodes.nodes_of(row.split()[0]) == ['n1', 'n2']
        on = [[name for name in ('n1', 'n2') if process in nodes.processes(name)] for process in ranks(tmp_path)]
        assert on == [['n1'], ['n2']] and len(processes(tmp_path)) == 2 * NODES  # each with a helper
        assert [code for _, code in future.result()] == [0], log(tmp_path)
    assert 'rank 1 is here, from 10.213.7.12' in log(tmp_path, 'engine.log')
    check_answers(tmp_path)


def test_a_shared_engine_on_two_nodes(nodes: NodesTestbed, tmp_path: Path) -> None:
    """A job of its own with both nodes; the tasks have one each, and reach it at its node's address."""
    engine = engine_on_nodes(tmp_path, NODES, '--host', '{host}', '--latency', '0.2')
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner().launch, task_each(task(tmp_path, engine, 2, shared=True)))
        until_asked(tmp_path, 1)
        on = [[name for name in ('n1', 'n2') if process in nodes.processes(name)] for process in ranks(tmp_path)]
        assert on == [['n1'], ['n2']]
        assert [code for _, code in future.result()] == [0, 0]
    assert len(rows(tmp_path)) > 20
    check_answers(tmp_path)


@pytest.mark.parametrize('rank', [1, 0])
def test_a_rank_that_dies_ends_the_engine_and_the_task_starts_anew(
    nodes: NodesTestbed, tmp_path: Path, rank: int
) -> None:
    """Else the engine would hang: rank 0 of this one answers as if nothing had been."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner(retry=1).launch, [on_two_nodes(tmp_path, '--latency', '1')])
        until_asked(tmp_path, 2)
        before = set(processes(tmp_path))
        os.kill(ranks(tmp_path)[rank], signal.SIGKILL)
        until(lambda: not before & set(processes(tmp_path)))
        assert [code for _, code in future.result()] == [0], log(tmp_path)
    assert f'the engine of tiny: ended with rank {rank} on n{rank + 1}: ' in log(tmp_path)
    assert log(tmp_path).count('slurm: job ') == 2 and 'samples are answered already' in log(tmp_path)
    check_answers(tmp_path, in_flight=2)


def test_a_rank_that_does_not_start_has_the_last_word(nodes: NodesTestbed, tmp_path: Path) -> None:
    engine = on_two_nodes(tmp_path, worker_options=['--fault', 'crash'])
    assert [code for _, code in runner().launch([engine])] != [0]
    assert 'the engine of tiny: ended with rank 1 on n2: Exited with exit code 1 before it was ready: ' in log(tmp_path)
    assert '1: RuntimeError: no such weights (log: ' in log(tmp_path)
    until_gone(tmp_path)


def test_ranks_that_ignore_the_word_to_end(nodes: NodesTestbed, tmp_path: Path) -> None:
    task = on_two_nodes(tmp_path, '--fault', 'deaf', grace=1)
    assert [code for _, code in runner().launch([task])] == [0], log(tmp_path)
    until_gone(tmp_path)


def requeue(nodes: NodesTestbed, folder: Path, element: str) -> None:
    nodes.requeue(element)


def kill_the_task(nodes: NodesTestbed, folder: Path, element: str) -> None:
    """And what it was started by, but nothing of the engine."""
    mine = str(folder / 'out').encode()
    for process in [*nodes.processes('n1')]:
        words = Path(f'/proc/{process}/cmdline').read_bytes()
        if mine in words and b'engine_script' not in words:
            os.kill(process, signal.SIGKILL)


def a_node_dies(nodes: NodesTestbed, folder: Path, element: str) -> None:
    nodes.kill_node('n2')


def only_the_engine_is_spared(nodes: NodesTestbed, folder: Path, element: str) -> None:
    """At the death of its node, which comes back: it ends with its guard, and keeps no port."""
    orphan = ranks(folder)[0]
    nodes.kill_node('n1', frozenset({orphan}))
    nodes.revive_node('n1')


@pytest.mark.parametrize(
    'take_away',
    [requeue, kill_the_task, a_node_dies, only_the_engine_is_spared],
    ids=lambda how: how.__name__,
)
def test_an_element_that_is_taken_away_goes_on(
    nodes: NodesTestbed, tmp_path: Path, take_away: Callable[[NodesTestbed, Path, str], None]
) -> None:
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(runner(retry=1).launch, [on_two_nodes(tmp_path, '--latency', '1')])
        until_asked(tmp_path, 2)
        take_away(nodes, tmp_path, nodes.queue()[0].split()[0])
        assert [code for _, code in future.result()] == [0], log(tmp_path)
    assert log(tmp_path).count('slurm: job ') == 2, log(tmp_path)
    check_answers(tmp_path, in_flight=2)
