"""EasyTool's published method on ToolBench's tools with scripted replies: ours has the same requests and ends."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.easytool import EasyTool
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.dialogue import ModelRequest
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.environments.environment import Environment, Session
from tests.agents.support import Tools, talk
from tests.agents.test_easytool import purpose_of, purposes
from tests.instructions.shared_data import DATA

FILE = DATA.parent / 'expected' / 'easytool' / 'toolbench_published_runs.json.gz'
RUNS = 136
STOPPED = {'KeyError': 'plan:unknown_dependency', None: ''}
"""What the published code raised -> why ours ends."""

pytestmark = pytest.mark.skipif(not FILE.is_file(), reason='no published runs of the method at hand')


@cache
def published() -> dict[str, Any]:
    return json.loads(gzip.decompress(FILE.read_bytes()))


def task() -> Task:
    guidelines = {
        name: {'tool_name': tool['standardized_name'], 'tool_description': tool['tool_description'], **guideline}
        for tool in published()['dataset'].values()
        for name, guideline in tool['tool_guidelines'].items()
    }
    tools = tuple(ToolSchema(name, '', {}) for name in guidelines)
    return Task('1', 'toolbench_g2', published()['query'], tools, instructions=guidelines)


def session(offered: Task) -> Session:
    names = tuple(tool.name for tool in offered.tools)
    world = Tools(names, lambda name, arguments: f'{name} says {json.dumps(arguments, sort_keys=True)}')
    return Environment(stateful_tools=lambda: (world,)).begin(offered.id, offered.schemas)


class Scripted:
    """The replies of a run, by what is asked for, around and around; ``#`` stands for a reply's number, from 0."""

    def __init__(self, replies: Mapping[str, list[str]]) -> None:
        self.replies = replies
        self.asked: Counter[str] = Counter()

    def __call__(self, request: ModelRequest, number: int) -> str:
        kind = purpose_of(request)
        replies = self.replies[kind]
        place = self.asked[kind]
        self.asked[kind] += 1
        return replies[place % len(replies)].replace('#', str(place))


def digest(request: ModelRequest) -> str:
    return hashlib.sha256(request.messages[-1].content.encode()).hexdigest()[:16]


def run_again(run: Mapping[str, Any]) -> tuple[Trajectory, list[ModelRequest]]:
    offered = task()
    # The published code was run on the tools as {number: description}.
    return talk(EasyTool(tool_list='by_id'), Scripted(run['replies']), offered, session(offered))


@pytest.mark.official('EasyTool on ToolBench', 'runs on scripted replies: requests, calls, ends')
@pytest.mark.parametrize('place', range(RUNS))
def test_a_run_asks_the_same_and_ends_the_same(place: int) -> None:
    assert len(published()['runs']) == RUNS
    run = published()['runs'][place]
    trajectory, requests = run_again(run)
    assert purposes(trajectory) == run['kinds'], run['profile']
    for kind, prompt in (run.get('example_prompts') or {}).items():
        assert prompt in [request.messages[-1].content for request in requests if purpose_of(request) == kind]
    assert [digest(request) for request in requests] == run['prompt_digests'], run['profile']
    assert [[call.name, call.arguments] for call in trajectory.calls] == run['calls']
    assert trajectory.final_answer == (run['final_answer'] or '')
    assert trajectory.stopped == STOPPED[run['raised']]
