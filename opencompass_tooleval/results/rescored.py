"""Compares a result with the one that it replaces: what another scoring of the same answers moves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opencompass_tooleval.catalogue.metrics import lower_is_better, main_metrics
from opencompass_tooleval.catalogue.provenance import Provenance
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.statistics.intervals import NOISE
from opencompass_tooleval.core.statistics.paired import Result, metrics_of, values_of
from opencompass_tooleval.work_dir.stored import ANSWERS, ORIGIN, SCORING, is_intact
from opencompass_tooleval.work_dir.work_dir import read_result

RESCORED = 'rescored'
"""Key in a result of :func:`rescored`."""
_MOST_NAMED = 100


def rescored(before: Path, result: Result, origin: Mapping[str, str]) -> dict[str, Any]:
    """Compares a result with the one that it replaces.

    Args:
        before: The file of the earlier result, which need not exist.
        result: The new result, with ``details``.
        origin: The digests of the new result.

    Returns:
        ``versions``: the VERSION of both; and for each main metric that moved its score ``before`` and the ids of the
        answers that became ``right`` and ``wrong``, that is, whose value became better or worse (at most 100 ids, with
        their number ``right_count`` and ``wrong_count``). Empty if nothing moved, or the answers are others. If the
        scoring is the same, what the earlier result says.
    """
    try:
        earlier = (read_result(before) or {}) if before.is_file() and is_intact(before) else {}
    except DataError:
        return {}
    earlier_origin = earlier.get(ORIGIN)
    if not isinstance(earlier_origin, Mapping) or earlier_origin.get(ANSWERS) != origin[ANSWERS]:
        return {}
    if earlier_origin.get(SCORING) == origin[SCORING]:
        kept = earlier.get(RESCORED)
        return dict(kept) if isinstance(kept, Mapping) else {}
    metrics = [metric for metric in main_metrics(metrics_of(result)) if metric in earlier]
    moved = {metric: of for metric in metrics if (of := _moved(earlier, result, metric))}
    versions = [Provenance.of(one).version for one in (earlier, result)]
    return {'versions': versions, 'metrics': moved} if moved else {}


def _moved(earlier: Result, result: Result, metric: str) -> dict[str, Any]:
    first, second = values_of(earlier, metric) or {}, values_of(result, metric) or {}
    sign = -1 if lower_is_better(metric) else 1
    gains = {name: sign * (second[name].value - first[name].value) for name in first if name in second}
    right, wrong = ([name for name, gain in gains.items() if side * gain > NOISE] for side in (1, -1))
    if earlier[metric] == result[metric] and not right and not wrong:
        return {}
    counts = {'right_count': len(right), 'wrong_count': len(wrong)}
    return {'before': earlier[metric], **counts, 'right': right[:_MOST_NAMED], 'wrong': wrong[:_MOST_NAMED]}
