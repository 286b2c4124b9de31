"""Description of ToolBench for tables, commands and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.metrics import METRICS
from opencompass_tooleval.benchmarks.toolbench.subsets import FILES, SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark

_SIZES: Mapping[Any, Any] = {file['name']: file['records'] for file in FILES}

_ROWS: Sequence[Mapping[str, Any]] = SUBSETS

BENCHMARK = Benchmark(
    name='toolbench',
    title='ToolBench',
    paper='arXiv 2307.16789',
    subsets=tuple(row['name'] for row in _ROWS),
    metrics=METRICS,
    sizes={(row['name'], None): _SIZES[row['data']] for row in _ROWS if row['data']},
    also_scored=('trajectories',),
    words={'g1': 'G1', 'g2': 'G2', 'g3': 'G3', 'fc': 'function calling'},
)
