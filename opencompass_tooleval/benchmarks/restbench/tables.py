"""Description of RestBench for tables, commands and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.restbench.metrics import METRICS
from opencompass_tooleval.benchmarks.restbench.subsets import SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark

_ROWS: Sequence[Mapping[str, Any]] = SUBSETS

BENCHMARK = Benchmark(
    name='restbench',
    title='RestBench',
    paper='arXiv 2306.06624',
    subsets=tuple(row['name'] for row in _ROWS),
    metrics=METRICS,
    sizes={(row['name'], None): row['records'] for row in _ROWS},
    words={'tmdb': 'TMDB', 'spotify': 'Spotify', 'fc': 'function calling'},
)
