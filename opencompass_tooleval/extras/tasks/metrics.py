"""Metrics of agents on a user's own tools, and the benchmark's description for tables and reports."""

from __future__ import annotations

from opencompass_tooleval.agents.description import METRICS as OF_AGENTS
from opencompass_tooleval.catalogue.benchmark import Benchmark
from opencompass_tooleval.catalogue.labels import Metric
from opencompass_tooleval.catalogue.subset_names import SubsetRow

SOLVED = 'solved'
FORBIDDEN_RATE = 'forbidden_call_rate'

_OF_AGENTS = (
    'finish_rate', 'repeated_call_rate', 'unknown_tool_rate', 'invalid_call_rate', 'repeated_after_error_rate',
)  # fmt: skip

METRICS = (
    Metric(SOLVED, 'Solved', 'share of tasks whose goal is reached; no judge is asked', binary=True, rank=2),
    Metric(
        FORBIDDEN_RATE,
        'Forbidden calls',
        'share of tasks with forbidden tools in which one is called',
        higher_is_better=False,
    ),
    *(metric for metric in OF_AGENTS if metric.name in _OF_AGENTS),
)

NAMES = (SOLVED, _OF_AGENTS[0], FORBIDDEN_RATE, *_OF_AGENTS[1:])
"""Names of all metrics, in the order of results."""


class TasksRow(SubsetRow):
    """The metrics of a file of tasks, the same for all files."""

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
