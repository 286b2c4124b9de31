"""FuncQA with native calls: its requests, answers to calls, and its end."""

from __future__ import annotations

from opencompass_tooleval.agents.loops.funcqa import TOOLS
from opencompass_tooleval.benchmarks.funcqa.scoring import score_trajectory
from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.calls.dialogue import ModelRequest
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from tests.agents.support import PRODUCT, REST, calling
from tests.benchmarks.funcqa.support import RECORD, begin


def drive(*answers: Answer, **options: int) -> tuple[Trajectory, list[ModelRequest]]:
    """What comes of answers, and what was asked; the last is repeated as long as anything is asked."""
    dialogue = begin('function_calling', **options)
    requests = [next(dialogue)]
    while True:
        try:
            requests.append(dialogue.send(as_answer(answers[min(len(requests), len(answers)) - 1])))
        except StopIteration as end:
            return end.value, requests


def test_calls_are_carried_out_and_answered() -> None:
    last = Answer('<think>258</think>Answer: 258')
    trajectory, requests = drive(calling(PRODUCT, text='<think>first</think>Well,'), calling(REST), last)
    assert all(request.tools and request.tools.tools == TOOLS and not request.may_be_too_long for request in requests)
    assert [(message.role, message.content) for message in requests[2].messages[1:]] == [
        ('user', RECORD.question),
        ('assistant', 'Well,'),
        ('tool', '300'),
        ('assistant', ''),
        ('tool', '258'),
    ]
    assert [call.observation for call in trajectory.calls] == ['300', '258']
    assert (trajectory.final_answer, trajectory.stopped) == ('Answer: 258', '')
    assert [entry.asked for entry in trajectory.steps] == [RECORD.question, '300', '258']
    assert trajectory.steps[0].text.splitlines()[0] == '<think>first</think>Well,'
    assert trajectory.settings == {'max_steps': 20, 'max_calls': 100, 'rounded': True}
    assert parse_trajectory(trajectory.to_json()) == trajectory
    assert score_trajectory(RECORD, trajectory).reason == 'ok'


def test_all_calls_of_an_answer_are_answered() -> None:
    trajectory, requests = drive(calling(PRODUCT, ('sqrt_', '{"in'), ('root', {}), REST), Answer('Answer: 258'))
    told = {message.call_id: message.content for message in requests[1].messages if message.role == 'tool'}
    assert list(told) == ['id0', 'id1', 'id2', 'id3'] and (told['id0'], told['id3']) == ('300', '258')
    assert told['id1'].startswith('Error: sqrt_: parameters are an object') and 'no such tool' in told['id2']
    assert [call.error or '' for call in trajectory.calls] == ['', 'args:not_an_object', 'name:unknown_tool', '']
    score = score_trajectory(RECORD, trajectory)
    assert (score.values['accuracy'], score.values['tool_error_rate'], score.reason) == (1, 1, 'args:not_an_object')


def test_an_answer_that_calls_nothing_is_the_end() -> None:
    trajectory, requests = drive(Answer('It is 12 * 25 - 42 = 258.'))
    assert (len(requests), trajectory.calls, trajectory.stopped) == (1, (), '')
    assert score_trajectory(RECORD, trajectory).reason == 'ok'
    assert score_trajectory(RECORD, drive(Answer('<think>258'))[0]).reason == 'answer:truncated_reasoning'
    assert score_trajectory(RECORD, drive(calling(PRODUCT), Answer(''))[0]).reason == 'answer:empty'


def test_steps_and_calls_are_bounded() -> None:
    trajectory, requests = drive(calling(PRODUCT), max_steps=3)
    assert (len(requests), len(trajectory.calls), trajectory.stopped) == (3, 3, 'limit:steps')
    trajectory, requests = drive(calling(PRODUCT, REST), max_calls=5)
    assert (len(requests), len(trajectory.calls), trajectory.stopped) == (3, 4, 'limit:steps')
    assert score_trajectory(RECORD, trajectory).reason == 'limit:steps'


def test_nothing_says_how_calls_are_written() -> None:
    _, (request,) = drive(Answer('Answer: 258'))
    assert [message.role for message in request.messages] == ['system', 'user']
    assert 'JSON' not in request.messages[0].content and '{' not in request.messages[0].content
    sent = [tool['function'] for tool in ToolSet(TOOLS).as_request()]
    assert len(sent) == 13 and sent[0]['name'] == 'add_'
    assert sent[0]['parameters']['properties'] == {'input': {'type': 'array', 'items': {'type': 'number'}}}
