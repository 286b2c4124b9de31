"""Which scores of a result a judge gave, and which judge."""

from __future__ import annotations

from typing import Any

from opencompass_tooleval.core.benchmark import BENCHMARKS, find_benchmark
from opencompass_tooleval.core.metrics import OVERALL
from opencompass_tooleval.exports.evaluation import Evaluation

_ABOUT = ('judge', 'judge_hash', 'judge_settings', 'judge_prompt', 'judgements', 'judged', 'judgements_per_answer')


def judge_of(evaluation: Evaluation) -> dict[str, Any] | None:
    """Returns judge, settings, and the digest of its prompt; None if no judge was asked."""
    provenance = evaluation.scored.part('provenance')
    return {key: provenance.get(key) for key in _ABOUT} if provenance.get('judge') else None


def judged_names(evaluation: Evaluation) -> set[str]:
    """Returns the names of the scores that a judge gives."""
    if evaluation.benchmark not in BENCHMARKS:
        return set()
    metrics = find_benchmark(evaluation.benchmark).metrics
    return {OVERALL, *(metric.name for metric in metrics if metric.by_judge)}
