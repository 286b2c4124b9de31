"""Trajectories to scores: tolerance, error accounting, and what is no trajectory."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from opencompass_tooleval.core.aggregate import aggregate
from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.easytool.funcqa.records import TABLE
from opencompass_tooleval.easytool.funcqa.scoring import breakdown, score_predictions, score_trajectory
from opencompass_tooleval.easytool.funcqa.trajectory import ToolCall, Trajectory
from tests.easytool.funcqa.support import RECORD

FINE = ToolCall('add_', {'input': [1]}, 1)
NAME = ToolCall('plus', None, None, 'tool:unknown_name')
ARGS = ToolCall('add_', {'input': 1}, None, 'args:not_a_list')


def trajectory(answer: str, *calls: ToolCall, method: str = 'easytool', stopped: str = '') -> Trajectory:
    return Trajectory(method, calls, answer, ({'asked': 'q', 'answer': answer},), stopped)


TOLERANCE = [
    (258, '258', 1),
    (258, '258.258', 1),
    (258, '258.2581', 0),
    (258, '257.742', 1),
    (258, '257.7419', 0),
    (258, '-258', 0),
    (258, '2.58e2', 1),
    (0.1, '0.1001', 1),
    (0.1, '0.10011', 0),
    (-3.4881, '-3.4881', 1),
    (-3.4881, '3.4881', 0),
    (0, '0.001', 1),
    (0, '0.0011', 0),
    (0.1607, '16.07%', 1),
    (3.23, '3.23%', 1),
    (0.1607, '16.07', 0),
    (0.0045, '91/20349', 0),
    (1235591280, '1,235,591,280', 1),
]


@pytest.mark.parametrize(('gold', 'said', 'right'), TOLERANCE, ids=range(len(TOLERANCE)))
def test_tolerance(gold: float, said: str, right: int) -> None:
    score = score_trajectory(replace(RECORD, answer=gold), trajectory(f'Answer: {said}'))
    assert score.values['accuracy'] == right
    assert score.reason == ('ok' if right else 'answer:wrong_number')


ACCOUNTS = [
    ('Answer: 258', (FINE,), (1, 0, 0, 0), 'ok'),
    ('Answer: 258', (NAME, FINE), (1, 1, 1, 0), 'tool:unknown_name'),
    ('Answer: 258', (FINE, ARGS, FINE), (1, 1, 0, 1), 'args:not_a_list'),
    ('Answer: 258', (ARGS, NAME, NAME), (1, 1, 1, 1), 'args:not_a_list'),
    ('Answer: 1', (NAME,), (0, 1, 1, 0), 'tool:unknown_name'),
    ('Answer: 1', (FINE,), (0, 0, 0, 0), 'answer:wrong_number'),
    ('I give up.', (FINE,), (0, 0, 0, 0), 'answer:no_number'),
    ('', (FINE,), (0, 0, 0, 0), 'answer:empty'),
]


@pytest.mark.parametrize(('answer', 'calls', 'values', 'reason'), ACCOUNTS, ids=range(len(ACCOUNTS)))
def test_accounts(answer: str, calls: tuple[ToolCall, ...], values: tuple[int, ...], reason: str) -> None:
    score = score_trajectory(RECORD, trajectory(answer, *calls))
    assert (tuple(score.values.values()), score.reason) == (values, reason)
    assert tuple(score.values) == TABLE[0].metrics
    detail = score.to_detail()
    assert detail['trajectory']['calls'][0]['name'] == calls[0].name
    assert detail['gold'] == '258' and json.loads(json.dumps(detail)) == detail


def test_methods_without_tools_have_no_error_rates() -> None:
    score = score_trajectory(RECORD, trajectory('Answer: 258', method='cot'))
    assert score.values == {
        'accuracy': 1,
        'tool_error_rate': None,
        'tool_name_error_rate': None,
        'parameter_error_rate': None,
    }
    assert aggregate([score], TABLE[0].metrics).metrics['tool_error_rate'] is None


def test_steps_that_ran_out_are_the_reason_of_a_wrong_answer() -> None:
    assert score_trajectory(RECORD, trajectory('', FINE, stopped='step:too_many')).reason == 'step:too_many'
    assert score_trajectory(RECORD, trajectory('258', FINE, stopped='step:too_many')).reason == 'ok'


def test_the_denominator_is_all_questions() -> None:
    predictions = [
        trajectory('258', FINE).to_json(),
        trajectory('258', NAME, FINE).to_json(),
        trajectory('7', ARGS).to_json(),
        Answer('', 'infra:timeout'),
    ]
    scores = score_predictions([replace(RECORD, id=str(number)) for number in range(4)], predictions)
    total = aggregate(scores, TABLE[0].metrics)
    assert list(total.metrics.values()) == [50, 50, 25, 25]
    assert total.reasons == {'args:not_a_list': 1, 'infra:timeout': 1, 'ok': 1, 'tool:unknown_name': 1}
    assert total.infra == 1
    said = breakdown(scores)
    assert said['tool_calls'] == {'all': 4, 'failed': 2}
    assert said['tool_errors'] == {'tool:unknown_name': 1, 'args:not_a_list': 1}
    assert said['tools'] == {'add_': 3} and said['rounds'] == 3 and said['methods'] == {'easytool': 3}


def test_without_any_answer_nothing_is_full_marks() -> None:
    (score,) = score_predictions([RECORD], [Answer('', 'infra:server')])
    assert (score.values['accuracy'], score.reason, score.trajectory) == (0, 'infra:server', None)


@pytest.mark.parametrize('text', ['', '258', '{}', '[]', '{"calls": 5}', '{"calls": [{}], "rounds": []}', '[' * 10**5])
def test_what_is_no_trajectory_is_a_fault_and_no_zero(text: str) -> None:
    with pytest.raises(ValueError, match="question '7': this is no trajectory"):
        score_predictions([RECORD], [text])


def test_counts_must_agree() -> None:
    with pytest.raises(ValueError, match='1 records, but 0 predictions'):
        score_predictions([RECORD], [])
