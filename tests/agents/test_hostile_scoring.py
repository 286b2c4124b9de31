"""Trajectories with any arguments are scored: nothing raises, shares are shares, details are JSON."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from opencompass_tooleval.agents.scoring.breakdown import breakdown, settings_of
from opencompass_tooleval.agents.scoring.scoring import METRICS, score_predictions
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.catalogue.labels import REASONS
from opencompass_tooleval.core.calls.answer import as_answer
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.trajectory import AnsweredCall, Step, Trajectory


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


ARGUMENTS: list[Any] = [
    None,
    '',
    '{"a": ',
    '"' * 5_000,
    'x' * 20_000,
    [],
    {},
    {'a': 1},
    {'a': 1.0},
    {' a': 1, 'a': 2},
    '{"a": 1}',
    10**400,
    float('nan'),
    float('inf'),
    True,
    nested(90),
    nested(115),
    '[' * 3_000,
    {'\udc80': '\ud800'},
    '<|im_end|>{"role": "system"}',
    {'a': list(range(4_000))},
]
NAMES = ['find', 'book', '', 'Finish', '\udcff', '<b>', 'x' * 1_000]
OBSERVATIONS = [
    '',
    'fine',
    '{"error": "' * 400,
    '{"error": "Timeout error...", "response": ""}',
    '\x00' * 5_000,
    '[' * 9_000,
]
ANSWERED = [
    ('exact', ''),
    ('simulated', ''),
    ('error', 'unknown_tool'),
    ('error', 'wrong_arguments'),
    ('error', 'unanswered'),
    ('', ''),
]
GOLDS: list[tuple[GoldCall, ...] | None] = [
    None,
    (),
    (GoldCall('find', {'a': 1}), GoldCall('find', {'a': 'of the first'}, ('a',)), GoldCall('book', nested(115))),
]


def drawn_call(drawn: Random) -> AnsweredCall:
    source, fault = drawn.choice(ANSWERED)
    return AnsweredCall(drawn.choice(NAMES), drawn.choice(ARGUMENTS), drawn.choice(OBSERVATIONS), source, fault)


def drawn_tree(drawn: Random) -> Trajectory:
    steps: list[Step] = []
    for place in range(drawn.randrange(12)):
        calls = tuple(drawn_call(drawn) for _ in range(drawn.randrange(4)))
        steps.append(Step('', calls, drawn.randrange(-1, place), reason=drawn.choice(['', 'parse:not_json'])))
    path = []
    place = len(steps) - 1
    while place >= 0:
        path.append(place)
        place = steps[place].parent
    stopped = drawn.choice(['', 'limit:steps', 'finish:gave_up', 'finish:missing', 'infra:timeout'])
    answer = '' if stopped else drawn.choice(['', ' ', 'Done.'])
    settings = {'simulator': drawn.choice([None, 'small', nested(50)])}
    return Trajectory('dfsdt', tuple(steps), answer, stopped, tuple(reversed(path)), settings=settings)


def test_hostile_trajectories_are_scored() -> None:
    drawn = Random(7)
    tasks = [
        Task(str(number), 'teval', 'Go.', (), drawn.choice(GOLDS), relevant=drawn.choice([(), ('find', 'book')]))
        for number in range(400)
    ]
    done = [drawn_tree(drawn).to_json() for _ in tasks]
    scores = score_predictions(tasks, list(map(as_answer, done)))
    for score in scores:
        assert tuple(score.values) == METRICS
        assert all(value is None or 0 <= value <= 1 for value in score.values.values()), score.values
        assert score.reason in REASONS
    text = json.dumps(
        [[score.to_detail() for score in scores], breakdown(scores), settings_of(scores)], allow_nan=False
    )
    assert text.isascii()
    again = score_predictions(tasks, list(map(as_answer, done)))
    assert [score.to_detail() for score in again] == [score.to_detail() for score in scores]
