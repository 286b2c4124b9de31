"""Metrics of agents on a task set, and the description of task sets for tables and reports."""

from __future__ import annotations

from opencompass_tooleval.agents.description import METRICS as OF_AGENTS
from opencompass_tooleval.catalogue.benchmark import Benchmark
from opencompass_tooleval.catalogue.metrics import Metric
from opencompass_tooleval.catalogue.subset_names import SubsetRow

SOLVED = 'solved'
RESTRAINT_RATE = 'restraint'
FORBIDDEN_RATE = 'forbidden_call_rate'

_UNJUDGED = tuple(metric for metric in OF_AGENTS if not metric.by_judge)

METRICS = (
    Metric(
        SOLVED,
        'Solved',
        'share of tasks that need tools whose goal is reached; no judge is asked',
        binary=True,
        rank=2,
    ),
    Metric(
        RESTRAINT_RATE,
        'Restraint',
        'share of tasks that need no tool, or lack a value to ask for, whose goal is reached',
        binary=True,
    ),
    Metric(
        FORBIDDEN_RATE,
        'Forbidden calls',
        'share of tasks with forbidden tools in which one is called',
        higher_is_better=False,
    ),
    *_UNJUDGED,
)

NAMES = (
    SOLVED,
    RESTRAINT_RATE,
    *(metric.name for metric in _UNJUDGED if metric.higher_is_better),
    FORBIDDEN_RATE,
    *(metric.name for metric in _UNJUDGED if not metric.higher_is_better),
)
"""All of them, in the order of results."""


class TaskSetRow(SubsetRow):
    """The metrics of a task set, which all task sets have."""

    METRICS = METRICS


BENCHMARK = Benchmark(
    name='tasks',
    title='Own tools',
    paper='',
    subsets=(),
    metrics=METRICS,
    are_agents=True,
    are_dialogues=True,
)
