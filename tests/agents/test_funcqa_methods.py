"""Zero-shot, CoT, EasyTool and native calls as dialogues: requests, calls, and faults of models."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from opencompass_tooleval.agents.loops import easytool_prompts
from opencompass_tooleval.agents.loops.easytool import MAX_FIELD
from opencompass_tooleval.agents.loops.funcqa import METHODS, FuncQADialogues
from opencompass_tooleval.benchmarks.funcqa import prompts
from opencompass_tooleval.benchmarks.funcqa.data import TABLE, Record, load_records
from opencompass_tooleval.benchmarks.funcqa.scoring import score_trajectory
from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.calls.dialogue import ModelRequest
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory
from tests.agents.support import PRODUCT, REST, calling, oracle
from tests.benchmarks.funcqa.funcqa_script import stage_of
from tests.benchmarks.funcqa.support import INSTRUCTIONS, RECORD, begin, by_stage, drive
from tests.instructions.shared_data import expected, real
from tests.run_alone import run_alone

ONE_HOP = replace(RECORD, subset='one_hop', steps=RECORD.steps[:1], answer=300)

TASKS = json.dumps({'Tasks': ['multiply', 'subtract']})
ORDER = json.dumps([{'task': 'multiply', 'id': 1, 'dep': -1}, {'task': 'subtract', 'id': 2, 'dep': [1]}])


def run(reply: Callable[[ModelRequest], Answer | str], record: Record = RECORD, **options: Any) -> Trajectory:
    return drive(begin('easytool', record, **options), reply)


def stages(trajectory: Trajectory) -> list[str]:
    return [stage_of(entry.asked) for entry in trajectory.steps]


def in_turn(stage: str, *answers: str) -> Callable[[ModelRequest], str]:
    rest: Iterator[str] = iter(answers)

    def reply(request: ModelRequest) -> str:
        return next(rest, request.gold) if stage_of(request.messages[-1].content) == stage else request.gold

    return reply


@pytest.mark.parametrize('method', METHODS)
@pytest.mark.parametrize('subset', TABLE, ids=lambda subset: subset.name)
@pytest.mark.parametrize('answers', ['official', 'repaired'])
def test_a_perfect_model_scores_100(method: str, subset: Any, answers: str) -> None:
    """On the published records; tests of the adapter do the same with the demo's."""
    if method == 'react':
        pytest.importorskip('lagent', reason="lagent is absent: pip install 'opencompass-tooleval[agent]'")
    file = real(f'funcqa/{subset.file}')
    dialogues = FuncQADialogues(method, str(real('easytool/functions_data.json')))
    for record in load_records(file, subset.name, answers):
        trajectory = drive(dialogues.begin(record), oracle)
        score = score_trajectory(record, trajectory)
        assert (score.values['accuracy'], score.values['strict_accuracy'], score.reason) == (1, 1, 'ok'), record
        assert [call.name for call in trajectory.calls] == (
            [step.tool for step in record.steps] if method not in ('zero_shot', 'cot') else []
        )


def test_prompts_are_the_published_ones_byte_for_byte() -> None:
    published = json.loads(expected('easytool/prompts.json').read_text('utf-8'))['funcQA']
    assert len(published) == 10 and published.pop('answer_generation_direct')  # which no FuncQA run asks
    for name, (system, prompt) in published.items():
        of_toolbench_too = getattr(easytool_prompts, name.upper(), None)
        assert (system, prompt) == (easytool_prompts.SYSTEM, getattr(prompts, name.upper(), of_toolbench_too))


def test_prompts_have_the_published_digest() -> None:
    """The comparison above needs the published prompts; this needs nothing."""
    ours = {'ZERO_SHOT', 'COT', 'FUNCTION_CALLING', 'CALLING_FORMS', 'DEMONSTRATIONS'}
    texts = [
        text
        for module in (easytool_prompts, prompts)
        for name, text in sorted(vars(module).items())
        if name.isupper() and name not in ours and not name.startswith('REACT_')
    ]
    assert hashlib.sha256('\0'.join(texts).encode()).hexdigest()[:16] == '8a6b60a41f8e5338'


def test_what_is_filled_in_is_pythons_text_of_lists_and_dicts() -> None:
    def reply(request: ModelRequest) -> str:
        stage = stage_of(request.messages[-1].content)
        return {'tasks': TASKS, 'order': ORDER, 'task_answer': 'It is 300.'}.get(stage, request.gold)

    asked = [entry.asked for entry in run(reply).steps]
    tools = [{'ID': tool.id, 'description': tool.description} for tool in INSTRUCTIONS.values()]
    usage = "{'required_parameters': [{'name': 'input', 'type': 'List'}], 'Example': "
    log = (
        f"{{'Original Question': '{RECORD.question}', 1: {{'task': 'multiply', 'answer': 'It is 300.'}}, "
        "2: {'task': 'subtract', 'answer': ''}}"
    )
    assert f'This is tool list:\n{[str(tool) for tool in tools]}\nPlease' in asked[0]
    subtasks = "[{'task': 'multiply', 'id': 1}, {'task': 'subtract', 'id': 2}]\n"
    assert f'These are subtasks of this question:\n{subtasks}' in asked[1]
    assert "This is the user's question: multiply\n" in asked[2] and f'Tool List:\n{tools}\n\nPlease' in asked[2]
    assert "'multiply', 'answer': ''" in asked[3] and f'This is API tool documentation: {usage}' in asked[3]
    assert log in asked[6] and log in asked[7]
    assert 'output by the API tool: \n300\nWe will' in asked[4]
    summary = "[{'task': 'multiply', 'answer': 'It is 300.'}, {'task': 'subtract', 'answer': 'It is 300.'}]\n"
    assert f'These are subtasks and their answers: {summary}Final answer:' in asked[8]
    assert 'This is the response: Answer: 258\n' in asked[9]


def test_a_trajectory_keeps_everything_and_comes_back() -> None:
    trajectory = run(oracle)
    assert [(call.name, call.arguments, call.observation) for call in trajectory.calls] == [
        ('multiply_', {'input': [12, 25]}, '300'),
        ('subtract_', {'input': [300, 42]}, '258'),
    ]
    task = ['tool', 'parameters', 'task_answer']
    assert stages(trajectory) == ['tasks', 'order', *task, *task, 'final', 'check']
    assert (trajectory.final_answer, trajectory.check, trajectory.stopped) == ('Answer: 258', 'yes', '')
    assert trajectory.tasks[0] == {'task': 'Use multiply_.', 'answer': 'Answer: 258', 'done': True, 'tries': 1}
    limits, instructions = {'max_tries': 5, 'max_requests': 12, 'max_calls': 100}, trajectory.settings['instructions']
    assert trajectory.settings == {**limits, 'reading': 'official', 'rounded': True, 'instructions': instructions}
    assert parse_trajectory(trajectory.to_json()) == trajectory


def test_one_hop_is_not_decomposed_and_has_no_log() -> None:
    trajectory = run(oracle, record=ONE_HOP)
    assert stages(trajectory) == ['tool', 'parameters', 'task_answer', 'final', 'check']
    assert not any('Original Question' in entry.asked for entry in trajectory.steps)
    assert trajectory.steps[1].asked.startswith('This is an API tool documentation.')
    assert [task['task'] for task in trajectory.tasks] == [RECORD.question]


def test_the_answer_of_one_round_methods_is_the_text() -> None:
    for method in ('zero_shot', 'cot'):
        trajectory = run_alone(begin(method), ['<think>258?</think>So 12 * 25 - 42 = 258.'])
        assert (trajectory.final_answer, trajectory.calls) == ('So 12 * 25 - 42 = 258.', ())
        assert trajectory.steps[0].text.startswith('<think>')
    cot, zero_shot = (run_alone(begin(name), ['']).steps[0] for name in ('cot', 'zero_shot'))
    assert 'step by step' in cot.asked and 'step by step' not in zero_shot.asked


@pytest.mark.parametrize('stage', ['tasks', 'order', 'tool', 'parameters'])
def test_a_reply_that_does_not_parse_is_asked_again(stage: str) -> None:
    trajectory = run(in_turn(stage, *['I cannot.'] * 11))
    assert (trajectory.final_answer, trajectory.stopped) == ('Answer: 258', '')
    assert stages(trajectory).count(stage) == 11 + (1 if stage in ('tasks', 'order') else 2)
    assert [call.error or '' for call in trajectory.calls] == ['', '']


STOPS = [
    ({'tasks': 'no'}, 'plan:no_tasks', 12),
    ({'order': 'no'}, 'plan:no_order', 13),
    ({'order': '[{"task": "a", "id": 1, "dep": []}]'}, 'plan:no_order', 13),
    ({'order': '[{"task": "a", "id": [1], "dep": -1}]'}, 'plan:no_order', 2),
    ({'tool': '5'}, 'parse:no_choice', 3),
    ({'tool': '{"ID": 13}'}, 'name:unknown_tool', 3),
    ({'parameters': '{"Parameters": [12, 25]}'}, 'args:not_an_object', 4),
]


@pytest.mark.parametrize(('answers', 'reason', 'rounds'), STOPS, ids=range(len(STOPS)))
def test_what_stops_the_published_run_is_wrong_and_says_why(answers: dict[str, str], reason: str, rounds: int) -> None:
    trajectory = run(by_stage(**answers))
    assert (trajectory.stopped, trajectory.final_answer, trajectory.check) == (reason, '', '')
    assert len(trajectory.steps) == rounds
    score = score_trajectory(RECORD, trajectory)
    assert (score.values['accuracy'], score.reason) == (0, reason)
    assert score.values['tool_error_rate'] == float(reason.startswith(('name:', 'args:')))


FAILING = [
    ({'tool': '-1'}, None),
    ({'parameters': 'twelve, 25'}, 'args:unreadable'),
    ({'parameters': '{"Parameters": {"input": ["12", "25"]}}'}, 'args:not_a_number'),
    ({'parameters': '{"Parameters": []}'}, None),
    ({'parameters': '{"Parameters": {"input": [-1]}}'}, ''),
]


@pytest.mark.parametrize(('answers', 'error'), FAILING, ids=range(len(FAILING)))
def test_a_failing_task_is_tried_five_times_and_the_method_goes_on(answers: dict[str, str], error: str | None) -> None:
    trajectory = run(by_stage(**answers))
    assert [call.error or '' for call in trajectory.calls] == ([] if error is None else [error] * 10)
    assert [(task['done'], task['tries']) for task in trajectory.tasks] == [(False, 5)] * 2
    assert stages(trajectory).count('task_answer') == 10
    assert 'These are subtasks and their answers: []\n' in trajectory.steps[-2].asked
    assert "'answer': 'Answer: 258" in trajectory.steps[-3].asked  # the last of the failed tries is in the log
    wrong = score_trajectory(replace(RECORD, answer=1), trajectory)
    assert wrong.reason == (error or 'step:no_result') and wrong.values['tool_error_rate'] == bool(error)


def test_a_list_of_parameters_is_several_calls_and_a_failed_try_leads_back_to_the_choice_of_a_tool() -> None:
    listed = '{"Parameters": [{"input": [1, 2]}, {"input": ["x"]}, {"input": [3, 4]}]}'
    trajectory = run(in_turn('parameters', listed))
    assert [call.error or '' for call in trajectory.calls] == ['', 'args:not_a_number', '', '']
    assert 'output by the API tool: \n2\n\n12\nWe will' in trajectory.steps[4].asked and trajectory.tasks[0]['done']
    trajectory = run(in_turn('parameters', '{"Parameters": {"input": ["12"]}}'))
    assert stages(trajectory)[2:8] == ['tool', 'parameters', 'task_answer'] * 2
    assert 'output by the API tool: \n\nWe will' in trajectory.steps[4].asked
    assert [call.error or '' for call in trajectory.calls] == ['args:not_a_number', '', '']
    assert trajectory.tasks[0]['tries'] == 2


def test_the_tasks_are_those_of_the_topology_in_its_order() -> None:
    order = [{'task': 'second', 'id': 'b', 'dep': '1, 2'}, {'task': 'first', 'id': 'a', 'dep': -1, 'more': 1}]
    trajectory = run(by_stage(order=repr(order)))
    assert [task['task'] for task in trajectory.tasks] == ['second', 'first']
    shown = trajectory.steps[3].asked.partition('answers: \n ')[2].partition('\n')[0]
    assert list(ast.literal_eval(shown)) == ['Original Question', 'b', 'a']


def test_a_result_is_cut_at_5000_characters_and_rounded_unless_asked() -> None:
    many = json.dumps({'Parameters': [{'input': [10**300]}] * 90})
    trajectory = run(in_turn('parameters', many), max_calls=1_000)
    assert len(trajectory.steps[4].asked.partition('output by the API tool: \n')[2].partition('\nWe will')[0]) == 5_000
    reply = by_stage(tool='{"ID": 3}', parameters='{"Parameters": {"input": [91, 20349]}}')
    assert [run(reply, rounded=r).calls[0].observation for r in (True, False)] == ['0.0045', str(91 / 20349)]


@pytest.mark.parametrize(('answer', 'check'), [('{"Choice": "No"}', 'no'), ('{"Choice": 1}', 'unreadable')])
def test_the_check_is_recorded_and_decides_nothing(answer: str, check: str) -> None:
    trajectory = run(by_stage(check=answer))
    assert trajectory.check == check
    assert score_trajectory(RECORD, trajectory).reason == 'ok'


def test_a_hundred_calls_at_most() -> None:
    tasks = json.dumps([{'task': 'more', 'id': n, 'dep': -1} for n in range(101)])
    assert run(by_stage(order=tasks)).stopped == 'limit:steps'
    endless = run(by_stage(parameters=json.dumps({'Parameters': [{'input': [1]}] * 10_000})))
    assert (len(endless.calls), endless.stopped) == (100, 'limit:steps')
    tasks = json.dumps([{'task': 'more', 'id': n, 'dep': -1} for n in range(30)])
    failing = run(by_stage(order=tasks, tool='-1'))
    assert (failing.stopped, stages(failing).count('task_answer')) == ('limit:steps', 100)
    assert len(run(by_stage(order=tasks), max_calls=5).calls) == 0


def test_strict_reading_finds_the_object_among_words() -> None:
    fenced = {
        'tasks': f'Sure:\n\n```json\n{TASKS}\n```',
        'order': f'```json\n{ORDER}\n```',
        'tool': 'I choose (of course)\n```json\n{"ID": 2}\n```',
        'parameters': 'Here: {"Parameters": {"input": [6, 7]}}',
    }
    trajectory = run(by_stage(**fenced), reading='strict')
    assert [call.observation for call in trajectory.calls] == ['42', '42'] and not trajectory.stopped
    assert len(trajectory.steps) == 10 and trajectory.settings['reading'] == 'strict'
    assert run(by_stage(**fenced)).stopped == 'plan:no_tasks'
    assert run(by_stage(tool='no'), reading='strict').tasks[0]['tries'] == 5


HOSTILE = [
    "__import__('os').system('touch pwned')",
    '{"ID": "__import__(\'os\').system(\'touch pwned\')"}',
    '{"Tasks": ["a"], "ID": 2, "Parameters": {"input": [__import__("os").system("touch pwned")]}}',
    '{"Tasks": ["a"], "ID": 4, "Parameters": {"input": [9, 9, 9, 9, 9, 9, 9, 9]}}',
    '{"Tasks": ["a"], "ID": 4, "Parameters": {"input": [9, ' + '9' * 3000 + ']}}',
    '{"ID": 2, "Parameters": {"input": ' + '[' * 10_000 + ']' * 10_000 + '}}',
    '{"ID": 0, "Parameters": {"input": [0x' + 'f' * 15_000 + ']}}',
    '{"ID": 0, "Parameters": {"input": [' + '1+' * 2_000 + '1]}}',
    '{"Tasks": ["' + 'x' * 190_000 + '"]}',
    '{"Tasks": [' + '"{0.__class__}", ' * 1_000 + '"a"]}',
    '{question} {0} {done.__class__} %s',
    '\x00\ud83d\u2028',
    '<think>' * 2_000,
]


def said(text: str, request: ModelRequest) -> str:
    return text


@pytest.mark.parametrize(('record', 'reading'), [(RECORD, 'official'), (ONE_HOP, 'strict')], ids=['official', 'strict'])
def test_hostile_answers_are_errors(reading: str, record: Record, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    for text in HOSTILE:
        trajectory = run(partial(said, text), record, reading=reading, max_requests=2)
        assert parse_trajectory(trajectory.to_json()).calls == trajectory.calls
        assert score_trajectory(record, trajectory).values['strict_accuracy'] == 0
        assert all(call.error for call in trajectory.calls)
        assert max(len(entry.asked) for entry in trajectory.steps) < 5_000 + 3 * MAX_FIELD
    task = {'task': 'x' * 150_000, 'id': 'y' * 20_000, 'dep': -1}
    trajectory = run(by_stage(order=json.dumps([task])), reading=reading)
    assert max(len(entry.asked) for entry in trajectory.steps) < 5_000 + 3 * MAX_FIELD
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize('method', [method for method in METHODS if method != 'react'])
def test_unfinished_thoughts_have_one_reason(method: str) -> None:
    trajectory = drive(begin(method), lambda request: '<|channel|>analysis<|message|>hm')
    assert score_trajectory(RECORD, parse_trajectory(trajectory.to_json())).reason == 'answer:truncated_reasoning'


# Native calls; what the loop does otherwise is in test_function_calling.py


def in_turns(*answers: Answer, **options: Any) -> tuple[Trajectory, list[ModelRequest]]:
    """What comes of answers, and what was asked; the last is repeated as long as anything is asked."""
    dialogue = begin('function_calling', **options)
    requests = [next(dialogue)]
    while True:
        try:
            requests.append(dialogue.send(as_answer(answers[min(len(requests), len(answers)) - 1])))
        except StopIteration as end:
            return end.value, requests


def test_steps_and_calls_are_bounded_and_errors_counted() -> None:
    trajectory, requests = in_turns(calling(PRODUCT), max_steps=3)
    assert (len(requests), len(trajectory.calls), trajectory.stopped) == (3, 3, 'limit:steps')
    trajectory, requests = in_turns(calling(PRODUCT, REST), max_calls=5)
    assert (len(requests), len(trajectory.calls), trajectory.stopped) == (3, 4, 'limit:steps')
    assert score_trajectory(RECORD, trajectory).reason == 'limit:steps'
    trajectory, _ = in_turns(calling(PRODUCT, ('sqrt_', '{"in'), ('root', {}), REST), Answer('Answer: 258'))
    assert [call.error or '' for call in trajectory.calls] == ['', 'args:not_an_object', 'name:unknown_tool', '']
    score = score_trajectory(RECORD, trajectory)
    assert (score.values['accuracy'], score.values['tool_error_rate'], score.reason) == (1, 1, 'args:not_an_object')
