"""Trajectories written by hand, their exact scores and reasons."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from opencompass_tooleval.agents.scoring import METRICS, OF_CALLS, WASTE, score_predictions, score_trajectory
from opencompass_tooleval.agents.task import GoldCall, Task
from opencompass_tooleval.agents.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.agents.waste import Waste, count_waste
from opencompass_tooleval.core.aggregate import aggregate
from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.tool_set import ToolSchema

GOLD = (GoldCall('find', {'name': 'Delft'}), GoldCall('route', {'to': 'Delft'}), GoldCall('book', {'day': 3}))
TASK = Task('q1', 'teval', 'Take me to Delft.', (), GOLD)
FIND = AnsweredCall('find', {'name': 'Delft'}, 'at 52 N', 'exact')
ROUTE = AnsweredCall('route', {'to': 'Delft'}, '10 km', 'function')
BOOK = AnsweredCall('book', {'day': 3}, 'booked', 'nearest')
LOST = AnsweredCall('fly', {}, 'no such tool', 'error', 'unknown_tool')
REFUSED = AnsweredCall('book', {'dag': 3}, 'day is missing', 'error', 'wrong_arguments')
FINISH = AnsweredCall('Finish', {'return_type': 'give_answer'}, '')


def chain(*calls: AnsweredCall, answer: str = 'Done.', stopped: str = '', reason: str = '') -> Trajectory:
    """A call per step, and a last step without one."""
    steps = [Step('', (call,), place - 1) for place, call in enumerate(calls)]
    steps.append(Step('', (), len(steps) - 1, reason=reason))
    return Trajectory('react', tuple(steps), '' if stopped else answer, stopped, tuple(range(len(steps))))


def values(trajectory: Trajectory, task: Task = TASK) -> list[float | None]:
    score = score_trajectory(task, trajectory)
    assert tuple(score.values) == METRICS
    return list(score.values.values())


RIGHT = [1, 1, 1, 1, 1, 1, 1]
NO_WASTE = [0, 0, 0, 0]
THIRD = pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ('done', 'expected', 'reason'),
    [
        (chain(FIND, ROUTE, BOOK), RIGHT + NO_WASTE, 'ok'),
        (chain(FIND, ROUTE, BOOK, FINISH), RIGHT + NO_WASTE, 'ok'),
        (chain(FIND, ROUTE, BOOK, answer=' '), [0, *RIGHT[1:], *NO_WASTE], 'finish:missing'),
        (chain(), [1, 0, 0, 0, 0, 0, 0, *NO_WASTE], 'calls:missing'),
        (chain(FIND, ROUTE), [1, 2 / 3, 1, 0.8, 2 / 3, 1, 0, *NO_WASTE], 'calls:missing'),
        (chain(FIND, FIND, ROUTE, BOOK), [1, 1, 0.75, 6 / 7, 1, 1, 0, 0.25, 0, 0, 0], 'calls:extra'),
        (chain(ROUTE, FIND, BOOK), [1, 1, 1, 1, 2 / 3, 1, 0, *NO_WASTE], 'calls:order'),
        (chain(FIND, ROUTE, REFUSED), [1, 1, 1, 1, 1, 2 / 3, 0, 0, 0, THIRD, 0], 'calls:arguments'),
        (chain(LOST), [1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0], 'calls:missing'),
        (chain(LOST, LOST, stopped='limit:steps'), [0, 0, 0, 0, 0, 0, 0, 0.5, 1, 0, 0.5], 'limit:steps'),
        (chain(LOST, LOST, LOST, stopped='limit:steps'), [0] * 7 + [2 / 3, 1, 0, 2 / 3], 'loop'),
        (chain(LOST, LOST, LOST, stopped='finish:gave_up'), [0] * 7 + [2 / 3, 1, 0, 2 / 3], 'finish:gave_up'),
        (chain(FIND, stopped='limit:context'), [0, THIRD, 1, 0.5, THIRD, 1, 0, *NO_WASTE], 'limit:context'),
        (chain(FIND, stopped='infra:timeout'), [0] * 7 + NO_WASTE, 'infra:timeout'),
    ],
)
def test_scores(done: Trajectory, expected: list[float | None], reason: str) -> None:
    assert values(done) == pytest.approx(expected)
    assert score_trajectory(TASK, done).reason == reason


@pytest.mark.parametrize(
    ('last', 'stopped', 'reason'),
    [
        ('parse:not_json', 'limit:steps', 'parse:not_json'),
        ('answer:truncated_reasoning', 'finish:missing', 'answer:truncated_reasoning'),
        ('call:none', 'finish:missing', 'finish:missing'),
        ('parse:not_json', '', 'ok'),
    ],
)
def test_what_could_not_be_read_at_the_end_is_the_cause(last: str, stopped: str, reason: str) -> None:
    assert score_trajectory(TASK, chain(FIND, ROUTE, BOOK, stopped=stopped, reason=last)).reason == reason


def test_calls_of_an_abandoned_branch_are_waste_and_no_part_of_the_way() -> None:
    steps = (Step('', (FIND,)), Step('', (LOST,), 0), Step('', (ROUTE,), 0), Step('', (FIND, BOOK), 2))
    done = Trajectory('dfsdt', steps, 'Done.', path=(0, 2, 3))
    score = score_trajectory(TASK, done)
    assert score.waste == Waste(calls=5, repeated=1, unknown=1)
    assert (score.values['call_recall'], score.values['call_precision']) == (1, 0.75)
    # The same call in two branches is made twice for good reason: neither sees the other.
    apart = (Step('', (LOST,)), Step('', (LOST,)))
    assert count_waste(Trajectory('dfsdt', apart)) == Waste(calls=2, unknown=2)


def test_a_call_again_is_repeated_only_if_nothing_changed() -> None:
    other = replace(FIND, observation='moved to 53 N')
    again = replace(FIND, arguments='{"name":  "Delft "}')
    assert count_waste(chain(FIND, again)).repeated == 1
    assert count_waste(chain(FIND, other)).repeated == 0
    assert count_waste(chain(FIND, other, FIND)).repeated == 0
    assert count_waste(chain(FIND, replace(FIND, arguments={'name': 'delft'}))).repeated == 0


def test_recorded_errors_are_errors() -> None:
    failed = replace(FIND, observation='{"error": "Rate limit per minute error...", "response": ""}')
    assert count_waste(chain(failed, ROUTE, FIND)).repeated_after_error == 1
    assert count_waste(chain(failed, FIND, FIND)).repeated_after_error == 1
    assert count_waste(chain(replace(FIND, observation=''), FIND)).repeated_after_error == 0


@pytest.mark.parametrize('dropped', range(3))
def test_a_gold_call_less_is_a_third_less(dropped: int) -> None:
    made = [call for place, call in enumerate((FIND, ROUTE, BOOK)) if place != dropped]
    score = score_trajectory(TASK, chain(*made))
    assert score.values['call_recall'] == score.values['call_order'] == pytest.approx(1 - 1 / 3)
    assert (score.values['call_precision'], score.values['arguments'], score.reason) == (1, 1, 'calls:missing')


def test_of_needed_tools_only_the_names_count() -> None:
    task = replace(TASK, gold=None, relevant=('find', 'book'))
    expected = [1, 0.5, 1 / 3, 0.4, None, None, None, 0, THIRD, 0, 0]
    score = score_trajectory(task, chain(ROUTE, LOST, FIND))
    assert list(score.values.values()) == expected and score.reason == 'calls:missing'
    score = score_trajectory(task, chain(BOOK, replace(BOOK, arguments={}), FIND))
    assert score.values['call_precision'] == 1 and score.reason == 'ok'


def test_without_gold_calls_an_end_is_right() -> None:
    task = replace(TASK, gold=None)
    score = score_trajectory(task, chain(ROUTE))
    assert score.reason == 'ok' and {score.values[metric] for metric in OF_CALLS} == {None}


def test_a_task_that_needs_no_call() -> None:
    task = replace(TASK, gold=())
    assert values(chain(), task) == [1, None, 1, 1, None, None, 1, *NO_WASTE]
    score = score_trajectory(task, chain(FIND))
    assert score.values['call_precision'] == score.values['all_calls_right'] == 0 and score.reason == 'calls:extra'


@pytest.mark.parametrize(
    ('task', 'expected'),
    [
        (TASK, dict.fromkeys(OF_CALLS, 0)),
        (replace(TASK, gold=None), dict.fromkeys(OF_CALLS)),
        (replace(TASK, gold=None, relevant=('find',)), {'call_recall': 0, 'call_precision': 0, 'call_f1': 0}),
    ],
)
def test_no_answer_counts_as_wrong(task: Task, expected: dict[str, float | None]) -> None:
    [score] = score_predictions([task], [Answer('', 'infra:timeout')])
    assert score.values == {'finish_rate': 0, **dict.fromkeys(OF_CALLS), **expected, **dict.fromkeys(WASTE)}
    assert (score.reason, score.to_detail()['parsed']) == ('infra:timeout', None)


def test_tasks_that_failed_do_not_lower_the_waste() -> None:
    scores = score_predictions([TASK, TASK], [Answer('', 'infra:timeout'), chain(LOST).to_json()])
    assert aggregate(scores, METRICS).metrics['unknown'] == 100


def test_predictions_are_trajectories_of_the_tasks() -> None:
    done = chain(FIND, ROUTE, BOOK)
    [score] = score_predictions([TASK], [done.to_json()])
    assert score.trajectory == done
    with pytest.raises(ValueError, match="'q1'"):
        score_predictions([TASK], ['{}'])
    with pytest.raises(ValueError, match='2 tasks'):
        score_predictions([TASK, TASK], [done.to_json()])


def test_detail_says_how_it_ended() -> None:
    detail = score_trajectory(TASK, chain(FIND, LOST)).to_detail()
    assert json.loads(json.dumps(detail)) == detail
    assert detail['final_answer'] == 'Done.' and detail['steps'] == 3 and detail['sources'] == {'exact': 1, 'error': 1}
    assert detail['parsed'] == [
        {'name': 'find', 'arguments': {'name': 'Delft'}},
        {'name': 'fly', 'arguments': {}},
    ]
    assert detail['gold'][2] == {'name': 'book', 'arguments': {'day': 3}, 'open_arguments': []}
    none = {'call': None, 'same': False}
    assert detail['matches'] == [{'call': 0, 'same': True}, none, none]


def test_of_tools_that_are_needed_the_first_call_is_named() -> None:
    task = replace(TASK, gold=None, relevant=('book', 'find'))
    detail = score_trajectory(task, chain(LOST, FIND, FIND)).to_detail()
    assert detail['matches'] == [{'call': None, 'same': False}, {'call': 1, 'same': True}]


def test_a_detail_says_which_tools_were_offered() -> None:
    schema = {'type': 'object', 'properties': {'to': {}, 'by': {}}, 'required': ['by']}
    tool = ToolSchema('route', 'Finds a way. ' * 100, schema)
    (shown,) = score_trajectory(replace(TASK, tools=(tool,)), chain(FIND)).to_detail()['tools']
    assert (shown['name'], shown['required'], shown['optional']) == ('route', ['by'], ['to'])
    assert len(shown['description']) == 200
