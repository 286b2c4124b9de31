"""What all loops do alike: an oracle to the byte, limits, observations that are cut, simulators, and wrong options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.dfsdt import DepthFirstSearch, ToolBenchReAct
from opencompass_tooleval.agents.loops.easytool import EasyTool
from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.agents.loops.loops import Loop, make_loop
from opencompass_tooleval.agents.loops.prompts import GOLD_ANSWER
from opencompass_tooleval.agents.loops.steps import LEFT_OUT
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import ModelRequest
from opencompass_tooleval.core.calls.trajectory import parse_trajectory
from opencompass_tooleval.core.scoring.scorer import ExactSimilarity
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.simulator import Simulator
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.fixed_models import OracleModel
from tests.agents.support import PRODUCT, REST, TASK, action, calling, drive, finishing, session_of, talk

pytest.importorskip('lagent', reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
from opencompass_tooleval.agents.loops.react import PROMPTS, ReAct

TRUNCATED = Answer('', 'infra:truncated')


NATIVE = (lambda *call: calling(call), Answer('It is 258.'), lambda message: message.role == 'tool')
FINISHING = (lambda *call: calling(call), calling(finishing()), lambda message: message.role == 'tool')
IN_TEXT = (
    lambda *call: Answer(action(*call)),
    Answer('Final Answer: It is 258.'),
    lambda message: message.content.startswith('Response:'),
)
"""How a model calls, how it ends, and which messages are observations."""
KINDS: dict[str, tuple[Callable[..., Loop], Any]] = {
    'function_calling': (FunctionCalling, NATIVE),
    'react': (ReAct, IN_TEXT),
    'dfsdt': (DepthFirstSearch, FINISHING),
    'toolbench_react': (ToolBenchReAct, FINISHING),
}


@pytest.mark.parametrize(
    ('name', 'options'),
    [
        ('function_calling', {'stop_on': 'tool'}),
        *(('react', {'prompts': prompts}) for prompts in PROMPTS),
        ('toolbench_react', {}),
        ('easytool', {'retrieve': True, 'similarity': ExactSimilarity}),
    ],
)
def test_oracle_replays_the_gold_calls_to_the_byte(name: str, options: dict[str, Any]) -> None:
    guessed = replace(TASK, id='q2', gold=None, relevant=('subtract_',))

    def run() -> list[str]:
        loop = make_loop(name, **options)
        tasks = {'q0': TASK, 'q1': TASK, 'q2': guessed}
        dialogues = {place: loop.run(task, session_of(task)) for place, task in tasks.items()}
        outcomes = DialogueRunner(OracleModel(), None, 100, batch_size=2).run(dialogues)
        return [outcome.value.to_json() for outcome in outcomes.values() if outcome.value]

    first = run()
    assert first == run() and first[0] == first[1]
    known, unknown = map(parse_trajectory, first[1:])
    made = [(call.name, call.arguments, call.observation) for call in known.calls]
    assert made == [(*PRODUCT, '300'), (*REST, '258')] and [call.name for call in unknown.calls] == ['subtract_']
    assert (known.final_answer, known.stopped, unknown.final_answer) == (GOLD_ANSWER, '', GOLD_ANSWER)


@pytest.mark.parametrize('name', KINDS)
def test_observations_are_cut(name: str) -> None:
    loop, (call, end, is_observation) = KINDS[name]
    trajectory, requests = drive(loop(max_observation=2), call(*PRODUCT), end)
    assert (trajectory.calls[0].observation, trajectory.calls[0].observation_chars) == ('30...', 3)
    told = [message.content for message in requests[1].messages if is_observation(message)]
    assert [text.removeprefix('Response:').strip() for text in told] == ['30...']


@pytest.mark.parametrize('name', KINDS)
def test_the_older_half_goes_and_then_the_older_half_of_the_rest(name: str) -> None:
    loop, (call, end, is_observation) = KINDS[name]
    asked: list[ModelRequest] = []

    def whole(request: ModelRequest) -> list[str]:
        told = [message.content.removeprefix('Response:') for message in request.messages if is_observation(message)]
        return [text.strip() for text in told if LEFT_OUT not in text]

    def model(request: ModelRequest, number: int) -> Answer:
        if number < 5:
            return call(PRODUCT[0], {'input': [12, number]})
        asked.append(request)
        return TRUNCATED if len(whole(request)) > 1 else end

    trajectory, _ = talk(loop(), model)
    assert list(map(whole, asked)) == [['0', '12', '24', '36', '48'], ['24', '36', '48'], ['36', '48'], ['48']]
    assert (trajectory.omitted_observations, trajectory.stopped) == (4, '')
    first, last = (request.messages for request in (asked[0], asked[-1]))
    assert len(first) == len(last)  # each stays the answer to its call, and nothing else changes
    for before, after in zip(first, last, strict=True):
        assert (before.role, before.calls, before.call_id) == (after.role, after.calls, after.call_id)
        assert before == after or (is_observation(after) and LEFT_OUT in after.content)


@pytest.mark.parametrize('loop', [FunctionCalling(), ReAct(), DepthFirstSearch(), ToolBenchReAct(), EasyTool()])
def test_no_room_at_all(loop: Loop) -> None:
    trajectory, requests = drive(loop, TRUNCATED)
    assert (trajectory.stopped, len(requests), trajectory.steps) == ('limit:context', 1, ())


@pytest.mark.parametrize('name', KINDS)
def test_a_simulator_is_asked_between(name: str) -> None:
    loop, (call, end, _) = KINDS[name]
    session = Environment(simulator=Simulator('judge')).begin(TASK.id, TASK.schemas)
    simulated = [Answer(f'{{"error": "", "response": "{text}"}}') for text in 'ab']
    answers = [call(*PRODUCT), simulated[0], call(*REST), simulated[1], end]
    trajectory, requests = talk(loop(), lambda _, number: answers[number], session=session)
    assert [made.source for made in trajectory.calls] == ['simulated', 'simulated']
    assert '"a"' in requests[2].messages[-1].content and '"b"' in requests[4].messages[-1].content
    assert (len(trajectory.steps), trajectory.stopped) == (3, '')


@pytest.mark.parametrize(
    ('loop', 'wrong'),
    [
        *((FunctionCalling, {name: value}) for name, value in (('stop_on', 'no'), ('max_steps', 0), ('max_calls', 0))),
        (FunctionCalling, {'max_observation': -1}),
        *((ReAct, {name: value}) for name, value in (('max_steps', 0), ('max_observation', -1), ('prompts', 'no'))),
        *((DepthFirstSearch, {name: 0}) for name in ('max_model_calls', 'children', 'max_depth')),
        (DepthFirstSearch, {'max_observation': -1}),
        *((EasyTool, {name: 'x'}) for name in ('reading', 'tool_list', 'corpus')),
        *((EasyTool, {name: 0}) for name in ('max_tries', 'max_steps', 'max_calls')),
    ],
)
def test_wrong_options_are_refused(loop: Callable[..., Loop], wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r'(stop_on|reading|tool_list|prompts) is|must be at least 1|needs retrieve'):
        loop(**wrong)
