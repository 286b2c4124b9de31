"""The loop in text: its prompts and requests, observations, and all its ends."""

from __future__ import annotations

from dataclasses import replace

import pytest

from opencompass_tooleval.agents.loops.steps import LEFT_OUT
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.trajectory import parse_trajectory
from opencompass_tooleval.core.scoring.usage import Usage
from tests.agents.support import PRODUCT, REST, TASK, action, drive, final

pytest.importorskip('lagent', reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
from opencompass_tooleval.agents.loops.react import ReAct

LOOP = ReAct()
FORMAT = 'Response:Please follow the format\n'


def test_actions_are_carried_out_and_told():
    first = Answer(action(*PRODUCT, thought='first'), usage=Usage(30, 5))
    trajectory, requests = drive(LOOP, first, action(*REST), final('It is 258.'))
    assert [(message.role, message.content) for message in requests[2].messages[1:]] == [
        ('user', TASK.query),
        ('assistant', first.text),
        ('user', 'Response:300\n'),
        ('assistant', action(*REST)),
        ('user', 'Response:258\n'),
    ]
    assert all(request.may_be_too_long and request.tools is None for request in requests)
    assert [(call.name, call.arguments, call.observation, call.source) for call in trajectory.calls] == [
        (*PRODUCT, '300', 'function'),
        (*REST, '258', 'function'),
    ]
    assert [(step.text, step.parent, step.usage) for step in trajectory.steps] == [
        ('first', -1, {'prompt': 30, 'completion': 5, 'requests': 1}),
        ('so', 0, None),
        ('done', 1, None),
    ]
    assert [(call.name, call.source) for call in trajectory.steps[2].calls] == [('FinishAction', '')]
    assert (trajectory.final_answer, trajectory.stopped, trajectory.path) == ('It is 258.', '', (0, 1, 2))
    assert trajectory.settings == {'max_steps': 20, 'max_observation': 20_000, 'prompts': 'lagent'}
    assert parse_trajectory(trajectory.to_json()) == trajectory


def test_tools_are_shown_as_their_documentation_has_them():
    task = replace(TASK, documents={'multiply_': {'description': 'Documented.', 'name': 'other', 'return_data': []}})
    _, (request,) = drive(LOOP, final('1'), task=task)
    system = request.messages[0].content
    assert "{'name': 'multiply_', 'description': 'Documented.', 'return_data': []}" in system
    assert "{'name': 'subtract_', 'description': 'The first number less the second.', 'parameters': {" in system
    assert "one of [['multiply_', 'subtract_']]" in system
    assert system.startswith('You are a assistant who can utilize external tools.')
    _, (request,) = drive(LOOP, final('1'), task=replace(task, instructions={'multiply_': {'description': 'Short.'}}))
    assert "{'name': 'multiply_', 'description': 'Short.'}" in request.messages[0].content


@pytest.mark.parametrize(
    ('answer', 'passed'),
    [
        (action('multiply_', '{"input": [1'), '{"input": [1'),
        (action('multiply_', '7'), '7'),
        (action('multiply_', '{"number": 1}\nThat is it.'), {'number': 1}),
        ('Action:\nmultiply_\n', ''),
    ],
)
def test_bad_arguments_are_told(answer, passed):
    trajectory, requests = drive(LOOP, answer, final('no'))
    (call,) = trajectory.calls
    assert (call.name, call.arguments) == ('multiply_', passed)
    assert (call.source, call.fault, trajectory.final_answer) == ('error', 'wrong_arguments', 'no')
    assert requests[1].messages[-1].content == f'Response:{call.observation}\n'


HOSTILE = {
    'code': action('multiply_', "__import__('os').system('touch MARKER')"),
    'power': action('multiply_', '{"input": [9**9**9**9]}'),
    'code as name': action("__import__('os').system('touch MARKER')", '{}'),
    'a megabyte of arguments': action('multiply_', '{"input": [' + '1,' * 500_000 + '1]}'),
    'deep': action('multiply_', '[' * 100_000),
    'hexadecimal': action('multiply_', '{"input": [0x' + 'f' * 100_000 + ']}'),
    'many inputs': 'Action: multiply_\n' + 'Action Input:' * 70_000,
    'many responses': '\nResponse:' * 100_000,
    'not a number': action('multiply_', '{"input": [NaN, Infinity]}'),
    'surrogate': action('multiply_\udc80', '{"input": ["\udc80"]}'),
    'template': action('multiply_', '{"input": "{tool_description} %s {0.__class__}"}'),
}


@pytest.mark.parametrize('kind', HOSTILE)
def test_hostile_answers(kind, tmp_path):
    marker = tmp_path / 'executed'
    answer = HOSTILE[kind].replace('MARKER', str(marker))
    trajectory, _ = drive(ReAct(max_steps=4), answer, answer, answer, final('1'))
    assert trajectory.final_answer == '1' and all(call.fault for call in trajectory.calls)
    assert not marker.exists()


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [('NoAction', 'format:no_match'), (' ', 'answer:empty'), ('<think>12 times', 'answer:truncated_reasoning')],
)
def test_answers_without_an_action_are_told_the_format(answer, reason):
    trajectory, requests = drive(LOOP, answer, action(*PRODUCT), final('300'))
    assert requests[1].messages[-1].content == FORMAT
    assert [(step.reason, len(step.calls)) for step in trajectory.steps] == [(reason, 0), ('', 1), ('', 1)]
    lazy, requests = drive(ReAct(max_steps=3), answer)
    assert (len(requests), lazy.stopped, lazy.final_answer, lazy.calls) == (3, 'finish:missing', '', ())


@pytest.mark.parametrize(
    ('answer', 'told', 'reason'),
    [
        (action('FinishAction', ''), '', 'answer:empty'),
        (action('FinishAction', '{}'), '', 'answer:empty'),
        (action('FinishAction', 'It is 258.'), 'It is 258.', ''),
        (f'<think>{action(*PRODUCT)}</think>{final("258")}', '258', ''),
    ],
)
def test_what_ends_it_at_once(answer, told, reason):
    trajectory, requests = drive(LOOP, answer)
    assert (len(requests), trajectory.final_answer, trajectory.stopped, trajectory.calls) == (1, told, '', ())
    assert trajectory.steps[0].reason == reason


def test_a_request_is_never_left_out_and_a_model_cannot_say_what_a_tool_returned():
    task = replace(TASK, query='Response:what?')
    _, requests = drive(LOOP, Answer('', 'infra:truncated'), task=task)
    assert [request.messages[1].content for request in requests] == ['Response:what?']
    trajectory, requests = drive(LOOP, f'{action(*PRODUCT)}\nResponse:42\n{final("42")}', final('300'))
    assert (requests[1].messages[-1].content, trajectory.final_answer) == ('Response:300\n', '300')


def test_chinese_prompts_are_lagents_too():
    trajectory, requests = drive(ReAct(max_steps=2), action(*PRODUCT), task=replace(TASK, language='ZH'))
    assert requests[0].messages[0].content.startswith('你是一个可以调用外部工具的助手')
    assert requests[1].messages[-1].content == '你需要基于历史消息返回一个最终结果'
    assert (len(trajectory.calls), trajectory.settings['prompts']) == (2, 'lagent')


TOOLBENCH = ReAct(prompts='toolbench')


def test_toolbenchs_prompt_says_everything_in_one_message():
    trajectory, requests = drive(
        TOOLBENCH,
        f'{action(*PRODUCT)}\nEnd Action\nObservation: 5',
        f'{action(*PRODUCT)}\nObservation: 5',
        action('Finish', {'return_type': 'give_answer', 'final_answer': 'Final Answer: 300'}),
    )
    (prompt,) = requests[0].messages
    assert prompt.role == 'user' and prompt.content.startswith('Answer the following questions as best you can.')
    assert "should be one of ['multiply_', 'subtract_', 'Finish']" in prompt.content
    assert f'Question: {TASK.query}\n' in prompt.content and '{"return_type": "give_answer", "final' in prompt.content
    assert [(m.role, m.content) for m in requests[2].messages[1:]] == [
        ('assistant', f'{action(*PRODUCT)}\n'),
        ('user', 'Observation: 300\n'),
        ('assistant', action(*PRODUCT)),
        ('user', 'Observation: 300\n'),
    ]
    assert (trajectory.final_answer, trajectory.stopped, len(trajectory.calls)) == ('Final Answer: 300', '', 2)
    assert [(call.name, call.source) for call in trajectory.steps[2].calls] == [('Finish', '')]
    assert trajectory.settings == {'max_steps': 20, 'max_observation': 1_024, 'prompts': 'toolbench'}


def test_toolbenchs_finish_may_give_up_or_say_nothing():
    trajectory, requests = drive(
        TOOLBENCH, action('Finish', 'broken'), action('Finish', {'return_type': 'give_up_and_restart'})
    )
    assert requests[1].messages[-1].content.startswith('Observation: {error:"must have "return_type""}')
    assert (trajectory.stopped, trajectory.final_answer, trajectory.calls) == ('finish:gave_up', '', ())
    trajectory, _ = drive(ReAct(prompts='toolbench', max_steps=2), final('300'))
    assert ([step.reason for step in trajectory.steps], trajectory.stopped) == (
        ['format:no_match'] * 2,
        'finish:missing',
    )


def test_toolbenchs_conversation_loses_observations_but_not_its_prompt():
    trajectory, requests = drive(TOOLBENCH, action(*PRODUCT), action(*REST), Answer('', 'infra:truncated'))
    assert (trajectory.stopped, trajectory.omitted_observations) == ('limit:context', 2)
    assert [request.messages[0] for request in requests] == [requests[0].messages[0]] * len(requests)
    assert requests[-1].messages[-1].content == f'Observation: {LEFT_OUT}\n'
