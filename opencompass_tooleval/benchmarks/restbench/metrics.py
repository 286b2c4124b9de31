"""RestBench's metrics (EasyTool, Figure 5): a row for each."""

from __future__ import annotations

from opencompass_tooleval.catalogue.metrics import TOOL_NAME_ERROR_RATE, Metric

METRICS = (
    Metric(
        'correct_path_rate',
        'Correct path',
        'share of answers that contain the gold calls in order',
        binary=True,
        rank=2,
    ),
    TOOL_NAME_ERROR_RATE,
)
