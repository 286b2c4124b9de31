"""Further parts of a result of agents beside its metrics."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from opencompass_tooleval.agents.scoring.breakdown import breakdown, settings_of
from opencompass_tooleval.agents.scoring.scoring import AgentScore, score_predictions, score_trajectory
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.observation import SOURCES
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory

TASK = Task('q', 'teval', 'Go.', ())
EXACT = AnsweredCall('find', {}, 'here', 'exact')
SIMULATED = AnsweredCall('find', {'x': 1}, '{"error": "", "response": 1}', 'simulated')
UNKNOWN = AnsweredCall('lost', {}, 'no such tool', 'error', 'unknown_tool')
TIMEOUT = AnsweredCall('book', {}, '{"error": "Timeout error...", "response": ""}', 'other_task')
USAGE = {'prompt': 10, 'completion': 2, 'seconds': 0.5, 'requests': 1}


def score(*calls: AnsweredCall, **changes: Any) -> AgentScore:
    usage = changes.pop('usage', None)
    steps = tuple(Step('', (call,), place - 1, usage=usage) for place, call in enumerate(calls))
    done = Trajectory('react', steps, 'Done.', path=tuple(range(len(steps))))
    return score_trajectory(TASK, replace(done, **changes))


def test_counts() -> None:
    scores = [
        score(EXACT, EXACT, UNKNOWN, usage=USAGE),
        score(SIMULATED, settings={'simulator': 'small', 'simulator_prompt': 'tooleval'}, omitted_observations=2),
        score(TIMEOUT, EXACT, final_answer='', stopped='limit:steps'),
        score(),
        *score_predictions([TASK], [Answer('', 'infra:timeout')]),
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
    counted = breakdown(score_predictions([TASK], [Answer('', 'infra:timeout')]))
    assert counted['steps'] == counted['tools'] == {} and set(counted['sources'].values()) == {0}


def test_settings_in_which_tasks_differ_have_all_values() -> None:
    settings = {'bank': 'ab', 'simulator': None, 'max_steps': 20}
    other = {**settings, 'simulator': 'small'}
    assert settings_of([score(EXACT, settings=settings)] * 2) == {'loop': 'react', **settings}
    mixed = settings_of([score(EXACT, settings=settings), score(SIMULATED, settings=other)])
    assert mixed == {**settings, 'loop': 'react', 'simulator': 'none, small', 'simulated_by': 'small'}
    # A simulator that answered nothing simulated nothing.
    assert 'simulated_by' not in settings_of([score(EXACT, settings=other)])
