"""Description of FuncQA: its metrics, and the columns of EasyTool's Table 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opencompass_tooleval.benchmarks.funcqa.subsets import SUBSETS
from opencompass_tooleval.catalogue.benchmark import Benchmark
from opencompass_tooleval.catalogue.labels import Metric
from opencompass_tooleval.catalogue.metrics import (
    ACCURACY,
    PARAMETER_ERROR_RATE,
    TOOL_ERROR_RATE,
    TOOL_NAME_ERROR_RATE,
    halves,
)

_COLUMNS = (
    Metric('one_hop', 'One-hop', 'share of correct answers to questions with one calculation', rank=2),
    Metric('multi_hop', 'Multi-hop', 'share of correct answers to questions with several calculations', rank=2),
)
_ERRORS = (TOOL_ERROR_RATE, TOOL_NAME_ERROR_RATE, PARAMETER_ERROR_RATE)

METRICS = (
    *_COLUMNS,
    *halves(_COLUMNS, '_strict', 'strict', 'only final numbers within 0.1% of gold'),
    ACCURACY,
    Metric(
        'strict_accuracy',
        'Accuracy, strict',
        'share of answers whose final number is within 0.1% of the gold number',
        binary=True,
    ),
    *_ERRORS,
    *(
        replace(rate, name=column)
        for column, rate in zip(('error', 'name_error', 'parameter_error'), _ERRORS, strict=True)
    ),
)

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
