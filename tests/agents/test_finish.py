"""Calls of ``Finish``, also malformed ones, and functions of names, as in ToolBench's runner."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.dfsdt import DepthFirstSearch, ToolBenchReAct
from opencompass_tooleval.agents.loops.finish import UNREADABLE, read_finish, told_user
from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.agents.loops.loops import Loop
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import make_call
from opencompass_tooleval.core.calls.trajectory import GAVE_UP
from tests.agents.support import drive, talk
from tests.agents.test_toolbench_published_runs import session, task
from tests.instructions.shared_data import expected
from tests.official import Recorder

LOOPS: list[Loop] = [DepthFirstSearch(), ToolBenchReAct(), FunctionCalling(stop_on='tool')]
GIVEN_UP = Answer('', calls=(make_call('Finish', '{"return_type": "give_up_and_restart"}'),))
CODES = {'': 3, GAVE_UP: 4, UNREADABLE: 'raises'}


def steps(kind: str) -> list[dict[str, Any]]:
    every = json.loads(expected('toolbench/steps.json').read_text(encoding='utf-8'))['steps']
    return [step for step in every if step['case'].startswith('function ') == (kind == 'function')]


@pytest.mark.official('ToolBench', 'calls of Finish with imperfect arguments')
@pytest.mark.parametrize('loop', LOOPS, ids=lambda loop: type(loop).__name__)
def test_finish_comes_to_what_it_came_to(loop: Any, record_property: Recorder) -> None:
    record_property('cases', len(steps('finish')))
    for step in steps('finish'):
        call = make_call('Finish', step['arguments'])
        trajectory, requests = drive(loop, Answer('', calls=(call,)), GIVEN_UP)
        finish = read_finish(call.arguments, written=call.written)
        assert (CODES[finish.stopped] if finish.is_end else 2) == step['code'], step['case']
        assert (len(requests) == 1) == finish.is_end
        told = trajectory.steps[0].calls[0].observation
        assert told == ('' if step['code'] == 'raises' else step['observation']), step['case']
        assert trajectory.stopped == (finish.stopped if finish.is_end else GAVE_UP)
        if not finish.is_end:
            assert requests[1].messages[-1].content == told


@pytest.mark.official('ToolBench', 'names that match a function by their end')
@pytest.mark.parametrize('name', ['dfsdt', 'toolbench_react'])
def test_a_name_calls_the_first_function_that_ends_in_it(name: str, record_property: Recorder) -> None:
    record_property('cases', len(steps('function')))
    loop = DepthFirstSearch() if name == 'dfsdt' else ToolBenchReAct()
    offered = task()
    done = Answer('', calls=(make_call('Finish', '{"return_type": "give_answer", "final_answer": "x"}'),))
    for step in steps('function'):
        called = Answer('', calls=(make_call(step['name'], step['arguments']),))
        answers = [called, done]
        trajectory, _ = talk(loop, lambda _, number: answers[number], offered, session(offered))  # noqa: B023
        (call,) = trajectory.calls
        assert call.name == step['name']
        assert call.observation.startswith(step['observation']), step['case']
        assert (call.fault == 'unknown_tool') == (step['code'] == 1)


@pytest.mark.parametrize('name', ['h', 'inish'])
def test_the_end_of_finish_stops_the_run(name: str) -> None:
    call = make_call(name, '{"return_type": "give_answer", "final_answer": "x"}')
    trajectory, requests = drive(DepthFirstSearch(), Answer('', calls=(call,)))
    assert (trajectory.stopped, trajectory.final_answer, len(requests), trajectory.calls) == (UNREADABLE, '', 1, ())
    assert trajectory.steps[0].calls[0].name == name


@pytest.mark.parametrize(
    ('written', 'told'),
    [
        ('{"return_type": "give_answer", "final_answer": "a\nb"}', 'a\nb'),
        ('{"return_type":"give_answer","final_answer":"say \\"a\\"\nb"}', 'say "a"\nb'),  # no search finds it
        ('{"return_type": "give_answer", "final_answer": "the "best" film"}', 'the "best" film'),
        ('{"return_type": "give_answer", "final_answer": "the be', 'the be'),
        ('{"return_type": "give_answer", "final_answer": "x",}', 'x'),
        ('Sure: {"return_type": "give_answer", "final_answer": "x"}\n', 'x'),
        ('{"return_type": "give_answer", "final_answer": ""}', ''),
        ('{"return_type": "give_answer", "final_answer": {"a": 1}}', '{"a": 1}'),
        ('{"final_answer": "x", "return_type": "give_answer" and more', 'x", "return_type": "give_answer" and more'),
    ],
)
def test_what_the_user_is_told(written: str, told: str) -> None:
    finish = read_finish(written)
    assert (finish.is_answer, finish.final_answer) == (True, told)
    assert told_user(written) == told


@pytest.mark.parametrize(
    'text', ['Delft.', '{"country": "Holland"}', '[1]', '{"return_type": "give_up_and_restart"}', '{' * 100_000]
)
def test_what_is_no_finish_with_an_answer_is_told_itself(text: str) -> None:
    assert told_user(text) == text


@pytest.mark.parametrize('written', ['[1]', 'null', '"{\\"return_type\\": \\"give_answer\\"}"', 'NaN'])
def test_json_that_is_no_object_stops_the_run(written: str) -> None:
    call = make_call('Finish', written)
    for loop in LOOPS:
        trajectory, requests = drive(loop, Answer('', calls=(call,)))
        assert (trajectory.stopped, trajectory.final_answer, len(requests)) == (UNREADABLE, '', 1)


def test_a_text_that_means_ill_is_read_in_no_time() -> None:
    for text in ('{"final_answer": "' + ' }' * 200_000, '[' * 200_000, '"return_type": "' * 20_000, '9' * 100_000):
        assert isinstance(read_finish(text).is_end, bool)
