"""ToolBench's published prompts, and its loops on scripted answers: ours have the same requests and ends."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.dfsdt import DepthFirstSearch, ToolBenchReAct
from opencompass_tooleval.agents.loops.finish import FINISH, read_finish
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench import prompts
from opencompass_tooleval.agents.toolbench.answers import to_toolbench
from opencompass_tooleval.core.calls.answer import Answer, extras, with_extras
from opencompass_tooleval.core.calls.dialogue import ModelRequest
from opencompass_tooleval.core.calls.tool_calls import make_call
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import GAVE_UP, Trajectory, parse_trajectory
from opencompass_tooleval.environments.environment import Environment, Session
from tests.agents.support import Tools, talk
from tests.instructions.shared_data import expected
from tests.official import Recorder

LOOPS = {'dfs': DepthFirstSearch, 'cot': ToolBenchReAct}
PARSE_ERROR = json.dumps({'error': 'Tool input parse error...\n', 'response': ''})
RUNS = 208


@cache
def published() -> dict[str, Any]:
    return json.loads(gzip.decompress(expected('toolbench/published_runs.json.gz').read_bytes()))


def task() -> Task:
    world = published()['world']
    functions = [ToolSchema(**function) for function in world['functions']]
    assert functions.pop() == FINISH
    documents = {
        function.name: {'tool_name': tool, 'tool_description': description}
        for function, (tool, description) in zip(functions, world['tool_descriptions'], strict=True)
    }
    return Task('1', 'toolbench', world['query'], tuple(functions), documents=documents)


def session(offered: Task) -> Session:
    """What answered the calls of the published runs."""
    apis = zip((tool.name for tool in offered.tools), published()['world']['apis'], strict=True)
    published_names = {name: api['api_name'] for name, api in apis}

    def answer(name: str, arguments: Mapping[str, Any]) -> str:
        if not arguments:
            return PARSE_ERROR  # an empty text: no run passes an object without values
        summed = sum(map(ord, published_names[name] + json.dumps(arguments, sort_keys=True)))
        error = '' if summed % 3 else 'Message error...'
        return json.dumps({'error': error, 'response': f'x{summed} é ' * (1 if summed % 4 else 400)})

    world = Tools(tuple(published_names), answer)
    return Environment(stateful_tools=lambda: (world,)).begin(offered.id, offered.schemas)


def answer_of(reply: Mapping[str, Any]) -> Answer:
    """A reply as it comes from a server, and out of the journal of a run that was killed."""
    calls = (make_call(reply['name'], reply['arguments']),) if reply['name'] else ()
    content = reply['content']
    answer = Answer(content or '', calls=calls, has_content=content is not None)
    return with_extras(Answer(answer.text), json.loads(json.dumps(extras(answer))))


def noted(request: ModelRequest) -> list[dict[str, Any]]:
    """A request as the published runs are noted."""
    rows: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for message in request.messages:
        row: dict[str, Any] = {'role': message.role, 'content': message.content}
        if message.calls:
            (call,) = message.calls
            names[call.id] = call.name
            row['function_call'] = {'name': call.name, 'arguments': call.arguments}
        elif message.call_id:
            row |= {'role': 'function', 'name': names[message.call_id]}
        rows.append(row)
    return rows


def digest(request: ModelRequest) -> str:
    text = json.dumps(noted(request), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def run_again(run: Mapping[str, Any]) -> tuple[Trajectory, list[ModelRequest]]:
    offered = task()
    loop = LOOPS[run['method']]()
    return talk(loop, lambda _, number: answer_of(run['replies'][number]), offered, session(offered))


@pytest.mark.official(
    'ToolBench',
    'runs on scripted answers: requests, ends, final answers',
    'an answer with neither text nor call; the form of arguments that are sent back',
)
@pytest.mark.parametrize('place', range(RUNS))
def test_a_run_asks_the_same_and_ends_the_same(place: int) -> None:
    assert len(published()['runs']) == RUNS
    run = published()['runs'][place]
    trajectory, requests = run_again(run)
    if run['last_request']:
        assert noted(requests[-1]) == run['last_request']
    assert [digest(request) for request in requests] == run['request_digests']
    assert len(requests) == len(trajectory.steps) == run['requests'] == len(run['replies'])
    assert run['solved'] == (not trajectory.stopped)
    assert parse_trajectory(trajectory.to_json()) == trajectory

    written = to_toolbench(task(), trajectory)['answer']['final_answer']
    generation = run['answer_generation']
    given_up = [
        reply['arguments']
        for reply in run['replies']
        if reply['name'] == FINISH.name and read_finish(reply['arguments']).stopped == GAVE_UP
    ]
    if generation.get('finish_type') == 'give_up':  # of several, the published code draws one
        assert written in given_up and generation['final_answer'] in given_up
    else:
        assert written == generation['final_answer']


@pytest.mark.official('ToolBench', 'prompts')
def test_prompts_are_those_of_the_source_code(record_property: Recorder) -> None:
    record_property('cases', 5)
    published = json.loads(expected('toolbench/prompts.json').read_text())
    react = published['react']
    assert react['FORMAT_INSTRUCTIONS_SYSTEM_FUNCTION'] == prompts.SYSTEM + '{task_description}'
    assert prompts.USER.replace('{}', '{input_description}') == react['FORMAT_INSTRUCTIONS_USER_FUNCTION']
    assert react['FORMAT_INSTRUCTIONS_SYSTEM_FUNCTION_ZEROSHOT'] == prompts.REACT_TEXT
    assert '{previous_candidate}'.join(prompts.DIVERSITY) == published['diversity']
    assert published['task_description'].replace('\\"', '"').replace('\\n', '\n') == prompts.TASK_DESCRIPTION


def test_the_published_runs_were_sent_the_same() -> None:
    run = json.loads(expected('toolbench/example/answer_dfs_588.json').read_text())['answer_generation']
    system, user = run['train_messages'][0][:2]
    listed = '1.theclique: API for TheClique company\n'
    assert system['content'] == f'{prompts.SYSTEM}{prompts.TASK_DESCRIPTION}{listed}'
    assert user['content'] == prompts.USER.format(run['query'])
    finish = run['function'][-1]
    assert (finish['name'], finish['description'], finish['parameters']) == (
        FINISH.name,
        FINISH.description,
        FINISH.parameters,
    )
