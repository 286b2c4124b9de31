"""Calls that are noted: one answer or several, and no end in sight."""

from __future__ import annotations

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message, messages_text
from opencompass_tooleval.core.calls.tool_calls import ToolCall, read_answer
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.instructions.planned_calls import NOTED, PlannedCallDialogues

ROW = {
    'messages': messages_text([Message('user', 'Do it.')]),
    'tools': ToolSet([ToolSchema('A.b', '', {'type': 'object', 'properties': {}})], parallel=True).to_text(),
    'gold_answer': 'gold',
}


def calling(*names: str, text: str = '') -> Answer:
    return Answer(text, calls=tuple(ToolCall(name, {}, f'id-{name}') for name in names))


def drive(dialogue: Dialogue[Answer], *answers: Answer) -> tuple[Answer, list[ModelRequest]]:
    """The prediction, and what was asked; fails if more or less is asked for."""
    requests = [next(dialogue)]
    for answer in answers[:-1]:
        requests.append(dialogue.send(answer))
    with pytest.raises(StopIteration) as end:
        dialogue.send(answers[-1])
    assert isinstance(end.value.value, Answer)
    return end.value.value, requests


def names(answer: Answer) -> list[str]:
    return [call.name for call in answer.calls]


def test_calls_may_come_at_once_or_one_by_one() -> None:
    dialogues = PlannedCallDialogues()
    once, _ = drive(dialogues(ROW), calling('a', 'b'), Answer('done'))
    one_by_one, requests = drive(dialogues(ROW), calling('a', text='first'), calling('b'), Answer('done'))
    assert (once.text, names(once)) == ('done', ['a', 'b'])
    assert (one_by_one.text, names(one_by_one)) == ('done', ['a', 'b'])
    assert [(message.role, message.content) for message in requests[2].messages] == [
        ('user', 'Do it.'),
        ('assistant', 'first'),
        ('tool', NOTED),
        ('assistant', ''),
        ('tool', NOTED),
    ]
    assert all(request.tools and request.tools.parallel for request in requests)
    assert requests[0].gold == 'gold' and read_answer(requests[1].gold)[1] == ()


def test_a_dialogue_ends_without_a_call_or_at_a_limit() -> None:
    answer, requests = drive(PlannedCallDialogues(max_steps=1)(ROW), calling('a', text='I call'))
    assert (answer.text, names(answer), len(requests)) == ('I call', ['a'], 1)
    answer, requests = drive(PlannedCallDialogues()(ROW), Answer('no', finish_reason='stop'))
    assert (answer.text, answer.calls, answer.finish_reason, len(requests)) == ('no', (), 'stop', 1)
    answer, requests = drive(PlannedCallDialogues(max_steps=4)(ROW), *[calling('a')] * 4)
    assert (len(requests), names(answer)) == (4, ['a'] * 4)
    answer, requests = drive(PlannedCallDialogues(max_steps=10)(ROW), *[calling(*['a'] * 50)] * 3)
    assert (len(requests), len(answer.calls)) == (3, 150)
    with pytest.raises(ValueError, match='max_steps must be at least 1, not 0'):
        PlannedCallDialogues(0)
