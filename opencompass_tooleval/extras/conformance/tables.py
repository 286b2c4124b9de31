"""Description of Conformance for tables, commands and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.catalogue.benchmark import Benchmark
from opencompass_tooleval.extras.conformance.metrics import METRICS
from opencompass_tooleval.extras.conformance.subsets import SUBSETS

_ROWS: Sequence[Mapping[str, Any]] = SUBSETS

BENCHMARK = Benchmark(
    name='conformance',
    title='Conformance',
    paper='-',
    subsets=tuple(row['name'] for row in _ROWS),
    metrics=METRICS,
    sizes={(row['name'], None): row['requests'] for row in _ROWS},
)
