"""Scores tool selection: the name of the gold tool for each step (UltraTool, section 3.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import GoldStep, Record
from opencompass_tooleval.benchmarks.ultratool.protocol import Protocol
from opencompass_tooleval.benchmarks.ultratool.score_awareness import LOCAL, accuracy
from opencompass_tooleval.benchmarks.ultratool.score_steps import (
    STEP_MISSING,
    UNREADABLE,
    WRONG_TOOL,
    SampleResult,
    StepScore,
    item_of,
)
from opencompass_tooleval.core.calls.one_call import UNKNOWN_TOOL
from opencompass_tooleval.core.scoring.result import OK


def wrong_name(record: Record, name: Any) -> str:
    """Returns the reason for a wrong name: another tool of the toolset, or an unknown tool."""
    return WRONG_TOOL if any(tool.name == name for tool in record.toolset) else UNKNOWN_TOOL


def _score_step(record: Record, step: GoldStep, items: Sequence[Any], protocol: Protocol) -> StepScore:
    item, seen = item_of(items, step, protocol, lambda item: protocol.strict or 'tool' in item)
    predicted = None if item is None else item.get('tool')
    if isinstance(predicted, str):
        predicted = predicted.replace('\\_', '_')  # Markdown, which the published scorer also unescapes
    if predicted == step.tool:
        return StepScore(step.number, {LOCAL: 1.0}, OK, predicted, step.tool)
    reason = STEP_MISSING if not seen else UNREADABLE
    if isinstance(predicted, str):
        reason = wrong_name(record, predicted)
    return StepScore(step.number, {LOCAL: 0.0}, reason, predicted, step.tool, (reason,))


def score(record: Record, items: Sequence[Any], protocol: Protocol) -> SampleResult:
    """Scores the items of an answer. A step without an item is wrong."""
    steps = tuple(_score_step(record, step, items, protocol) for step in record.reference)
    return accuracy(steps, record, items, protocol)
