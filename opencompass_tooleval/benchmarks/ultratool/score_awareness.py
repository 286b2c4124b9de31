"""Tool creation awareness and tool usage awareness: 0 or 1 for each step (UltraTool, sections 3.3 and 3.4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import GoldStep, Record
from opencompass_tooleval.benchmarks.ultratool.protocol import Protocol
from opencompass_tooleval.benchmarks.ultratool.score_steps import (
    STEP_MISSING,
    UNREADABLE,
    WRONG_FLAG,
    SampleResult,
    StepScore,
    item_of,
    other_steps,
)
from opencompass_tooleval.core.scoring.result import OK

LOCAL = 'local_accuracy'
GLOBAL = 'global_accuracy'


def flag(item: Mapping[str, Any]) -> int | None:
    """Returns ``int(tool)``; None if ``tool`` is missing or not a number."""
    try:
        return int(item['tool'])
    # {"tool": 1e999} parses as inf, and int(inf) raises OverflowError.
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def accuracy(steps: tuple[StepScore, ...], record: Record, items: Sequence[Any], protocol: Protocol) -> SampleResult:
    """Computes global and local accuracy of scored steps."""
    hits = tuple(float(step.values[LOCAL] or 0) for step in steps)
    values = {GLOBAL: float(all(hits)), LOCAL: sum(hits) / len(hits)}
    return SampleResult(values, steps, tuple(other_steps(record, items, protocol)), {LOCAL: hits})


def _score_step(step: GoldStep, items: Sequence[Any], protocol: Protocol) -> StepScore:
    """Scores a step. Official: the first readable item with its number counts. Strict: the first one, readable or
    not."""
    item, seen = item_of(items, step, protocol, lambda item: protocol.strict or flag(item) is not None)
    predicted = None if item is None else flag(item)
    gold = int(step.tool)
    if predicted == gold:
        return StepScore(step.number, {LOCAL: 1.0}, OK, predicted, gold)
    reason = WRONG_FLAG if predicted is not None else UNREADABLE if seen else STEP_MISSING
    return StepScore(step.number, {LOCAL: 0.0}, reason, predicted, gold, (reason,))


def score(record: Record, items: Sequence[Any], protocol: Protocol) -> SampleResult:
    """Scores the items of an answer. A step without a readable item is wrong."""
    steps = tuple(_score_step(step, items, protocol) for step in record.reference)
    return accuracy(steps, record, items, protocol)
