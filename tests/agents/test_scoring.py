"""Trajectories written by hand, their exact scores and reasons."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from opencompass_tooleval.agents.scoring.breakdown import breakdown, settings_of
from opencompass_tooleval.agents.scoring.scoring import (
    METRICS,
    OF_CALLS,
    WASTE,
    AgentScore,
    Repaired,
    score_predictions,
    score_trajectory,
)
from opencompass_tooleval.agents.scoring.waste import Waste, count_waste
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.observation import SOURCES
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory
from opencompass_tooleval.core.scoring.aggregate import aggregate
from tests.agents.support import published

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
        ('parse:not_json', '', 'ok'),
    ],
)
def test_what_could_not_be_read_at_the_end_is_the_cause(last: str, stopped: str, reason: str) -> None:
    assert score_trajectory(TASK, chain(FIND, ROUTE, BOOK, stopped=stopped, reason=last)).reason == reason


def test_calls_of_an_abandoned_branch_are_waste_and_no_part_of_the_way() -> None:
    steps = (Step('', (FIND,)), Step('', (LOST,), 0), Step('', (ROUTE,), 0), Step('', (FIND, BOOK), 2))
    done = Trajectory('dfsdt', steps, 'Done.', path=(0, 2, 3))
    score = score_trajectory(TASK, done)
    assert score.waste == Waste(calls=5, repeated_call=1, unknown_tool=1)
    assert (score.values['call_recall'], score.values['call_precision']) == (1, 0.75)
    # The same call in two branches is made twice for good reason: neither sees the other.
    apart = (Step('', (LOST,)), Step('', (LOST,)))
    assert count_waste(Trajectory('dfsdt', apart)) == Waste(calls=2, unknown_tool=2)


def test_a_call_again_is_repeated_only_if_nothing_changed() -> None:
    other = replace(FIND, observation='moved to 53 N')
    again = replace(FIND, arguments='{"name":  "Delft "}')
    assert count_waste(chain(FIND, again)).repeated_call == 1
    assert count_waste(chain(FIND, other)).repeated_call == 0
    assert count_waste(chain(FIND, other, FIND)).repeated_call == 0
    assert count_waste(chain(FIND, replace(FIND, arguments={'name': 'delft'}))).repeated_call == 0


def test_recorded_errors_are_errors_and_what_a_recording_says_of_one_counts_before_its_words() -> None:
    failed = replace(FIND, observation='{"error": "Rate limit per minute error...", "response": ""}')
    assert count_waste(chain(failed, ROUTE, FIND)).repeated_after_error == 1
    assert count_waste(chain(failed, FIND, FIND)).repeated_after_error == 1
    assert count_waste(chain(replace(FIND, observation=''), FIND)).repeated_after_error == 0
    failed = replace(FIND, observation="{'text': 'input param should be a Chinese string'}", error='input')
    assert count_waste(chain(failed, failed)) == Waste(calls=2, repeated_call=1, repeated_after_error=1)
    fine = replace(FIND, observation='Twenty films were not found elsewhere.', error='')
    assert count_waste(chain(fine, fine)) == Waste(calls=2, repeated_call=1)
    assert count_waste(chain(replace(fine, error=None), FIND)).repeated_after_error == 1
    refused = replace(FIND, source='live', error='wrong_arguments')  # by a server's schema
    assert count_waste(chain(refused)) == Waste(calls=1, invalid_call=1)


def test_of_needed_tools_only_the_names_count() -> None:
    task = replace(TASK, gold=None, relevant=('find', 'book'))
    expected = [1, 0.5, 1 / 3, 0.4, None, None, None, 0, THIRD, 0, 0]
    score = score_trajectory(task, chain(ROUTE, LOST, FIND))
    assert list(score.values.values()) == expected and score.reason == 'calls:missing'
    score = score_trajectory(task, chain(BOOK, replace(BOOK, arguments={}), FIND))
    assert score.values['call_precision'] == 1 and score.reason == 'ok'


def test_refused_arguments_are_the_cause_where_no_gold_call_says_what_is_right() -> None:
    task = replace(TASK, gold=None, relevant=('find', 'book'))
    refused = score_trajectory(task, chain(FIND, REFUSED))
    assert (refused.reason, refused.values['call_f1'], refused.values['invalid_call_rate']) == ('calls:refused', 1, 0.5)
    assert score_trajectory(task, chain(FIND, REFUSED, BOOK)).reason == 'calls:refused'
    assert score_trajectory(task, chain(REFUSED)).reason == 'calls:missing'
    assert score_trajectory(replace(task, relevant=()), chain(REFUSED)).reason == 'calls:refused'
    assert score_trajectory(replace(TASK, gold=(GoldCall('book', {'dag': 3}),)), chain(REFUSED)).reason == 'ok'


def test_a_task_without_gold_calls_and_one_that_needs_no_call() -> None:
    score = score_trajectory(replace(TASK, gold=None), chain(ROUTE))
    assert score.reason == 'ok' and {score.values[metric] for metric in OF_CALLS} == {None}
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


def test_predictions_are_trajectories_of_the_tasks() -> None:
    done = chain(FIND, ROUTE, BOOK)
    [score] = score_predictions([TASK], [Answer(done.to_json())])
    assert score.trajectory == done
    with pytest.raises(ValueError, match="'q1'"):
        score_predictions([TASK], [Answer('{}')])
    with pytest.raises(ValueError, match='2 tasks'):
        score_predictions([TASK, TASK], [Answer(done.to_json())])


def test_detail_says_how_it_ended() -> None:
    detail = score_trajectory(TASK, chain(FIND, LOST)).to_detail()
    assert json.loads(json.dumps(detail)) == detail
    assert detail['final_answer'] == 'Done.' and detail['steps'] == 3 and detail['sources'] == {'exact': 1, 'error': 1}
    assert detail['parsed'] == [{'name': 'find', 'arguments': {'name': 'Delft'}}, {'name': 'fly', 'arguments': {}}]
    assert detail['gold'][2] == {'name': 'book', 'arguments': {'day': 3}, 'open_arguments': []}
    none = {'call': None, 'same': False}
    assert detail['matches'] == [{'call': 0, 'same': True}, none, none]
    tool = ToolSchema('route', 'Finds a way. ' * 100, {'properties': {'to': {}, 'by': {}}, 'required': ['by']})
    task = replace(TASK, gold=None, relevant=('book', 'find'), tools=(tool,))
    detail = score_trajectory(task, chain(LOST, FIND, FIND)).to_detail()
    assert detail['matches'] == [none, {'call': 1, 'same': True}]  # of tools that are needed the first call is named
    described = {'name': 'route', 'description': tool.description[:199] + '…'}
    assert detail['tools'] == [{**described, 'required': ['by'], 'optional': ['to']}]


# Gold calls that no call by the documentation equals

MISTYPED = GoldCall('book', {'room': 3, 'day': 1}, (), GoldCall('book', {'room': '3', 'day': 1}))
UNKNOWABLE = GoldCall('pay', {'account': 'the account'}, (), GoldCall('pay', {'account': 'the account'}, ('account',)))
FAULTY = Task('q2', 'teval', 'Book a room.', (), (GOLD[0], MISTYPED, UNKNOWABLE))
BY_SCHEMA = (
    FIND,
    AnsweredCall('book', {'room': '3', 'day': 1}, 'booked', 'exact'),
    AnsweredCall('pay', {'account': 12}, 'paid', 'exact'),
)
AS_GOLD = (FIND, *(AnsweredCall(call.name, call.arguments, 'done', 'exact') for call in (MISTYPED, UNKNOWABLE)))


def test_the_repaired_reading_stands_beside_the_official_one() -> None:
    score = score_trajectory(FAULTY, chain(*BY_SCHEMA))
    assert (score.values['arguments'], score.values['all_calls_right'], score.reason) == (THIRD, 0, 'calls:arguments')
    assert score.repaired == Repaired(2, {'call_order': 1, 'arguments': 1, 'all_calls_right': 1})
    assert score.to_detail()['repaired'] == {'call_order': 1, 'arguments': 1, 'all_calls_right': 1}
    as_gold = score_trajectory(FAULTY, chain(*AS_GOLD))
    assert as_gold.values['all_calls_right'] == 1 and as_gold.repaired == score.repaired
    swapped = score_trajectory(FAULTY, chain(BY_SCHEMA[1], BY_SCHEMA[0], BY_SCHEMA[2]))
    assert swapped.repaired and swapped.repaired.values['call_order'] == pytest.approx(2 / 3)
    wrong = replace(BY_SCHEMA[1], arguments={'room': '4', 'day': 1})
    other = score_trajectory(FAULTY, chain(FIND, wrong, BY_SCHEMA[2]))
    assert other.repaired and other.repaired.values['arguments'] == pytest.approx(2 / 3)
    plain = score_trajectory(TASK, chain(FIND, ROUTE, BOOK))
    assert plain.repaired is None and 'repaired' not in plain.to_detail()


def test_what_was_not_answered_is_wrong_in_both_readings() -> None:
    nothing = {'call_order': 0, 'arguments': 0, 'all_calls_right': 0}
    (failed,) = score_predictions([FAULTY], [Answer('', 'infra:timeout')])
    assert failed.repaired == Repaired(2, nothing)
    stopped = score_trajectory(FAULTY, chain(*BY_SCHEMA, stopped='infra:timeout'))
    assert stopped.repaired == Repaired(2, nothing)


def test_the_breakdown_has_the_repaired_metrics_of_all_tasks() -> None:
    scores = [
        score_trajectory(FAULTY, chain(*BY_SCHEMA)),
        score_trajectory(TASK, chain(FIND, ROUTE, BOOK)),
        score_trajectory(TASK, chain(FIND, ROUTE, REFUSED)),
    ]
    assert aggregate(scores, METRICS).metrics['all_calls_right'] == pytest.approx(100 / 3)
    shares = {'arguments': pytest.approx(800 / 9), 'all_calls_right': pytest.approx(200 / 3)}
    assert breakdown(scores)['repaired'] == {'calls': 2, 'tasks': 1, 'call_order': 100, **shares}
    assert 'repaired' not in breakdown(scores[1:])


@pytest.mark.parametrize(
    ('subset', 'calls', 'tasks', 'official'),
    [('teval', 37, 33, 520), ('ultratool_zh', 59, 44, 956), ('ultratool_en', 83, 60, 940)],
)
def test_who_keeps_to_the_published_documentation_has_all_calls_right_once_repaired(
    subset: str, calls: int, tasks: int, official: int
) -> None:
    every = published(subset).tasks
    faulty = [task for task in every if any(call.repaired for call in task.gold or ())]
    scores = []
    for task in faulty:
        made = [call.repaired or call for call in task.gold or ()]
        passed = [{**call.arguments, **dict.fromkeys(call.open_arguments, 'any')} for call in made]
        pairs = zip(made, passed, strict=True)
        done = [AnsweredCall(call.name, arguments, 'done', 'exact') for call, arguments in pairs]
        scores.append(score_trajectory(task, chain(*done)))
    beside = breakdown(scores)['repaired']
    assert beside == {'calls': calls, 'tasks': tasks, 'call_order': 100, 'arguments': 100, 'all_calls_right': 100}
    # All others are right as published: the oracle makes their gold calls in test_oracle.py.
    right = sum(score.values['all_calls_right'] or 0 for score in scores)
    assert len(every) - len(faulty) + right == official


@pytest.mark.parametrize('stopped', ['', 'limit:steps', 'plan:no_tasks'])
def test_an_agent_that_declines(stopped: str) -> None:
    text = "I'm sorry, but I can't help with that."
    done = Trajectory('react', (Step(text), Step(text, parent=0)), '' if stopped else text, stopped, (0, 1))
    score = score_trajectory(TASK, done)
    assert score.reason == 'answer:refused'
    assert score.values == {**dict(zip(METRICS, values(chain(answer='No.', stopped=stopped)), strict=True))}
    after = Trajectory('react', (Step('', (FIND,)), Step(text, parent=0)), '' if stopped else text, stopped, (0, 1))
    assert score_trajectory(TASK, after).reason == (stopped or 'calls:missing')


# The breakdown: further parts of a result beside its metrics

ANY = Task('q', 'teval', 'Go.', ())
EXACT = AnsweredCall('find', {}, 'here', 'exact')
SIMULATED = AnsweredCall('find', {'x': 1}, '{"error": "", "response": 1}', 'simulated')
UNKNOWN = AnsweredCall('lost', {}, 'no such tool', 'error', 'unknown_tool')
TIMEOUT = AnsweredCall('book', {}, '{"error": "Timeout error...", "response": ""}', 'other_task')
USAGE = {'prompt': 10, 'completion': 2, 'seconds': 0.5, 'requests': 1}


def score(*calls: AnsweredCall, **changes: Any) -> AgentScore:
    usage = changes.pop('usage', None)
    steps = tuple(Step('', (call,), place - 1, usage=usage) for place, call in enumerate(calls))
    done = Trajectory('react', steps, 'Done.', path=tuple(range(len(steps))))
    return score_trajectory(ANY, replace(done, **changes))


def test_counts() -> None:
    scores = [
        score(EXACT, EXACT, UNKNOWN, usage=USAGE),
        score(SIMULATED, settings={'simulator': 'small', 'simulator_prompt': 'tooleval'}, omitted_observations=2),
        score(TIMEOUT, EXACT, final_answer='', stopped='limit:steps'),
        score(),
        *score_predictions([ANY], [Answer('', 'infra:timeout')]),
    ]
    counted = breakdown(scores)
    assert json.loads(json.dumps(counted)) == counted
    assert counted['steps'] == counted['calls'] == {'total': 6, 'mean': 1.5, 'p50': 1, 'p95': 3}
    assert counted['prompt'] == {'total': 30, 'mean': 30, 'p50': 30, 'p95': 30}
    assert counted['seconds']['total'] == 1.5
    assert counted['waste'] == {'repeated_call': 1, 'unknown_tool': 1, 'invalid_call': 0, 'repeated_after_error': 0}
    assert counted['sources'] == {**dict.fromkeys(SOURCES, 0), 'exact': 3, 'other_task': 1, 'simulated': 1, 'error': 1}
    assert counted['shares']['exact'] == 0.5 and sum(counted['shares'].values()) == pytest.approx(1)
    assert counted['simulated_by'] == {'small, prompt tooleval': 1}
    assert counted['tools'] == {'find': {'exact': 3, 'simulated': 1}, 'book': {'other_task': 1}}
    assert counted['errors'] == {'unknown_tool': 1, 'timeout': 1}
    assert counted['stopped'] == {'limit:steps': 1}
    assert counted['ends'] == {'finished': {'0': 1, '1': 1, '3': 1}, 'limit:steps': {'2': 1}}
    assert counted['omitted_observations'] == {'observations': 2, 'tasks': 1}


def test_of_no_answers_nothing_is_known() -> None:
    counted = breakdown(score_predictions([ANY], [Answer('', 'infra:timeout')]))
    assert counted['steps'] == counted['tools'] == {} and set(counted['sources'].values()) == {0}


def test_settings_in_which_tasks_differ_have_all_values() -> None:
    settings = {'bank': 'ab', 'simulator': None, 'max_steps': 20}
    other = {**settings, 'simulator': 'small'}
    assert settings_of([score(EXACT, settings=settings)] * 2) == {'loop': 'react', **settings}
    mixed = settings_of([score(EXACT, settings=settings), score(SIMULATED, settings=other)])
    assert mixed == {**settings, 'loop': 'react', 'simulator': 'none, small', 'simulated_by': 'small'}
    # A simulator that answered nothing simulated nothing.
    assert 'simulated_by' not in settings_of([score(EXACT, settings=other)])
