"""The loop of native calls: its requests, observations, and all its ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opencompass_tooleval.agents.loops import prompts
from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.trajectory import parse_trajectory
from opencompass_tooleval.core.scoring.usage import Usage
from tests.agents.support import PRODUCT, REST, TASK, calling, drive, finishing

TEXT = FunctionCalling()
TOOL = FunctionCalling(stop_on='tool')


def test_calls_are_carried_out_and_told():
    first = replace(calling(PRODUCT, text='<think>first</think>Well,'), usage=Usage(30, 5))
    trajectory, requests = drive(TEXT, first, calling(REST), Answer('It is 258.'))
    assert [(message.role, message.content) for message in requests[2].messages[1:]] == [
        ('user', TASK.query),
        ('assistant', 'Well,'),
        ('tool', '300'),
        ('assistant', ''),
        ('tool', '258'),
    ]
    assert all(request.may_be_too_long and not request.model for request in requests)
    assert [(call.name, call.arguments, call.observation, call.source) for call in trajectory.calls] == [
        (*PRODUCT, '300', 'function'),
        (*REST, '258', 'function'),
    ]
    assert [(step.text, step.parent, step.usage) for step in trajectory.steps] == [
        ('Well,', -1, {'prompt': 30, 'completion': 5, 'requests': 1}),
        ('', 0, None),
        ('It is 258.', 1, None),
    ]
    assert (trajectory.final_answer, trajectory.stopped, trajectory.path) == ('It is 258.', '', (0, 1, 2))
    limits = {'max_steps': 20, 'max_calls': 100, 'max_observation': 20_000}
    assert trajectory.settings == {**limits, 'stop_on': 'text', 'parallel': None, 'prompts': 'tooleval'}
    assert parse_trajectory(trajectory.to_json()) == trajectory


@pytest.mark.parametrize('arguments', ['{"input": [1', 'null', 7, None, {'number': 1}])
def test_bad_arguments_are_told(arguments):
    trajectory, requests = drive(TEXT, calling(('multiply_', arguments)), Answer('no'))
    (call,) = trajectory.calls
    assert (call.source, call.fault, trajectory.final_answer) == ('error', 'wrong_arguments', 'no')
    assert requests[1].messages[-1].content == call.observation != ''
    (repeated,) = requests[1].messages[-2].calls
    assert repeated.arguments == (arguments if isinstance(arguments, dict) else {'unreadable_arguments': arguments})


def test_only_the_first_call_counts_where_one_is_wanted():
    trajectory, requests = drive(FunctionCalling(parallel=False), calling(PRODUCT, REST), Answer('300'))
    assert requests[0].tools.parallel is False
    assert [(len(step.calls), step.reason) for step in trajectory.steps] == [(1, 'call:several'), (0, '')]
    assert [len(message.calls) for message in requests[1].messages] == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [(' \n', 'answer:empty'), ('<think>12 times', 'answer:truncated_reasoning'), ('a' * 200_001, 'answer:too_long')],
)
def test_an_answer_of_nothing_is_reminded_once(answer, reason):
    trajectory, requests = drive(TEXT, Answer(answer))
    assert ([step.reason for step in trajectory.steps], trajectory.stopped) == ([reason] * 2, 'finish:missing')
    assert requests[1].messages[-1].content == prompts.GO_ON['EN']
    again, _ = drive(TEXT, Answer(answer), calling(PRODUCT), Answer(answer), Answer('258'))
    assert ([step.reason for step in again.steps], again.final_answer) == ([reason, '', reason, ''], '258')


@pytest.mark.parametrize(('loop', 'end'), [(TEXT, '直接用文字回答用户'), (TOOL, '请调用 Finish')])
def test_chinese_tasks_have_chinese_prompts(loop, end):
    _, requests = drive(loop, Answer(' \n'), task=replace(TASK, language='ZH'))
    assert end in requests[0].messages[0].content
    assert requests[1].messages[-1].content.startswith('你的上一条消息')


def test_finish_ends_it():
    trajectory, requests = drive(TOOL, calling(PRODUCT), calling(REST, finishing(), PRODUCT))
    assert [tool.name for tool in requests[0].tools.tools] == ['multiply_', 'subtract_', 'Finish']
    assert requests[0].messages[0].content == prompts.FUNCTION_CALLING_FINISH['EN']
    assert [call.name for call in trajectory.calls] == ['multiply_', 'subtract_']
    made = [(call.name, call.source) for call in trajectory.steps[1].calls]
    assert made == [('subtract_', 'function'), ('Finish', '')]
    assert (trajectory.final_answer, trajectory.stopped) == ('258', '')
    assert (trajectory.settings['max_observation'], TEXT.settings['max_observation']) == (1_024, 20_000)


def test_calls_without_an_id_get_one_of_their_own():
    called = Answer(f'<think>{"h" * 30_000}</think>{"t" * 30_000}', calls=(ToolCall(*PRODUCT), ToolCall(*REST)))
    _, requests = drive(TEXT, called, called, Answer('258'))
    ids = [message.call_id for message in requests[2].messages if message.call_id]
    assert len(set(ids)) == len(ids) == 4
    assert ids == [call.id for message in requests[2].messages for call in message.calls]
    (said,) = [message.content for message in requests[1].messages if message.calls]
    assert len(said) == 20_000 and said.startswith('ttt')


def test_giving_up_ends_it_and_a_finish_that_says_nothing_does_not():
    trajectory, _ = drive(TOOL, calling((' Finish ', '{"return_type": "give_up_and_restart", "final_answer": "x"}')))
    assert (trajectory.final_answer, trajectory.stopped, len(trajectory.steps)) == ('', 'finish:gave_up', 1)
    trajectory, requests = drive(TOOL, calling(('Finish', 'broken')), calling(finishing()))
    assert 'must have "return_type"' in requests[1].messages[-1].content
    assert (trajectory.final_answer, trajectory.calls, len(requests)) == ('258', (), 2)
    elsewhere, _ = drive(TEXT, calling(finishing()), Answer('258'))
    assert elsewhere.calls[0].fault == 'unknown_tool'  # where the answer is a text, it is no tool


def test_only_two_texts_one_after_the_other_end_without_a_finish():
    trajectory, requests = drive(TOOL, Answer('It is 258.'))
    assert [step.reason for step in trajectory.steps] == ['call:none', 'call:none']
    assert [m.content for m in requests[1].messages[2:]] == ['It is 258.', prompts.GO_ON_FINISH['EN']]
    assert (trajectory.final_answer, trajectory.stopped) == ('', 'finish:missing')
    trajectory, _ = drive(TOOL, Answer('Hm.'), calling(PRODUCT), Answer('Hm.'), calling(finishing()))
    assert (trajectory.final_answer, len(trajectory.steps)) == ('258', 4)


def test_calls_are_bounded_and_finish_is_none():
    trajectory, requests = drive(FunctionCalling(max_calls=5), calling(PRODUCT, REST))
    assert (len(requests), len(trajectory.calls), trajectory.stopped) == (3, 5, 'limit:calls')
    trajectory, _ = drive(FunctionCalling(max_calls=2), calling(PRODUCT, REST))
    assert [(len(step.calls), step.reason) for step in trajectory.steps] == [(2, ''), (0, 'limit:calls')]
    loop = FunctionCalling(stop_on='tool', max_calls=2)
    trajectory, _ = drive(loop, calling(('Finish', {}), PRODUCT), calling(REST, finishing()))
    assert (len(trajectory.calls), trajectory.final_answer, trajectory.stopped) == (2, '258', '')
    trajectory, _ = drive(loop, calling(PRODUCT, REST, PRODUCT, finishing()))
    assert (len(trajectory.calls), trajectory.final_answer, trajectory.stopped) == (2, '', 'limit:calls')
