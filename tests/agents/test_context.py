"""Observations that are left out if a conversation is too long."""

from __future__ import annotations

import pytest

from opencompass_tooleval.agents.loops.context import LEFT_OUT, Reply, ask
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.tool_calls import ToolCall

TOO_LONG = Answer('', 'infra:truncated')
REQUEST = (Message('system', 'rules'), Message('user', 'what?'))


def request(observations: int) -> ModelRequest:
    messages = list(REQUEST)
    for number in range(observations):
        messages.append(Message('assistant', '', (ToolCall('look', {}, f'id{number}'),)))
        messages.append(Message('tool', f'seen {number}', call_id=f'id{number}'))
    return ModelRequest(tuple(messages), 'gold')


def whole(asked: ModelRequest) -> list[int]:
    """The observations that are still there."""
    return [int(m.content[5:]) for m in asked.messages if m.role == 'tool' and m.content != LEFT_OUT]


def run(asked: ModelRequest, most: int, omitted_observations: int = 0) -> tuple[Reply, list[ModelRequest]]:
    """Asks a model that has room for ``most`` observations."""
    dialogue = ask(asked, omitted_observations)
    requests = [next(dialogue)]
    while True:
        try:
            requests.append(dialogue.send(TOO_LONG if len(whole(requests[-1])) > most else Answer('there')))
        except StopIteration as end:
            return end.value, requests


def test_what_fits_is_asked_as_it_is():
    reply, requests = run(request(3), most=3)
    assert (reply.answer.text, reply.omitted_observations, reply.is_over_context) == ('there', 0, False)
    (asked,) = requests
    assert (asked.messages, asked.gold, asked.may_be_too_long) == (request(3).messages, 'gold', True)


def test_the_older_half_goes_and_then_the_older_half_of_the_rest():
    reply, requests = run(request(9), most=2)
    assert [whole(asked) for asked in requests] == [
        [0, 1, 2, 3, 4, 5, 6, 7, 8],
        [4, 5, 6, 7, 8],
        [6, 7, 8],
        [7, 8],
    ]
    assert (reply.omitted_observations, reply.answer.text) == (7, 'there')


def test_only_observations_go_and_each_stays_the_answer_to_its_call():
    _, requests = run(request(2), most=0)
    assert [(m.role, m.content, m.call_id) for m in requests[-1].messages] == [
        ('system', 'rules', ''),
        ('user', 'what?', ''),
        ('assistant', '', ''),
        ('tool', LEFT_OUT, 'id0'),
        ('assistant', '', ''),
        ('tool', LEFT_OUT, 'id1'),
    ]
    assert [m.calls for m in requests[-1].messages] == [m.calls for m in request(2).messages]


def test_what_was_left_out_stays_left_out():
    reply, requests = run(request(6), most=3, omitted_observations=2)
    assert [whole(asked) for asked in requests] == [[2, 3, 4, 5], [4, 5]]
    assert reply.omitted_observations == 4
    assert run(request(1), most=5, omitted_observations=3)[0].omitted_observations == 1


@pytest.mark.parametrize('observations', [0, 1, 5])
def test_with_nothing_left_to_leave_out_there_is_no_room(observations):
    reply, requests = run(request(observations), most=-1)
    assert (reply.is_over_context, reply.omitted_observations) == (True, observations)
    assert whole(requests[-1]) == []


def test_any_messages_can_be_observations():
    messages = (*REQUEST, Message('assistant', 'Action: look'), Message('user', 'Response: a'))
    dialogue = ask(ModelRequest(messages), 0, lambda message: message.content.startswith('Response:'), 'Response: gone')
    next(dialogue)
    assert [m.content for m in dialogue.send(TOO_LONG).messages] == ['rules', 'what?', 'Action: look', 'Response: gone']


def test_other_failures_are_answers():
    dialogue = ask(request(3))
    next(dialogue)
    with pytest.raises(StopIteration) as end:
        dialogue.send(Answer('', 'infra:timeout'))
    assert (end.value.value.answer.reason, end.value.value.omitted_observations) == ('infra:timeout', 0)
