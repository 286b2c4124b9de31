"""Usage of the answers in a run, as an estimate for another model on the same datasets."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.usage_summary import counted_by, spending_of
from opencompass_tooleval.work_dir.work_dir import WorkDir


@dataclass(frozen=True)
class EarlierUsage:
    """Mean usage of the answers to one dataset.

    Attributes:
        prompt: Mean number of prompt tokens per answer (over all rounds of a dialogue), averaged over models.
        completion: Mean number of completion tokens per answer, averaged over models.
        models: The models that gave the answers.
        counted_by: The server or tokenizer that counted the tokens.
    """

    prompt: float
    completion: float
    models: tuple[str, ...]
    counted_by: str = ''


def earlier_usage(run: Path, datasets: Collection[str]) -> dict[str, EarlierUsage]:
    """Returns the mean usage of answers by dataset, from the results of a run.

    Args:
        run: A run, or a folder of runs (the latest is used). It need not exist.
        datasets: Abbrs of the datasets to read.
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
            continue  # a damaged result has no usage
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
