"""Whether a trajectory reaches its goal: each cause by a case that only it fails, and the scores and details."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import TOO_MANY_STEPS, AnsweredCall, Step, Trajectory
from opencompass_tooleval.extras.tasks.goal import Goal, asks_user, check_goal, parse_goal
from opencompass_tooleval.extras.tasks.metrics import METRICS, NAMES
from opencompass_tooleval.extras.tasks.scoring import score_task, score_task_predictions

ROW = {'removed': [], 'added': [{'a': 1}]}
MADE = {'x:t': json.dumps({'removed': [], 'added': [{'a': 1}]})}
REFUSAL = "I'm sorry, but I can't help with that."
SEVEN: dict[str, Any] = {'form': 'number', 'results': ('7',)}


def call(name: str, *, error: str = '', source: str = 'live', **arguments: Any) -> AnsweredCall:
    return AnsweredCall(name, arguments, '7', source, error=error)


def done(*calls: AnsweredCall, answer: str = 'Result: 7', stopped: str = '', **more: Any) -> Trajectory:
    return Trajectory('x', (Step('', calls), Step(answer)), answer, stopped, (0, 1), **more)


@pytest.mark.parametrize(
    ('goal', 'run', 'reason'),
    [
        (Goal(**SEVEN), done(), ''),
        (Goal(**SEVEN), done(answer='The answer is 7.'), ''),
        (Goal(**SEVEN), done(answer='Result: 8'), 'goal:result'),
        (Goal(**SEVEN), Trajectory('x', (Step(REFUSAL),), REFUSAL, '', (0,)), 'answer:refused'),
        (Goal(**SEVEN), done(call('read'), answer=REFUSAL), 'goal:result'),
        (Goal(form='number', results=('8', '7')), done(), ''),
        (Goal(), done(answer=' '), 'finish:missing'),
        (Goal(), done(stopped=TOO_MANY_STEPS), TOO_MANY_STEPS),
        (Goal(golds=({'x:t': ROW},)), done(changes=MADE), ''),
        (Goal(golds=({'x:t': ROW},)), done(changes={}), 'goal:effects'),
        (Goal(golds=({},)), done(changes=MADE), 'goal:effects'),
        (Goal(golds=({},)), done(changes={}), ''),
        (Goal(golds=({},), **SEVEN), done(changes={}, answer='8'), 'goal:result'),
        (Goal(needs=('*',), **SEVEN), done(), 'calls:missing'),
        (Goal(needs=('*',), **SEVEN), done(call('read')), ''),
        (Goal(needs=('*',), **SEVEN), done(call('read', error='tool_error')), 'calls:missing'),
        (Goal(needs=('*',), **SEVEN), done(call('read', source='error')), 'calls:missing'),
        (Goal(needs=('read_*', 'write')), done(call('read_it')), 'calls:missing'),
        (Goal(forbidden=('write',)), done(call('write', source='error')), 'goal:forbidden'),
        (Goal(asks=True, golds=({},)), done(answer='Which one?', changes={}), ''),
        (Goal(asks=True, golds=({},)), done(answer='Done.', changes={}), 'goal:not_asked'),
        (Goal(asks=True, golds=({},)), done(answer='Which one?', changes=MADE), 'goal:effects'),
        # Without a state the calls that change something decide, and never those that read.
        (Goal(writes=(['pay', {'sum': 1}],), reads=('read',)), done(call('pay', sum=1), call('read', x=3)), ''),
        (Goal(writes=(['pay', {'sum': 1}],), reads=('read',)), done(call('read')), 'goal:effects'),
        (Goal(writes=(['pay', {'sum': 1}],)), done(call('pay', sum=2)), 'goal:effects'),
        (Goal(writes=(['pay', {'sum': 1}],)), done(call('pay', sum=1), call('pay', sum=1)), 'goal:effects'),
        (Goal(writes=(['pay', {'sum': 1}],)), done(call('pay', sum=2, error='tool_error'), call('pay', sum=1)), ''),
        (Goal(writes=()), done(call('pay', sum=2)), 'goal:effects'),
        (Goal(writes=None), done(call('pay', sum=2)), ''),
    ],
)
def test_the_first_cause_is_the_reason(goal: Goal, run: Trajectory, reason: str) -> None:
    result = check_goal(parse_goal(json.loads(json.dumps(goal.to_dict()))), run)
    assert (result.reason, result.is_solved) == (reason, not reason)


@pytest.mark.parametrize(
    ('answer', 'is_asking'),
    [
        ('There are two. Please tell me which one you want.', True),
        ('有两个订单。请告诉我是哪一个。', True),
        ('I found three orders. Let me know which of them to cancel!', True),
        ('Which one? I can cancel either.', True),
        ('I need to know the date.', True),
        ('I moved nothing. Anything else I can do?', False),
        ('没有改动。还有其他需要帮忙的吗？', False),
        ('It is cancelled. Let me know if you need anything else.', False),
        ('Please tell me if that is wrong. It is cancelled.', False),
        ('Done.', False),
        ('', False),
    ],
)
def test_an_answer_asks_by_a_question_mark_or_by_its_last_sentence(answer: str, is_asking: bool) -> None:
    assert asks_user(answer) is is_asking


def task(goal: Goal) -> Task:
    tools = tuple(ToolSchema(name, name, {'type': 'object'}) for name in ('read', 'write'))
    return Task('t', 's', 'Do it.', tools, goal=goal.to_dict())


def test_every_metric_has_its_row() -> None:
    assert sorted(NAMES) == sorted(row.name for row in METRICS)


def test_scores_and_details() -> None:
    goal = Goal(golds=({'x:t': ROW},), forbidden=('write',), needs=('read',), **SEVEN)
    right = score_task(task(goal), done(call('read'), changes=MADE))
    assert (right.reason, right.values['solved'], right.values['forbidden_call_rate']) == ('ok', 1, 0)
    assert set(right.values) == set(NAMES)
    wrong = score_task(task(goal), done(call('write'), answer='9', changes={'y': '{"gone": true}'}))
    assert (wrong.reason, wrong.values['solved'], wrong.values['forbidden_call_rate']) == ('goal:forbidden', 0, 1)
    assert wrong.to_detail()['goal'] == {
        'reason': 'goal:forbidden',
        'wrong_effects': {'x:t': 'not changed', 'y': 'changed: {"gone": true}'},
        'missing_tools': ('read',),
        'forbidden_calls': ('write',),
        'wrong_result': ('9',),
    }
    assert score_task(task(Goal(**SEVEN)), done()).values['forbidden_call_rate'] is None


def test_a_task_without_an_answer_is_wrong() -> None:
    tasks = [task(Goal(**SEVEN)), task(Goal(**SEVEN))]
    scores = score_task_predictions(tasks, [Answer('', 'infra:timeout'), Answer(done().to_json())])
    assert [(score.reason, score.values['solved']) for score in scores] == [('infra:timeout', 0), ('ok', 1)]
    with pytest.raises(ValueError, match="prediction of task 't'"):
        score_task_predictions(tasks[:1], [Answer('{}')])
