"""Numbers in answers, and trajectories to scores: tolerance, counts of errors, and texts that are no trajectory."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from opencompass_tooleval.benchmarks.funcqa.data import TABLE, refused
from opencompass_tooleval.benchmarks.funcqa.reading import read_number
from opencompass_tooleval.benchmarks.funcqa.scoring import FuncQAScorer, score_predictions, score_trajectory
from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.calls.observation import FUNCTION
from opencompass_tooleval.core.calls.one_call import METHOD
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.scoring.aggregate import aggregate
from tests.benchmarks.funcqa.support import RECORD

NUMBERS = [
    ('Answer: 36', '36'),
    ('**Answer:** 36.50\nRounded to 2 digits.', '36.5'),
    ('Answer: the area is\n\n1,234,567.89 dollars', '1234567.89'),
    ('First answer: 5. No: the answer is 7.', '7'),
    ('The volume is 43.57 cm^{3}', '43.57'),
    ('It takes 5km', '5'),
    ('x1 and H2O', None),
    ('So x = \u22123.5.', '-3.5'),
    ('-$5', '-5'),
    ('7-3', '3'),
    ('.5', '1/2'),
    ('91/20349', '91/20349'),
    ('2.8 \u00d7 10^{-5}', '0.000028'),
    ('2.8 \u00d7 10\u207b\u2075', '0.000028'),
    ('1.2345e\u22123', '0.0012345'),
    ('\\frac{91}{20349}', '91/20349'),
    ('$\\dfrac{1}{0}$', '1'),
    ('1\u202f234\u202f567', '1234567'),
    ('an area of 10 cm\u00b2', '10'),
    ('\\boxed{36}', '36'),
    ('\u7b54\u6848\u662f36', '36'),
    ('<think>Is it 5?</think>It is 6', '6'),
    ('12,3456', '3456'),
]


@pytest.mark.parametrize(('text', 'number'), NUMBERS, ids=range(len(NUMBERS)))
def test_numbers(text: str, number: str | None) -> None:
    read = read_number(text)
    assert read.value == (None if number is None else Fraction(number))
    assert read.reason == ('answer:no_number' if number is None else '')


def test_percent() -> None:
    assert read_number('16.07%').percent and read_number('16.07 \\%').percent
    assert not read_number('16.07 of 100').percent


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('', 'answer:empty'),
        ('<think>It is 5', 'answer:truncated_reasoning'),
        ('9' * 1000, 'parse:huge_number'),
        ('9' * 300_000, 'answer:too_long'),
    ],
)
def test_nothing_to_read(text: str, reason: str) -> None:
    assert (read_number(text).value, read_number(text).reason) == (None, reason)


FINE = AnsweredCall('add_', {'input': [1]}, '1', FUNCTION)
NAME = AnsweredCall.of('plus', None, refused('name:unknown_tool'))
ARGS = AnsweredCall.of('add_', {'input': 1}, refused('args:not_a_list'))
UNREAD = AnsweredCall.of('', 'well', refused('tool:unreadable'))


def trajectory(answer: str, *calls: AnsweredCall, method: str = 'easytool', stopped: str = '') -> Trajectory:
    return Trajectory(method, (Step(answer, calls, asked='q'),), answer, stopped, (0,))


TOLERANCE = [
    (258, '258', 1),
    (258, '257.742', 1),
    (258, '257.7419', 0),
    (258, '-258', 0),
    (0.1, '0.1001', 1),
    (0.1, '0.10011', 0),
    (-3.4881, '3.4881', 0),
    (0, '0.001', 1),
    (0.1607, '16.07%', 1),
    (3.23, '3.23%', 1),
    (0.1607, '16.07', 0),
    (0.0045, '91/20349', 0),
]


@pytest.mark.parametrize(('gold', 'answer', 'right'), TOLERANCE, ids=range(len(TOLERANCE)))
def test_tolerance(gold: float, answer: str, right: int) -> None:
    for method in ('react', 'easytool'):
        score = score_trajectory(replace(RECORD, answer=gold), trajectory(f'Answer: {answer}', method=method))
        assert score.values['strict_accuracy'] == right
    score = score_trajectory(replace(RECORD, answer=gold), trajectory(f'Answer: {answer}', method='react'))
    assert score.values['accuracy'] == right
    assert score.reason == ('ok' if right else 'answer:wrong_number')


LABELLED = [
    (0.1685, 'It is 0.17.', 1, 0, 'answer:another_number', '0.17'),
    (258, 'Of 300 pears 258 are left when 42 are sold.', 1, 0, 'answer:another_number', '258'),
    (258, '300, 257.742, 42', 1, 0, 'answer:another_number', '257.742'),
    (0.000028, 'It is 2.81 x 10^-5.', 0, 0, 'answer:wrong_number', '0.0000281'),
    (-1.2345, 'log(x) = -1.23', 1, 0, 'answer:another_number', '-1.23'),
    (258, 'I do not know.', 0, 0, 'answer:no_number', None),
    (258, '<think>258</think>I do not know.', 0, 0, 'answer:no_number', None),
]


@pytest.mark.parametrize(('gold', 'answer', 'right', 'strict', 'reason', 'parsed'), LABELLED, ids=range(len(LABELLED)))
def test_the_rule_of_the_published_labels(
    gold: float, answer: str, right: int, strict: int, reason: str, parsed: str | None
) -> None:
    score = score_trajectory(replace(RECORD, answer=gold), trajectory(answer))
    assert (score.values['accuracy'], score.values['strict_accuracy'], score.reason) == (right, strict, reason)
    assert score.parsed == parsed
    for method in ('react', 'cot', 'zero_shot'):  # it rewards listing many numbers
        other = score_trajectory(replace(RECORD, answer=gold), trajectory(answer, method=method))
        assert other.values['accuracy'] == other.values['strict_accuracy'] == strict


def test_an_answer_that_names_no_tool_is_no_tool_related_error() -> None:
    """The same unreadable model was 100 by the method EasyTool and 0 by ReAct."""
    unread = [score_trajectory(RECORD, trajectory('', UNREAD, UNREAD, method=name)) for name in ('easytool', 'react')]
    assert [list(score.values.values()) for score in unread] == [[0, 0, 0, 0, 0]] * 2
    assert {score.reason for score in unread} == {'answer:empty'}
    said = FuncQAScorer('one_hop').breakdown(unread)
    assert said['tool_calls'] == {'all': 0, 'failed': 0} and said['tool_errors'] == {}
    garbled = [score_trajectory(RECORD, trajectory('', ARGS, method=name)) for name in ('easytool', 'react')]
    assert [score.values['tool_error_rate'] for score in garbled] == [1, 1]


ACCOUNTS = [
    ('Answer: 258', (FINE,), (1, 1, 0, 0, 0), 'ok'),
    ('Answer: 258', (NAME, FINE), (1, 1, 1, 1, 0), 'name:unknown_tool'),
    ('Answer: 258', (FINE, ARGS, FINE), (1, 1, 1, 0, 1), 'args:not_a_list'),
    ('Answer: 1', (FINE,), (0, 0, 0, 0, 0), 'answer:wrong_number'),
    ('I give up.', (FINE,), (0, 0, 0, 0, 0), 'answer:no_number'),
    ('', (FINE,), (0, 0, 0, 0, 0), 'answer:empty'),
]


@pytest.mark.parametrize(('answer', 'calls', 'values', 'reason'), ACCOUNTS, ids=range(len(ACCOUNTS)))
def test_accounts(answer: str, calls: tuple[AnsweredCall, ...], values: tuple[int, ...], reason: str) -> None:
    score = score_trajectory(RECORD, trajectory(answer, *calls))
    assert (tuple(score.values.values()), score.reason) == (values, reason)
    assert tuple(score.values) == TABLE[0].metrics
    detail = score.to_detail()
    assert detail['trajectory']['steps'][0]['calls'][0]['name'] == calls[0].name
    assert detail['gold'] == '258' and json.loads(json.dumps(detail)) == detail


QUOTED = [
    ('It is 258. Call used:\n```json\nCALL\n```', 1),
    ('I called <tool_call>CALL</tool_call>. It is 258.', 1),
    ('CALL\n\nIt is 258.', 1),
    ('CALL', 0),
    ('<think>So.</think><tool_call>CALL</tool_call>', 0),
    ('I call it. <tool_call>OTHER</tool_call>', 0),
]


@pytest.mark.parametrize(('answer', 'right'), QUOTED, ids=range(len(QUOTED)))
def test_an_answer_may_quote_a_call_that_was_made_but_not_be_one(answer: str, right: int) -> None:
    call, other = ({'name': 'add_', 'arguments': {'input': numbers}} for numbers in ([258], [200, 58]))
    answer = answer.replace('CALL', json.dumps(call)).replace('OTHER', json.dumps(other))
    made = AnsweredCall('add_', {'input': [258]}, '258', FUNCTION)
    score = score_trajectory(RECORD, trajectory(answer, made, method=METHOD))
    assert score.values['accuracy'] == right and score.reason == ('ok' if right else 'call:none')


def test_methods_without_tools_have_no_error_rates() -> None:
    score = score_trajectory(RECORD, trajectory('Answer: 258', method='cot'))
    assert [score.values[metric] for metric in TABLE[0].metrics] == [1, 1, None, None, None]
    assert aggregate([score], TABLE[0].metrics).metrics['tool_error_rate'] is None


def test_steps_that_ran_out_are_the_reason_of_a_wrong_answer() -> None:
    assert score_trajectory(RECORD, trajectory('', FINE, stopped='limit:steps')).reason == 'limit:steps'
    assert score_trajectory(RECORD, trajectory('258', FINE, stopped='limit:steps')).reason == 'ok'


def test_the_denominator_is_all_questions() -> None:
    predictions = [
        Answer(trajectory('258', FINE).to_json()),
        Answer(trajectory('258', NAME, FINE).to_json()),
        Answer(trajectory('7', ARGS).to_json()),
        Answer('', 'infra:timeout'),
    ]
    scores = score_predictions([replace(RECORD, id=str(number)) for number in range(4)], predictions)
    total = aggregate(scores, TABLE[0].metrics)
    assert list(total.metrics.values()) == [50, 50, 50, 25, 25]
    assert total.reasons == {'args:not_a_list': 1, 'infra:timeout': 1, 'ok': 1, 'name:unknown_tool': 1}
    assert total.infra == 1
    said = FuncQAScorer('one_hop').breakdown(scores)
    assert said['tool_calls'] == {'all': 4, 'failed': 2}
    assert said['tool_errors'] == {'name:unknown_tool': 1, 'args:not_a_list': 1}
    assert said['tools'] == {'add_': 3} and said['rounds'] == 3 and said['methods'] == {'easytool': 3}


@pytest.mark.parametrize(
    'more',
    [
        {'tasks': [{'done': 1}]},
        {'final_answer': 5},
        {'settings': []},
        {'format': 5},
        {'steps': [{'text': '', 'calls': [{'name': 1}]}]},
    ],
)
def test_damaged_trajectories_are_faults(more: dict[str, object]) -> None:
    text = json.dumps({**trajectory('258').to_dict(), **more})
    with pytest.raises(ValueError, match="question '7': this is not a trajectory"):
        score_predictions([RECORD], [as_answer(text)])
    with pytest.raises(ValueError, match='1 records, but 0 predictions'):
        score_predictions([RECORD], [])
