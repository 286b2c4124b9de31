"""FuncQA's metrics, and the columns of EasyTool's Table 6: a row for each."""

from __future__ import annotations

from dataclasses import replace

from opencompass_tooleval.catalogue.metrics import (
    ACCURACY,
    PARAMETER_ERROR_RATE,
    TOOL_ERROR_RATE,
    TOOL_NAME_ERROR_RATE,
    Metric,
    halves,
)

_COLUMNS = (
    Metric('one_hop', 'One-hop', 'share of correct answers to questions of one calculation', rank=2),
    Metric('multi_hop', 'Multi-hop', 'share of correct answers to questions of several calculations', rank=2),
)
_ERRORS = (TOOL_ERROR_RATE, TOOL_NAME_ERROR_RATE, PARAMETER_ERROR_RATE)

METRICS = (
    *_COLUMNS,
    *halves(_COLUMNS, '_strict', 'strict', 'only final numbers within 0.1% of the gold one'),
    ACCURACY,
    Metric(
        'strict_accuracy', 'Accuracy, strict', 'share whose final number is within 0.1% of the gold one', binary=True
    ),
    *_ERRORS,
    *(
        replace(rate, name=column)
        for column, rate in zip(('error', 'name_error', 'parameter_error'), _ERRORS, strict=True)
    ),
)
