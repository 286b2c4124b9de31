"""Description of agents: metrics against gold calls, metrics of wasted calls, and metrics by a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.agents.questions import YES_NO
from opencompass_tooleval.agents.subsets import SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark
from opencompass_tooleval.catalogue.labels import Metric

METRICS = (
    Metric(
        'solved_rate',
        'Solved',
        'share of answers that the judge calls solved; an unsure one counts half',
        rank=2,
        by_judge=True,
    ),
    Metric(
        'pass_rate',
        'Passed',
        'share of answers that most judgements call solved, or whose task they call unsolvable',
        rank=3,
        by_judge=True,
    ),
    *(question.metric for question in YES_NO.values()),
    Metric(
        'win_rate',
        'Wins, as published',
        'share of answers that the judge prefers to the reference in most rounds; a tie is not a win',
        rank=5,
        by_judge=True,
    ),
    Metric('win_rate_half_ties', 'Wins and half of ties', 'share of wins; a tie counts as half a win', by_judge=True),
    Metric(
        'tie_rate', 'Ties', 'share of answers that the judge prefers in as many rounds as the reference', by_judge=True
    ),
    Metric('finish_rate', 'Finished', 'share of tasks that end with a final answer', binary=True),
    Metric(
        'call_recall',
        'Recall',
        'share of gold calls that the model made, by name; share of needed tools if only these are known',
    ),
    Metric(
        'call_precision',
        'Precision',
        'share of calls that match a gold call by name; share of called tools that are needed if only these are known',
    ),
    Metric('call_f1', 'F1', 'harmonic mean of precision and recall of calls', rank=7, judged='solved_rate'),
    Metric('call_order', 'Order', 'longest sequence of gold calls made in order, as a share of all gold calls'),
    Metric('arguments', 'Arguments', 'share of matched calls with the same arguments as the gold call'),
    Metric(
        'all_calls_right',
        'All calls right',
        'share of tasks whose calls are the gold calls, one by one',
        binary=True,
        rank=6,
    ),
    Metric(
        'repeated_call_rate',
        'Repeated calls',
        'share of calls that repeat an earlier call although nothing changed',
        higher_is_better=False,
    ),
    Metric(
        'unknown_tool_rate', 'Unknown tools', 'share of calls to tools that are not offered', higher_is_better=False
    ),
    Metric(
        'invalid_call_rate',
        'Invalid calls',
        'share of calls with arguments that the tool rejects',
        higher_is_better=False,
    ),
    Metric(
        'repeated_after_error_rate',
        'Repeated after an error',
        'share of calls that repeat a failed call',
        higher_is_better=False,
    ),
)

_ROWS: Sequence[Mapping[str, Any]] = SUBSETS

BENCHMARK = Benchmark(
    name='agents',
    title='Agents',
    paper='arXiv 2312.14033, 2307.16789, 2401.17167',
    subsets=tuple(row['name'] for row in _ROWS),
    metrics=METRICS,
    sizes={(row['name'], None): row['tasks'] for row in _ROWS if row['tasks']},
    are_agents=True,
    are_dialogues=True,
    words={'react': 'ReAct', 'dfsdt': 'DFSDT', 'fc': 'function calling', 'easytool': 'EasyTool'},
)
