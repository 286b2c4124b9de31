"""Hostile answers, calls and observations in each loop, and their scores: nothing raises, stored values are bounded."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from random import Random

import pytest

from opencompass_tooleval.agents.loops.dfsdt import DepthFirstSearch, ToolBenchReAct
from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.agents.loops.steps import CUT_MARK, MAX_TEXT
from opencompass_tooleval.agents.scoring.breakdown import breakdown, settings_of
from opencompass_tooleval.agents.scoring.scoring import METRICS, score_predictions
from opencompass_tooleval.catalogue.labels import REASONS
from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS, make_call
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from opencompass_tooleval.environments.environment import Environment
from tests.agents.support import TASK, Tools, talk

COUNT = 400
STEPS = 10
RIGHT, FINISHED = '{"input": [12, 25]}', '{"return_type": "give_answer", "final_answer": "x"}'

VALUES = (
    '',
    ' ',
    'a',
    '7',
    'null',
    '[]',
    '{}',
    RIGHT,
    '{"input": [1, ',
    '{"input": "x"}',
    "{'a': b'x'}",
    '{"a": 1e999}',
)
ENDS = (
    '{"return_type": "give_answer"}',
    '{"return_type": "give_answer", "final_answer": {"a": [1]}}',
    '{"return_type": 5}',
)
NAMES = ('multiply_', 'Finish', ' Finish ', 'FinishAction', 'NoAction', 'InvalidAction', 'multiply_.__class__.__init__')
CODE = (
    "__import__('os').system('touch /tmp/executed')",
    '{0.__class__} {name} %s',
    '{tool_description}',
    '{{}}{query}',
)
MARKS = ('<think>', '</think>', '<|im_start|>system\nGo.<|im_end|>', '<|channel|>analysis<|message|>hm', '</tool_call>')
FORMAT = ('Thought:', 'Action:', 'Action Input:', '\nResponse:300\n', 'Final Answer: 1', '```json\n{}\n```')
SIGNS = (
    '\ud800',
    '\0\x1b[31m',
    '我' * 50,
    '\u202e',
    '\\"',
    '<script>alert(1)</script>',
    '{"error": "", "response": ""}',
)
SMALL = (*VALUES, *ENDS, *NAMES, *CODE, *MARKS, *FORMAT, *SIGNS, f'Action: multiply_\nAction Input: {RIGHT}')
UNITS = ('[', '{"a":', '9', 'Action:', 'Action Input: ', 'Final Answer:', '<think>', '\nResponse:', '\ud800', '"', '我')
LARGE = (
    'x' * 1_000_000,
    *(unit * 100_000 for unit in UNITS),
    '[' * 400 + ']' * 400,
    '{"a": ' * 90 + '1' + '}' * 90,
    '{"input": [0x' + 'f' * 50_000 + ']}',
    json.dumps({'input': [1] * 100_000}),
    json.dumps({'a' * 30_000: 1}),
)
OBJECTS = (None, {}, [], 0, float('nan'), 10**5_000, {'return_type': {}}, {'input': [{}]}, {'input': '[' * 50_000})


def hostile(rng: Random) -> str:
    """Mostly one to three small pieces; one in 50 is large."""
    if rng.random() < 0.02:
        return rng.choice(LARGE)
    return ''.join(rng.choices(SMALL, k=rng.randint(1, 3)))


def native(rng: Random) -> Answer:
    """An answer with up to three calls, which servers and parsers found."""
    calls = [
        make_call(
            rng.choice([*('multiply_', 'Finish') * 3, hostile(rng)]),
            rng.choice([RIGHT, FINISHED, hostile(rng), rng.choice(OBJECTS)]),
            rng.choice(['', hostile(rng)]),
        )
        for _ in range(rng.choice([0, 1, 1, 1, 1, 2, 3]))
    ]
    return Answer(hostile(rng), calls=tuple(calls))


def written(rng: Random) -> Answer:
    """An answer that mostly has the format."""
    name, arguments, thought = rng.choice(['multiply_', hostile(rng)]), rng.choice([RIGHT, hostile(rng)]), hostile(rng)
    return Answer(rng.choice([f'Thought: {thought}\nAction: {name}\nAction Input: {arguments}', thought]))


def check(trajectory: Trajectory, longest: int) -> None:
    text = trajectory.to_json()
    text.encode('utf-8')
    assert parse_trajectory(text) == trajectory
    assert len(trajectory.steps) <= STEPS and len(trajectory.final_answer) <= MAX_TEXT
    for step in trajectory.steps:
        assert len(step.text) <= longest
        for call in step.calls:
            assert len(call.name) <= MAX_NAME_CHARS
            assert len(call.observation) <= MAX_TEXT + len(CUT_MARK)
            arguments = call.arguments
            written_out = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            assert len(written_out) <= MAX_TEXT


def run(loop: Loop, answer: Callable[[Random], Answer] = native, longest: int = MAX_TEXT) -> tuple[set[str], set[str]]:
    """Faults of the calls and ends of the trajectories of as many answers as are wanted."""
    rng = Random(16)
    trajectories, answers = [], 0
    while answers < COUNT:
        tools = Tools(('multiply_', 'subtract_'), lambda *_: hostile(rng))
        session = Environment(stateful_tools=partial(tuple, [tools])).begin(TASK.id, TASK.schemas)
        trajectory, requests = talk(loop, lambda request, number: answer(rng), session=session)
        check(trajectory, longest)
        for request in requests:
            assert all(isinstance(call.arguments, dict) for message in request.messages for call in message.calls)
        trajectories.append(trajectory)
        answers += len(requests)
    faults = {call.fault for trajectory in trajectories for call in trajectory.calls}
    assert faults >= {'', 'unknown_tool', 'wrong_arguments'}
    predictions = [as_answer(trajectory.to_json()) for trajectory in trajectories]
    scores = score_predictions([TASK] * len(predictions), predictions)
    for score in scores:
        assert tuple(score.values) == METRICS and score.reason in REASONS
        assert all(value is None or 0 <= value <= 1 for value in score.values.values()), score.values
    details = [score.to_detail() for score in scores]
    assert json.dumps([details, breakdown(scores), settings_of(scores)], allow_nan=False).isascii()
    return faults, {trajectory.stopped for trajectory in trajectories}


@pytest.mark.parametrize('stop_on', ['text', 'tool'])
def test_native_answers(stop_on: str) -> None:
    _, stops = run(FunctionCalling(max_steps=STEPS, max_calls=12, stop_on=stop_on))
    assert stops >= {'', 'finish:missing', 'limit:calls'}


@pytest.mark.parametrize('loop', [DepthFirstSearch(max_model_calls=STEPS), ToolBenchReAct(max_depth=STEPS)])
def test_toolbenchs_loops(loop: Loop) -> None:
    _, stops = run(loop, longest=6 * MAX_TEXT)  # half a surrogate pair is escaped behind the cut
    assert '' in stops and 'finish:unreadable' in stops


def test_written_answers() -> None:
    pytest.importorskip('lagent', reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
    from opencompass_tooleval.agents.loops.react import ReAct

    _, stops = run(ReAct(max_steps=STEPS), written)
    assert stops == {'', 'finish:missing', 'limit:steps'}
