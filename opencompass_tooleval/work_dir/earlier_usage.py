"""What answers cost that a run has already: the best guess at what the same data sets cost another model."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.usage_summary import counted_by, spending_of
from opencompass_tooleval.work_dir.work_dir import WorkDir


@dataclass(frozen=True)
class EarlierUsage:
    """Of the answers to one data set.

    Attributes:
        prompt: Tokens of what is asked per answer, the mean of the models' means; of a dialogue those of all rounds.
        completion: Tokens of an answer, likewise.
        models: Whose answers they are.
        by: Who counted these tokens.
    """

    prompt: float
    completion: float
    models: tuple[str, ...]
    by: str = ''


def earlier_usage(run: Path, datasets: Collection[str]) -> dict[str, EarlierUsage]:
    """Data set -> what its answers cost so far, as the results of a run say it.

    Args:
        run: A run, or a folder of runs, of which the latest counts; perhaps none at all.
        datasets: Their abbrs; others are not looked at.
    """
    try:
        work = WorkDir.find(run)
    except DataError:
        return {}
    means: dict[str, dict[str, tuple[float, float]]] = {}
    counters: dict[str, dict[str, None]] = {}
    for model, dataset in work.pairs():
        if dataset not in datasets:
            continue
        try:
            usage = (work.result(model, dataset) or {}).get('usage')
        except DataError:
            continue  # a damaged result says nothing
        spending = spending_of(usage)
        count = spending.with_tokens if spending else 0
        if spending and count > 0:
            means.setdefault(dataset, {})[model] = spending.prompt / count, spending.completion / count
            counters.setdefault(dataset, {})[counted_by(usage or {})] = None
    earlier = {}
    for dataset, by_model in means.items():
        prompt, completion = (sum(part) / len(by_model) for part in zip(*by_model.values(), strict=True))
        earlier[dataset] = EarlierUsage(prompt, completion, tuple(by_model), ', '.join(filter(None, counters[dataset])))
    return earlier
