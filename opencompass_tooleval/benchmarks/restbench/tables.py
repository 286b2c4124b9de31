"""Description of RestBench for tables, commands and reports."""

from __future__ import annotations

from opencompass_tooleval.benchmarks.restbench.metrics import METRICS
from opencompass_tooleval.benchmarks.restbench.subsets import SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark

BENCHMARK = Benchmark(
    name='restbench',
    title='RestBench',
    paper='arXiv 2306.06624',
    subsets=tuple(row['name'] for row in SUBSETS),
    metrics=METRICS,
    sizes={(row['name'], None): row['records'] for row in SUBSETS},
    words={'tmdb': 'TMDB', 'spotify': 'Spotify', 'fc': 'function calling'},
)
