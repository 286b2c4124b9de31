"""ToolBench's metrics (EasyTool, Figures 3 and 4, Tables 4 and 5): a row for each."""

from __future__ import annotations

from opencompass_tooleval.catalogue.metrics import (
    ACCURACY,
    PARAMETER_ERROR_RATE,
    SUCCESS_RATE,
    TOOL_NAME_ERROR_RATE,
    Metric,
)

METRICS = (
    ACCURACY,
    Metric(
        'error_free_rate',
        'Error-free',
        'share of answers in which all calls are valid by the documentation',
        binary=True,
        rank=2,
    ),
    TOOL_NAME_ERROR_RATE,
    PARAMETER_ERROR_RATE,
    SUCCESS_RATE,
    Metric('ndcg@1', 'NDCG@1', 'ranking of the needed tools on the first place (0 worst, 100 best)'),
    Metric('ndcg@5', 'NDCG@5', 'ranking of the needed tools on the first five places (0 worst, 100 best)'),
)
