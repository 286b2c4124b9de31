"""Description of Conformance and its metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.catalogue.benchmark import Benchmark
from opencompass_tooleval.catalogue.labels import Metric
from opencompass_tooleval.extras.conformance.subsets import SUBSETS

RIGHT_RATE = 'right_rate'

METRICS = (
    Metric(RIGHT_RATE, 'Right', 'share of requests that are answered right', binary=True, rank=1),
    Metric('plain', 'Plain', 'right answers without tools', binary=True),
    Metric('thoughts', 'Thoughts', 'right answers to requests that need several steps of thought', binary=True),
    Metric('one_call', 'One call', 'requests with the right call', binary=True),
    Metric('several_calls', 'Several calls', 'requests with all calls right in one answer', binary=True),
    Metric('required_call', 'Required call', 'right calls if the request requires a call', binary=True),
    Metric('long_context', 'Long context', 'codes found in registers of 100 to 1,200 lines', binary=True),
    Metric('chinese', 'Chinese', 'right calls and answers in Chinese', binary=True),
    Metric('nested_arguments', 'Nested arguments', 'right calls with objects and lists of objects', binary=True),
    Metric('typed_arguments', 'Typed arguments', 'right calls with numbers, booleans, null and escapes', binary=True),
    Metric('tool_results', 'Tool results', 'right answers and calls after the result of a tool', binary=True),
    Metric('system_text', 'System text', 'answers with a fact that only the system text contains', binary=True),
    Metric('no_tool_needed', 'No tool needed', 'right answers without a call, although tools are offered', binary=True),
)

_ROWS: Sequence[Mapping[str, Any]] = SUBSETS

BENCHMARK = Benchmark(
    name='conformance',
    title='Conformance',
    paper='-',
    subsets=tuple(row['name'] for row in _ROWS),
    metrics=METRICS,
    sizes={(row['name'], None): row['requests'] for row in _ROWS},
)
