"""ToolBench's metrics (EasyTool, Figures 3 and 4, Tables 4 and 5): a row for each."""

from __future__ import annotations

from opencompass_tooleval.core.metrics import (
    ACCURACY,
    PARAMETER_ERROR_RATE,
    SUCCESS_RATE,
    TOOL_NAME_ERROR_RATE,
    Metric,
)

METRICS = (
    ACCURACY,
    Metric(
        'error_free_rate', 'Error-free', 'share of answers whose calls all fit the documentation', binary=True, rank=2
    ),
    TOOL_NAME_ERROR_RATE,
    PARAMETER_ERROR_RATE,
    SUCCESS_RATE,
    Metric('ndcg@1', 'NDCG@1', 'how well the first place is filled with what is needed'),
    Metric('ndcg@5', 'NDCG@5', 'how well the first five places are filled with what is needed'),
)
