"""All loops over HTTP, on a server whose model is right, lazy, looping, or faulty in one way, all at the same time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.trajectory import Trajectory
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tests.agents.support import TOOLS, Tools
from tests.models.api.scripted_server import KEY, Request, Script, call, serving

KINDS = ('right', 'lazy', 'looping', 'unknown', 'broken', 'parallel', 'chatting', 'empty', 'long')
LONG = 'word ' * 3_000
PRODUCT = ('multiply_', '{"input": [12, 25]}')
REST = ('subtract_', '{"input": [300, 42]}')


def multiplied(name: str, arguments: Mapping[str, Any]) -> str:
    """Multiplies; of what it is to multiply with 0 it speaks at length."""
    first, second = arguments['input']
    if second == 0:
        return LONG
    return str(first * second if name == 'multiply_' else first - second)


Multiplied = partial(Tools, ('multiply_', 'subtract_'), multiplied)


class Agent(Script):
    """A model that behaves as the request says in its first word; ``step`` is how often it has been told something."""

    def answers(self, kind: str, step: int) -> tuple[str, list[tuple[str, str]]]:
        right = [('', [PRODUCT]), ('', [REST]), ('It is 258.', [])]
        zero = ('multiply_', f'{{"input": [{step}, 0]}}')
        if kind == 'right':
            return right[step]
        return {
            'lazy': ('I think 258.', []),
            'looping': ('', [PRODUCT]),
            'unknown': ('', [('divide_', '{}')]) if step == 0 else ('It is 258.', []),
            'broken': ('', [('multiply_', '{"input": [12, ')]) if step == 0 else ('It is 258.', []),
            'parallel': ('', [PRODUCT, ('divide_', '{}'), REST]) if step == 0 else ('It is 258.', []),
            'chatting': ('Let me see.', []),
            'empty': ('', []),
            'long': ('', [zero]) if step < 5 else ('It is 0.', []),
        }[kind]

    def kind(self, request: Request) -> str:
        return next(str(item['content']) for item in request['messages'] if item['role'] == 'user').partition(' ')[0]


class Calling(Agent):
    """Calls natively."""

    def message(self, request: Request) -> dict[str, Any]:
        messages = request['messages']
        for message in messages:
            for made in message.get('tool_calls', ()):
                assert isinstance(json.loads(made['function']['arguments']), dict)  # as servers read them
        step = sum(message['role'] == 'assistant' for message in messages)
        text, calls = self.answers(self.kind(request), step)
        content = text or (None if calls else '')  # as OpenAI's servers have it
        return {'content': content, 'tool_calls': [call(*made, place) for place, made in enumerate(calls)]}


class Writing(Agent):
    """Calls in text."""

    def message(self, request: Request) -> dict[str, Any]:
        kind = self.kind(request)
        step = sum(message['role'] == 'assistant' for message in request['messages'])
        text, calls = self.answers(kind, step)
        if calls:
            name, arguments = calls[0]
            return {'content': f'Thought: so\nAction: {name}\nAction Input: {arguments}'}
        return {'content': text if kind == 'chatting' else f'Thought: done\nFinal Answer: {text}'}


def carried_out(loop: Loop, script: Script, kinds: tuple[str, ...] = KINDS) -> dict[str, Trajectory]:
    environment = Environment(stateful_tools=lambda: (Multiplied(),))
    tasks = [Task(kind, 'http', f'{kind} model: what is 12 * 25 - 42?', TOOLS) for kind in kinds]
    dialogues = {task.id: loop.run(task, environment.begin(task.id, task.schemas)) for task in tasks}
    with serving(script) as url:
        model = ToolEvalOpenAI('tiny', key=KEY, openai_api_base=url, max_seq_len=100_000, retry=0, max_workers=4)
        outcomes = DialogueRunner(model, None, 64).run(dialogues)
    assert [outcome.infra for outcome in outcomes.values()] == [None] * len(kinds)
    return {kind: outcome.value for kind, outcome in outcomes.items() if outcome.value}


def told(trajectory: Trajectory) -> list[tuple[str, str]]:
    """What each call came to: its fault, or what it returned."""
    return [(call.name, call.fault or call.observation[:10]) for call in trajectory.calls]


def ended(trajectories: Mapping[str, Trajectory]) -> dict[str, tuple[str, str, int]]:
    """Final answer, why it stopped, and steps."""
    return {kind: (done.final_answer, done.stopped, len(done.steps)) for kind, done in trajectories.items()}


def test_native_calls() -> None:
    done = carried_out(FunctionCalling(max_steps=8), Calling())
    assert ended(done) == {
        'right': ('It is 258.', '', 3),
        'lazy': ('I think 258.', '', 1),
        'looping': ('', 'limit:steps', 8),
        'unknown': ('It is 258.', '', 2),
        'broken': ('It is 258.', '', 2),
        'parallel': ('It is 258.', '', 2),
        'chatting': ('Let me see.', '', 1),
        'empty': ('', 'finish:missing', 2),
        'long': ('It is 0.', '', 6),
    }
    assert told(done['right']) == [('multiply_', '300'), ('subtract_', '258')]
    assert told(done['parallel']) == [('multiply_', '300'), ('divide_', 'unknown_tool'), ('subtract_', '258')]
    assert told(done['unknown']) == [('divide_', 'unknown_tool')]
    assert told(done['broken']) == [('multiply_', 'wrong_arguments')]
    assert told(done['looping']) == [('multiply_', '300')] * 8
    assert [step.reason for step in done['empty'].steps] == ['answer:empty', 'answer:empty']
    assert (len(done['long'].calls), done['long'].omitted_observations) == (5, 3)  # two have room
    usage = done['right'].steps[0].usage
    assert usage is not None and usage['prompt'] > 20 and usage['requests'] == 1


def test_actions_in_text() -> None:
    pytest.importorskip('lagent', reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
    from opencompass_tooleval.agents.loops.react import ReAct

    # Where no tool is offered, an empty answer is a failure of the server, which is tried again.
    done = carried_out(ReAct(max_steps=8), Writing(), tuple(kind for kind in KINDS if kind != 'empty'))
    assert ended(done) == {
        'right': ('It is 258.', '', 3),
        'lazy': ('I think 258.', '', 1),
        'looping': ('', 'limit:steps', 8),
        'unknown': ('It is 258.', '', 2),
        'broken': ('It is 258.', '', 2),
        'parallel': ('It is 258.', '', 2),
        'chatting': ('', 'finish:missing', 8),
        'long': ('It is 0.', '', 6),
    }
    assert told(done['right']) == [('multiply_', '300'), ('subtract_', '258')]
    assert told(done['broken']) == [('multiply_', 'wrong_arguments')]
    assert [step.reason for step in done['chatting'].steps] == ['format:no_match'] * 8
    assert (len(done['long'].calls), done['long'].omitted_observations) == (5, 3)


# Searches
