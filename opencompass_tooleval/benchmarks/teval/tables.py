"""Description of T-Eval for tables, commands and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.teval.metrics import METRICS
from opencompass_tooleval.benchmarks.teval.subsets import SUBSETS, VERSIONS
from opencompass_tooleval.catalogue.benchmark import Benchmark

_ROWS: Sequence[Mapping[str, Any]] = SUBSETS

BENCHMARK = Benchmark(
    name='teval',
    title='T-Eval',
    paper='arXiv 2312.14033',
    subsets=tuple(row['name'] for row in _ROWS),
    metrics=METRICS,
    sizes={(row['name'], version): count for row in _ROWS for version, count in row['counts'].items()},
    protocols={version: version.partition('_')[0] for version in VERSIONS},
    words={'zh': 'Chinese', 'en': 'English', 'json': 'JSON', 'str': 'text', 'fc': 'function calling'},
)
