"""Servers that others wrote: each agent gets the score that a person would give, on ten tasks for each server.

Perfect agents and those on another path solve a task; an agent that does harm beside it, and one that answers without
calls, do not. ``TOOLEVAL_EVIDENCE=FILE`` writes the table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from opencompass_tooleval.agents.loops.loops import carry_out
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.environments.environment import LIVE_ERRORS, Environment
from opencompass_tooleval.extras.tasks.check import Scripted, check_opened, run_agent
from opencompass_tooleval.extras.tasks.opened import open_tasks
from opencompass_tooleval.extras.tasks.scoring import score_task
from opencompass_tooleval.extras.tasks.task_file import load_tasks
from tests.extras.mcp_servers.servers import PUBLISHED, installed, installed_by_npm
from tests.extras.tasks.published_servers import FIXTURES, HARMS, OTHER_PATHS, Call, find_program, write_files

EFFECTS = re.compile(r'    effects:\n(?:      - .*\n)+')

pytestmark = pytest.mark.long  # they are installed from the registries, and each has a process for each task


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('published')


def found(server: str, folder: Path) -> str:
    """The program of a server; skips where it is not installed and cannot be."""
    if program := find_program(server):
        return program
    if server in PUBLISHED:
        return str(installed(server, folder))
    if server in ('filesystem', 'memory'):
        return str(installed_by_npm(server, folder))
    pytest.skip(f'the server {server} is in no environment of $TOOLEVAL_MCP_SERVERS')


@pytest.mark.parametrize('decides', ['effects', 'solution'])
@pytest.mark.parametrize('server', FIXTURES)
def test_every_score_is_what_a_person_would_give(server: str, decides: str, folder: Path, tmp_path: Path) -> None:
    file = write_files(server, tmp_path / server, found(server, folder))
    if decides == 'solution':
        file.write_text(EFFECTS.sub('', file.read_text()))
    load_tasks(file).trustee.trust()
    with open_tasks(file, most=4) as opened:
        assert check_opened(opened).faults == []
    with open_tasks(file, most=4) as opened:
        tasks = {task.id: task for task in opened.tasks}
        assert len(tasks) == 10
        others = OTHER_PATHS[server]
        assert others.keys() <= tasks.keys()
        golds: dict[str, list[Call]] = {
            name: [(call.name, dict(call.arguments)) for call in task.gold or ()] for name, task in tasks.items()
        }

        def agent_of(calls: Callable[[Task], list[Call]], said: str = 'Result:', end: str = '') -> Scripted:
            return Scripted(calls, lambda task: task.gold_answer.replace('Result:', said) + end)

        another = agent_of(lambda task: others.get(task.id, golds[task.id]), 'The answer is', '.')
        harmful = agent_of(lambda task: [*golds[task.id], *HARMS[server]])
        agents = {
            'perfect': (agent_of(lambda task: golds[task.id]), 100),
            'another path': (another, 100),
            'additional harm': (harmful, 100 if server == 'calculator' else 0),
            'no calls': (agent_of(lambda task: []), 0),
        }
        environment = Environment(errors=LIVE_ERRORS, live=opened.live, state=opened.state)
        rows = []
        for name, (agent, expected) in agents.items():
            runs = run_agent(
                list(tasks.values()), partial(carry_out, loop=agent, environment=environment), environment.threads
            )
            scores = {task: score_task(tasks[task], run) for task, run in runs.items()}
            solved = sum(score.values['solved'] or 0 for score in scores.values()) * 10
            wrong = {task: (score.reason, score.result) for task, score in scores.items()}
            rows.append(f'| {server} | {name} | {solved:.0f} | {expected} |\n')
            assert solved == expected, {
                task: why for task, why in wrong.items() if (scores[task].values['solved'] == 1) != (expected == 100)
            }
        if evidence := os.environ.get('TOOLEVAL_EVIDENCE'):
            with Path(evidence).open('a', encoding='utf-8') as table:
                table.writelines(rows)
