"""Description of T-Eval for tables, commands and reports."""

from __future__ import annotations

from opencompass_tooleval.benchmarks.teval.metrics import METRICS
from opencompass_tooleval.benchmarks.teval.subsets import SUBSETS, VERSIONS
from opencompass_tooleval.catalogue.benchmark import Benchmark

BENCHMARK = Benchmark(
    name='teval',
    title='T-Eval',
    paper='arXiv 2312.14033',
    subsets=tuple(row['name'] for row in SUBSETS),
    metrics=METRICS,
    sizes={(row['name'], version): count for row in SUBSETS for version, count in row['counts'].items()},
    protocols={version: version.partition('_')[0] for version in VERSIONS},
    words={'zh': 'Chinese', 'en': 'English', 'json': 'JSON', 'str': 'text', 'fc': 'function calling'},
)
