"""Description of FuncQA for tables, commands and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.metrics import METRICS
from opencompass_tooleval.benchmarks.funcqa.subsets import SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark

_ROWS: Sequence[Mapping[str, Any]] = SUBSETS

BENCHMARK = Benchmark(
    name='funcqa',
    title='FuncQA',
    paper='arXiv 2305.11554',
    subsets=tuple(row['name'] for row in _ROWS),
    metrics=METRICS,
    sizes={(row['name'], None): row['count'] for row in _ROWS},
    are_dialogues=True,
    words={'cot': 'chain of thought', 'react': 'ReAct', 'easytool': 'EasyTool', 'fc': 'function calling'},
)
