"""Zero-shot, CoT and EasyTool as dialogues: what is asked, what is done, and what a model may get wrong."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from opencompass_tooleval.core.rounds import Turn, run_alone
from opencompass_tooleval.easytool.funcqa.dialogue import Options
from opencompass_tooleval.easytool.funcqa.methods import METHODS
from opencompass_tooleval.easytool.funcqa.prompts import MAX_SHOWN
from opencompass_tooleval.easytool.funcqa.records import TABLE, load_records
from opencompass_tooleval.easytool.funcqa.scoring import score_trajectory
from opencompass_tooleval.easytool.funcqa.trajectory import Trajectory, parse_trajectory
from opencompass_tooleval.easytool.shapes import load_instructions
from tests.easytool.funcqa.support import INSTRUCTIONS, OPTIONS, RECORD, by_stage, drive
from tests.easytool.shared_data import DEMO, real


def run(reply: Callable[[Turn], str], options: Options = OPTIONS) -> Trajectory:
    return drive(METHODS['easytool'](RECORD, options), reply)


def gold(turn: Turn) -> str:
    return turn.gold


def shared_file(name: str) -> Any:
    return real(f'funcqa/{name}')


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('subset', TABLE, ids=lambda subset: subset.name)
@pytest.mark.parametrize('answers', ['official', 'repaired'])
@pytest.mark.parametrize('place', ['demo', 'shared'])
def test_a_perfect_model_scores_100(method: str, subset: Any, answers: str, place: str) -> None:
    if place == 'demo':
        file, options = DEMO / 'funcqa' / subset.file, OPTIONS
    else:
        tools = load_instructions(real('easytool/functions_data.json'))
        file, options = shared_file(subset.file), Options(tools)
    for record in load_records(file, subset.name, answers):
        trajectory = drive(METHODS[method](record, options), gold)
        score = score_trajectory(record, trajectory)
        assert (score.values['accuracy'], score.reason) == (1, 'ok'), record
        assert [call.name for call in trajectory.calls] == (
            [step.tool for step in record.steps] if method == 'easytool' else []
        )


def test_a_trajectory_keeps_everything_and_comes_back() -> None:
    trajectory = run(gold)
    assert [(call.name, call.parameters, call.result) for call in trajectory.calls] == [
        ('multiply_', {'input': [12, 25]}, 300),
        ('subtract_', {'input': [300, 42]}, 258),
    ]
    assert len(trajectory.rounds) == 1 + 2 * 2 + 1
    assert trajectory.answer == 'Answer: 258'
    assert trajectory.settings == {'max_steps': 20, 'max_trials': 3, 'rounded': True, 'instructions': 'demo'}
    assert parse_trajectory(trajectory.to_json()) == trajectory


def test_what_each_stage_is_shown() -> None:
    asked = [said['asked'] for said in run(gold).rounds]
    assert all(RECORD.question in prompt for prompt in asked)
    for prompt in (asked[0], asked[1], asked[3]):
        assert all(f'{name}: {tool.description}' in prompt for name, tool in INSTRUCTIONS.items())
    assert '"Parameters": {"input": [6, 7]}' in asked[2]  # the example of multiply_'s instruction
    assert 'add_' not in asked[2].replace('{"Tool": "add_"}', '')
    assert 'Subtasks done so far' not in asked[2]
    for prompt in asked[3:]:
        assert '1. multiply_ of 12, 25: multiply_({"input": [12, 25]}) = 300\n' in prompt
    assert '2. subtract_ of 300, 42: subtract_({"input": [300, 42]}) = 258\n' in asked[5]


def test_the_answer_of_one_round_methods_is_the_text() -> None:
    for method in ('zero_shot', 'cot'):
        trajectory = run_alone(METHODS[method](RECORD, Options()), ['<think>258?</think>So 12 * 25 - 42 = 258.'])
        assert (trajectory.answer, trajectory.calls) == ('So 12 * 25 - 42 = 258.', ())
        assert trajectory.rounds[0]['answer'].startswith('<think>')
    cot, zero_shot = (run_alone(METHODS[name](RECORD, Options()), ['']).rounds[0] for name in ('cot', 'zero_shot'))
    assert 'step by step' in cot['asked'] and 'step by step' not in zero_shot['asked']


FAILING = [
    ({'tool': '{"Tool": "plus"}'}, 'tool:unknown_name', 'plus', None),
    ({'tool': '{"Tool": ["add_"]}'}, 'tool:unknown_name', '["add_"]', None),
    ({'tool': 'multiply_'}, 'tool:unreadable', '', 'multiply_'),
    ({'tool': '{"Name": "multiply_"}'}, 'tool:unreadable', '', '{"Name": "multiply_"}'),
    ({'parameters': 'twelve, 25'}, 'args:unreadable', 'multiply_', 'twelve, 25'),
    ({'parameters': '{"Parameters": {"input": [4/3]}}'}, 'args:unreadable', 'multiply_', None),
    ({'parameters': '{"Parameters": {"input": ["12", "25"]}}'}, 'args:not_a_number', 'multiply_', None),
    ({'parameters': '{"Parameters": {"input": [NaN]}}'}, 'args:not_a_number', 'multiply_', None),
    ({'parameters': '{"Parameters": {"numbers": [12, 25]}}'}, 'args:missing', 'multiply_', None),
    ({'parameters': '{"Parameters": [12, 25]}'}, 'args:not_an_object', 'multiply_', [12, 25]),
]


@pytest.mark.parametrize(('answers', 'error', 'name', 'parameters'), FAILING, ids=range(len(FAILING)))
def test_a_failing_subtask_is_tried_three_times_and_the_method_goes_on(
    answers: dict[str, str], error: str, name: str, parameters: Any
) -> None:
    trajectory = run(by_stage(**answers))
    first = trajectory.calls[0]
    assert [call.error for call in trajectory.calls[:3]] == [error] * 3 and len(trajectory.calls) == 6
    assert first.result is None and first.name == name
    if parameters is not None:
        assert first.parameters == parameters
    last = trajectory.rounds[-1]['asked']
    assert '1. multiply_ of 12, 25: no result' in last and '2. subtract_ of 300, 42: no result' in last
    assert trajectory.rounds[-1]['answer'] == 'Answer: 258'


def test_a_failure_is_told_and_the_tool_chosen_again() -> None:
    replies = iter(['{"Tool": "times_"}'])

    def once(turn: Turn) -> str:
        return next(replies, turn.gold) if '{"Tool"' in turn.messages[-1].content else turn.gold

    trajectory = run(once)
    assert [call.error for call in trajectory.calls] == ['tool:unknown_name', '', '']
    again = trajectory.rounds[2]['asked']
    assert 'times_(null) = Error: there is no such tool' in again and 'in vain' in again
    assert 'in vain' not in trajectory.rounds[4]['asked']  # the next subtask starts afresh


def test_parameters_need_not_be_wrapped() -> None:
    trajectory = run(by_stage(parameters='{"input": [1, 2]}'))
    assert [call.result for call in trajectory.calls] == [2, -1]


def test_results_are_normalised_unless_asked() -> None:
    reply = by_stage(tasks='{"Tasks": ["a"]}', tool='{"Tool": "divide_"}', parameters='{"input": [91, 20349]}')
    assert run(reply).calls[0].result == 0.0045
    assert run(reply, replace(OPTIONS, rounded=False)).calls[0].result == 91 / 20349


@pytest.mark.parametrize('said', ['no idea', '{"Tasks": "one"}', '{"Tasks": []}', '{"Tasks": [1, {}]}', ''])
def test_without_subtasks_the_question_is_the_only_one(said: str) -> None:
    trajectory = run(by_stage(tasks=said))
    assert len(trajectory.calls) == 1
    assert f'Current subtask: {RECORD.question}' in trajectory.rounds[1]['asked']


@pytest.mark.parametrize('reply', [by_stage(tasks=json.dumps({'Tasks': ['more'] * 500}))])
def test_twenty_calls_at_most(reply: Callable[[Turn], str]) -> None:
    trajectory = run(reply)
    assert (len(trajectory.calls), trajectory.stopped) == (20, 'step:too_many')
    assert trajectory.answer == 'Answer: 258'  # from what there is
    failing = run(by_stage(tasks=json.dumps({'Tasks': ['more'] * 500}), tool='x'))
    assert (len(failing.calls), failing.stopped) == (20, 'step:too_many')
    assert len(run(reply, replace(OPTIONS, max_steps=5)).calls) == 5
    wrong = score_trajectory(RECORD, run(by_stage(tasks=json.dumps({'Tasks': ['more'] * 500}), answer='Answer: 1')))
    assert (wrong.values['accuracy'], wrong.reason) == (0, 'step:too_many')


HOSTILE = [
    "__import__('os').system('touch pwned')",
    '{"Tool": "__import__(\'os\').system(\'touch pwned\')"}',
    '{"Parameters": {"input": [__import__("os").system("touch pwned")]}}',
    '{"Parameters": {"input": [9**9**9**9]}}',
    '{"Tool": "power_", "Parameters": {"input": [9, 9, 9, 9, 9, 9, 9, 9]}}',
    '{"Tool": "power_", "Parameters": {"input": [9, ' + '9' * 3000 + ']}}',
    '{"Parameters": {"input": ' + '[' * 100_000 + ']' * 100_000 + '}}',
    '{"Parameters": ' * 20_000,
    '{"Parameters": {"input": [NaN, Infinity, 1e999]}}',
    '{"Parameters": {"input": [0x' + 'f' * 150_000 + ']}}',
    '{"Tasks": ["' + 'x' * 190_000 + '"]}',
    '{"Tasks": [' + '"{0.__class__}", ' * 10_000 + '"a"]}',
    '{question} {0} {done.__class__} %s',
    '\x00\ud83d\u2028',
    '<think>' * 20_000,
]


@pytest.mark.parametrize('text', HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_answers_are_errors_within_a_second(text: str, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    start = time.perf_counter()
    trajectory = run(lambda turn: text)
    assert trajectory.calls and len(trajectory.calls) <= 20
    assert parse_trajectory(trajectory.to_json()).calls == trajectory.calls
    assert score_trajectory(RECORD, trajectory).values['accuracy'] == 0
    assert time.perf_counter() - start < len(trajectory.rounds)
    assert not list(tmp_path.iterdir())
    assert all(call.error for call in trajectory.calls)
    longest = max(len(said['asked']) for said in trajectory.rounds)
    assert longest < 5_000 + 25 * MAX_SHOWN * 2
