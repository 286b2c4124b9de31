"""Description of ToolBench and its metrics (EasyTool, Figures 3 and 4, Tables 4 and 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.subsets import FILES, SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark
from opencompass_tooleval.catalogue.labels import Metric
from opencompass_tooleval.catalogue.metrics import ACCURACY, PARAMETER_ERROR_RATE, SUCCESS_RATE, TOOL_NAME_ERROR_RATE

METRICS = (
    ACCURACY,
    Metric(
        'error_free_rate',
        'Error-free',
        'share of answers in which all calls are valid according to the documentation',
        binary=True,
        rank=2,
    ),
    TOOL_NAME_ERROR_RATE,
    PARAMETER_ERROR_RATE,
    SUCCESS_RATE,
    Metric('ndcg@1', 'NDCG@1', 'ranking quality of the needed tools at rank 1 (0 worst, 100 best)'),
    Metric('ndcg@5', 'NDCG@5', 'ranking quality of the needed tools in the first five ranks (0 worst, 100 best)'),
)

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
