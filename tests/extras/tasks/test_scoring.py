"""Scores of tasks with goals: nearest alternatives and orders, planned failures, must-nots, causes in details."""

from __future__ import annotations

from itertools import permutations
from random import Random

import pytest

from opencompass_tooleval.agents.scoring.scoring import OF_CALLS, WASTE
from opencompass_tooleval.agents.tasks.goal import FORBIDDEN, RECOVERY, Goal
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.observation import FUNCTION, INJECTED
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.extras.tasks.metrics import METRICS, NAMES
from opencompass_tooleval.extras.tasks.scoring import kinds_of, nearest_gold, score_task, score_task_predictions

TOOLS = tuple(ToolSchema(name, name, {'type': 'object'}) for name in 'abcdx')


def gold(name: str, value: object = 1) -> GoldCall:
    return GoldCall(name, {'v': value})


def answered(name: str, value: object = 1, error: str = '', text: str = '7') -> AnsweredCall:
    return AnsweredCall(name, {'v': value}, text, FUNCTION, error=error)


def done(*calls: AnsweredCall, answer: str = 'It is 7.', **more: object) -> Trajectory:
    steps = tuple(Step('', (call,), place - 1) for place, call in enumerate(calls))
    return Trajectory('x', (*steps, Step(answer)), answer, path=tuple(range(len(steps) + 1)), **more)  # type: ignore[arg-type]


def task_of(goal: Goal) -> Task:
    return Task('t', 's', 'Do it.', TOOLS, tuple(calls[0] for calls in goal.calls), goal=goal)


def test_every_metric_has_its_row() -> None:
    assert sorted(NAMES) == sorted(row.name for row in METRICS)


def test_of_each_call_the_alternative_that_was_made_counts() -> None:
    goal = Goal(calls=((gold('a', 1), gold('a', 2)), (gold('b'), gold('c'))), facts=('7',))
    score = score_task(task_of(goal), done(answered('a', 2), answered('c', 1)))
    assert score.reason == 'ok' and {score.values[name] for name in OF_CALLS} == {1.0}
    other = score_task(task_of(goal), done(answered('a', 3), answered('c', 2)))
    assert (other.values['solved'], other.values['call_recall'], other.values['arguments']) == (1, 1, 0)
    assert [one['name'] for one in other.gold] == ['a', 'c']


def test_an_alternative_that_another_call_needs_is_left_to_it() -> None:
    goal = Goal(calls=((gold('a', 2), gold('a', 1)), (gold('a', 2),)))
    for values in ((1, 2), (2, 1)):
        score = score_task(task_of(goal), done(*(answered('a', value) for value in values)))
        assert score.values['all_calls_right'] == 1, values


def test_any_allowed_order_is_right_and_no_other() -> None:
    goal = Goal(calls=((gold('a'),), (gold('b'),), (gold('c'),)), order=((0, 2),))
    rights = {
        ''.join(names): score_task(task_of(goal), done(*map(answered, names))).values['call_order']
        for names in permutations('abc')
    }
    assert rights == {'abc': 1, 'acb': 1, 'bac': 1, 'bca': 2 / 3, 'cab': 2 / 3, 'cba': 2 / 3}


@pytest.mark.parametrize('seed', range(60))
def test_the_order_is_the_nearest_of_all_that_are_allowed(seed: int) -> None:
    rng = Random(seed)
    size = rng.randint(2, 6)
    pairs = [(first, second) for first in range(size) for second in range(first + 1, size)]
    order = tuple(pair for pair in pairs if rng.random() < rng.choice((0.1, 0.4)))
    goal = Goal(calls=tuple((gold('a', place),) for place in range(size)), order=order)
    values = rng.sample(range(size), rng.randint(0, size))
    calls = [answered('a', value) for value in values]
    task = task_of(goal)

    def in_order(ordered: tuple[int, ...]) -> int:
        longest: list[int] = []
        places = [ordered.index(value) for value in values]
        for number, place in enumerate(places):
            before = [longest[earlier] for earlier in range(number) if places[earlier] < place]
            longest.append(1 + max(before, default=0))
        return max(longest, default=0)

    allowed = [
        ordered
        for ordered in permutations(range(size))
        if all(ordered.index(first) < ordered.index(second) for first, second in order)
    ]
    chosen = tuple(call.arguments['v'] for call in nearest_gold(goal, calls))
    assert chosen in allowed
    assert score_task(task, done(*calls)).values['call_order'] == max(map(in_order, allowed)) / size


@pytest.mark.parametrize('order', [((0, 1), (1, 0)), ((0, 0),), ((0, 2),), ((-1, 0),)])
def test_an_order_that_cannot_be_kept_is_refused(order: tuple[tuple[int, int], ...]) -> None:
    goal = Goal(calls=((gold('a'),), (gold('b'),)), order=order)
    with pytest.raises(ValueError, match='the order of the goal'):
        nearest_gold(goal, ())


def test_a_planned_failure_is_neither_a_call_nor_waste() -> None:
    goal = Goal(RECOVERY, calls=((gold('a'),),), facts=('7',), fails_first='a')
    failed = answered('a', error=INJECTED, text='temporarily unavailable')
    score = score_task(task_of(goal), done(failed, answered('a')))
    assert score.reason == 'ok' and {score.values[name] for name in OF_CALLS} == {1.0}
    assert {score.values[name] for name in WASTE} == {0.0}
    detail = score.to_detail()
    assert detail['kind'] == RECOVERY and len(detail['parsed']) == 2
    assert detail['matches'] == [{'call': 1, 'same': True}]
    again = score_task(task_of(goal), done(failed, answered('a'), answered('a')))
    assert again.values['repeated_call_rate'] == 1 / 2 and again.values['call_precision'] == 1 / 2


def test_a_forbidden_call_is_counted_where_tools_are_forbidden() -> None:
    goal = Goal(FORBIDDEN, calls=((gold('a'),),), forbidden=('x',), facts=('7',))
    broken = score_task(task_of(goal), done(answered('a'), answered('x')))
    assert (broken.reason, broken.values['forbidden_call_rate'], broken.values['solved']) == ('goal:forbidden', 1, 0)
    assert broken.to_detail()['goal']['forbidden_calls'] == ['x']
    assert score_task(task_of(goal), done(answered('a'))).values['forbidden_call_rate'] == 0
    assert score_task(task_of(Goal(facts=('7',))), done()).values['forbidden_call_rate'] is None


def test_the_reason_is_the_goals_though_calls_are_right() -> None:
    goal = Goal(calls=((gold('a'),),), facts=('8',))
    score = score_task(task_of(goal), done(answered('a')))
    detail = score.to_detail()
    assert (score.reason, score.values['all_calls_right'], score.values['solved']) == ('goal:facts', 1, 0)
    others = ('wrong_effects', 'missing_calls', 'forbidden_calls', 'wrong_result')
    assert detail['goal'] == {'missing_facts': ['8'], **{key: [] for key in others}}
    way = score_task(task_of(Goal(calls=((gold('a'),),), facts=('7',))), done(answered('b')))
    assert (way.reason, way.values['call_recall'], way.to_detail()['goal']['missing_calls']) == ('ok', 0, [0])


def test_a_task_without_an_answer_is_wrong_in_all() -> None:
    goal = Goal(calls=((gold('a'),),), facts=('7',))
    tasks = [task_of(goal), task_of(goal)]
    scores = score_task_predictions(tasks, [Answer('', 'infra:timeout'), Answer(done(answered('a')).to_json())])
    assert [score.reason for score in scores] == ['infra:timeout', 'ok']
    assert scores[0].values['solved'] == 0 and scores[0].values['call_recall'] == 0
    assert scores[0].to_detail()['kind'] == 'ordinary' and set(scores[0].values) == set(NAMES)
    assert kinds_of(scores) == {'ordinary': {'tasks': 2, 'solved': 50.0}}
    lost = done(answered('a'), stopped='infra:environment')
    assert score_task(task_of(goal), lost).reason == 'infra:environment'
    with pytest.raises(ValueError, match="prediction of task 't'"):
        score_task_predictions(tasks[:1], [Answer('{}')])
    with pytest.raises(ValueError, match='2 tasks, but 1'):
        score_task_predictions(tasks, [Answer('{}')])
