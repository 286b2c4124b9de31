"""Description of UltraTool for tables, commands and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.metrics import METRICS
from opencompass_tooleval.benchmarks.ultratool.subsets import SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark

_ROWS: Sequence[Mapping[str, Any]] = SUBSETS

BENCHMARK = Benchmark(
    name='ultratool',
    title='UltraTool',
    paper='arXiv 2401.17167',
    subsets=tuple(row['name'] for row in _ROWS),
    metrics=METRICS,
    sizes={(row['name'], None): row['count'] for row in _ROWS},
    words={'zh': 'Chinese', 'en': 'English'},
)
