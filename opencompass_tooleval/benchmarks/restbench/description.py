"""Description of RestBench and its metrics (EasyTool, Figure 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.restbench.subsets import SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark
from opencompass_tooleval.catalogue.labels import SHARED, Metric

METRICS = (
    Metric(
        'correct_path_rate',
        'Correct path',
        'share of answers that contain the gold calls in order',
        binary=True,
        rank=2,
    ),
    SHARED['tool_name_error_rate'],
)

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
