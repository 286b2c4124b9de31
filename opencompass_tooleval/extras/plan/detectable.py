"""Plans a gate: computes the smallest detectable drops from the variance of earlier runs. Imports no OpenCompass."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opencompass_tooleval.catalogue.metrics import main_metrics
from opencompass_tooleval.core.statistics.intervals import RecordValues, deviations_of
from opencompass_tooleval.core.statistics.paired import metrics_of
from opencompass_tooleval.extras.plan.power import (
    Noise,
    detectable_drop,
    needed_queries,
    needed_trials,
    noise_of,
    trials_of,
)
from opencompass_tooleval.results.result_row import Results

Size = tuple[int | None, int]
"""Number of records of a data set (None for as many as in the earlier run), and number of trials."""


@dataclass(frozen=True)
class Detectable:
    """The smallest drop of one score that ``tooleval gate`` would find.

    Attributes:
        dataset: The data set.
        metric: A main metric of the data set.
        records: Number of records.
        trials: Number of trials of the new run.
        baseline_trials: Number of trials of the earlier run.
        drop: The drop that is detected with a chance of 80%, in points; None if no drop is.
        is_measured: True if the variance is from repeated trials; otherwise the drop is an upper bound.
        records_needed: Number of records needed to detect ``detect`` with these trials; None without ``detect``, or if
            no number below a billion queries suffices.
        trials_needed: Number of trials of both runs needed to detect it with these records; None without ``detect``, or
            if no number suffices.
    """

    dataset: str
    metric: str
    records: int
    trials: int
    baseline_trials: int
    drop: float | None
    is_measured: bool
    records_needed: int | None = None
    trials_needed: int | None = None


def detectable(
    earlier: Sequence[Results],
    sizes: Mapping[str, Size],
    models: int,
    detect: float | None = None,
    max_drop: float = 0.0,
) -> list[Detectable]:
    """Computes the smallest detectable drops of a planned sweep, compared with the last of some earlier runs.

    Several earlier runs of a model count as further trials. With several models, each metric uses the model with the
    largest variance; models with repeated trials take precedence.

    Args:
        earlier: Runs or baselines.
        sizes: Planned data set -> its size.
        models: Number of models that are gated at once.
        detect: The drop to detect, in points, above 0.
        max_drop: The drop that the gate allows, in points.

    Raises:
        DataError: A result is damaged.
    """
    scores: list[tuple[str, str, Noise, int, RecordValues]] = []
    for dataset in sizes:
        trials: dict[tuple[str, str], list[RecordValues]] = {}
        last: dict[tuple[str, str], int] = {}
        for run in earlier:
            for model in [name for name, other in run.pairs() if other == dataset]:
                result = run.result(model, dataset) or {}
                for metric in main_metrics(metrics_of(result)):
                    values = list(trials_of(result, metric))
                    trials.setdefault((metric, model), []).extend(values)
                    last[metric, model] = len(values)
        noises = {key: noise for key, values in trials.items() if (noise := noise_of(values))}
        for metric in dict.fromkeys(metric for metric, _ in noises):
            key = max((key for key in noises if key[0] == metric), key=lambda key: _rank(noises[key]))
            scores.append((dataset, metric, noises[key], last[key], trials[key][-1]))
    return [_row(*score, sizes[score[0]], len(scores) * models, detect, max_drop) for score in scores]


def _rank(noise: Noise) -> tuple[bool, float]:
    return noise.is_measured, noise.variance


def _row(
    dataset: str,
    metric: str,
    noise: Noise,
    baseline_trials: int,
    earlier: RecordValues,
    size: Size,
    tests: int,
    detect: float | None,
    max_drop: float,
) -> Detectable:
    records, trials = max(2, size[0] or len(earlier)), size[1]
    records_of_query = len(earlier) / len(deviations_of(earlier))
    queries = max(2, round(records / records_of_query))
    variance = noise.of_difference(baseline_trials, trials)
    needed = needed_queries(detect, variance, tests, max_drop, noise.is_graded) if detect else None
    return Detectable(
        dataset,
        metric,
        records,
        trials,
        baseline_trials,
        detectable_drop(queries, variance, tests, max_drop=max_drop, is_graded=noise.is_graded),
        noise.is_measured,
        math.ceil(needed * records_of_query) if needed else None,
        needed_trials(detect, queries, noise, tests, max_drop) if detect else None,
    )
