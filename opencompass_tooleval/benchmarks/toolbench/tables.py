"""Description of ToolBench for tables, commands and reports."""

from __future__ import annotations

from opencompass_tooleval.benchmarks.toolbench.metrics import METRICS
from opencompass_tooleval.benchmarks.toolbench.subsets import FILES, SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark

_SIZES = {file['name']: file['records'] for file in FILES}

BENCHMARK = Benchmark(
    name='toolbench',
    title='ToolBench',
    paper='arXiv 2307.16789',
    subsets=tuple(row['name'] for row in SUBSETS),
    metrics=METRICS,
    sizes={(row['name'], None): _SIZES[row['data']] for row in SUBSETS if row['data']},
    also_scored=('trajectories',),
    words={'g1': 'G1', 'g2': 'G2', 'g3': 'G3', 'fc': 'function calling'},
)
