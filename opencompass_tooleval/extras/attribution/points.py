"""Points that a server lost: scores of the answers as served, and as the model wrote them.

An evaluation writes them to ``serving`` in a result (:func:`faults_payload`); tables, reports and gates read them from
there (:func:`read_faults`). This module does not import OpenCompass.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from opencompass_tooleval.catalogue.benchmark import RecordedRun
from opencompass_tooleval.catalogue.metrics import lower_is_better, main_metrics
from opencompass_tooleval.core.calls.answer import Answer, postprocessed
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.core.scoring.scorer import Scored, Scorer
from opencompass_tooleval.core.statistics.intervals import NOISE, compare_column
from opencompass_tooleval.core.statistics.paired import Result, pairs_of
from opencompass_tooleval.core.text.jsonable import is_number
from opencompass_tooleval.extras.attribution.causes import (
    CAUSES,
    COUNTED_IN_POINTS,
    NAMES,
    NONE,
    SERVING,
    UNKNOWN,
    Attribution,
)
from opencompass_tooleval.extras.attribution.reading import attribution_of_all

MOST_RAW = 500
"""Maximum length of the model's own text in a sample of a result; the predictions have the complete text."""
_MOST_SAMPLES = 10**9
_MOST_NAMES, _NAME_CHARS = 3, 200


@dataclass(frozen=True)
class Loss:
    """A score of the answers as served and as written.

    Attributes:
        served: The official score, 0-100.
        written: The same score with every answer as the model wrote it.
        lost: Points that the server lost: positive if the answers as written are better.
        low: Lower end of the 95% interval of ``lost``, over records; None if the score is not a mean of its samples.
        high: Upper end of this interval.
    """

    served: float
    written: float
    lost: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        interval = '' if self.low is None or self.high is None else f' [{self.low + 0.0:.1f}, {self.high + 0.0:.1f}]'
        return f'{self.lost + 0.0:.1f} points{interval}'


@dataclass(frozen=True)
class Faults:
    """``serving`` in a result.

    Attributes:
        causes: Cause -> number of samples, of all trials; they add up to all samples.
        points: Metric -> its loss; empty if all answers were served as written.
        names: Text that the names of all calls in an answer begin or end with -> number of samples.
    """

    causes: Mapping[str, int]
    points: Mapping[str, Loss]
    names: Mapping[str, int] = field(default_factory=dict)

    @property
    def main(self) -> dict[str, Loss]:
        """The losses of the main metrics."""
        return {metric: self.points[metric] for metric in main_metrics(list(self.points)) if self.points}

    @property
    def blamed(self) -> dict[str, int]:
        """Causes that can be counted in points -> number of samples, if above 0."""
        return {cause: self.causes[cause] for cause in COUNTED_IN_POINTS if self.causes.get(cause)}

    @property
    def samples(self) -> int:
        """Number of samples."""
        return sum(self.causes.values())


def faults_payload(
    scorer: Scorer,
    served: Result,
    second: Sequence[Sequence[SampleScore]],
    attributions: Sequence[Attribution | None],
) -> dict[str, Any]:
    """Returns ``serving`` for a result.

    Args:
        scorer: The scorer that aggregates both kinds of scores.
        served: The result of the answers as served, with details.
        second: For each trial, all scores, with written answers in place of served ones; empty if no answers differ.
        attributions: One attribution per detail; None counts as unknown.
    """
    causes = Counter(one.cause if one else UNKNOWN for one in attributions)
    written = as_result(scorer, second) if second else {}
    losses = {metric: _loss(served, written, metric) for metric in scorer.metrics if written}
    points = {metric: asdict(loss) for metric, loss in losses.items() if loss}
    names = Counter(one.note[one.note.index(NAMES) :] for one in attributions if one and NAMES in one.note)
    counts = {'causes': dict(sorted(causes.items(), key=lambda item: (-item[1], item[0]))), 'points': points}
    return {**counts, 'names': dict(names.most_common(_MOST_NAMES))} if names else counts


def faults_of_recorded(run: RecordedRun, scored: Scored) -> dict[str, Any]:
    """Returns ``serving`` for recorded answers; empty if it is unknown for all what the model wrote.

    Args:
        run: The answers.
        scored: Their scores as served.
    """
    found = [
        attribution_of_all(answer.observed) if isinstance(answer, Answer) else None for answer in run.answers.values()
    ]
    written = {place: one.written for place, one in enumerate(found) if one and one.written}
    again: dict[int, SampleScore] = {}
    if written and run.scorer.can_score_again:
        answers = postprocessed([Answer(one.text, calls=one.calls) for one in written.values()], run.postprocess)
        records = [run.records[place] for place in written]
        again = dict(zip(written, run.scorer.score_answers(records, answers), strict=True))
    second = [[again.get(place, score) for place, score in enumerate(scored.scores)]] if again else []
    return faults_payload(run.scorer, as_result(run.scorer, [scored.scores]), second, found) if any(found) else {}


def as_result(scorer: Scorer, trials: Sequence[Sequence[SampleScore]]) -> dict[str, Any]:
    """Returns the metrics (means over trials) and the details of scores, for paired statistics."""
    totals = [scorer.total(scores).metrics for scores in trials]
    values = {name: [value for total in totals if (value := total[name]) is not None] for name in scorer.metrics}
    metrics = {name: math.fsum(known) / len(known) for name, known in values.items() if known}
    return {**metrics, 'details': [score.to_detail() for scores in trials for score in scores]}


def _loss(served: Result, written: Result, metric: str) -> Loss | None:
    before, after = served.get(metric), written.get(metric)
    if not is_number(before) or not is_number(after):
        return None
    sign = -1 if lower_is_better(metric) else 1
    lost, pairs = sign * (after - before) + 0.0, pairs_of(served, written, metric)
    if pairs is None or pairs.unshared:  # the interval would be that of another difference
        return Loss(before, after, lost)
    interval = compare_column({('', metric): 1.0}, {('', metric): pairs})
    low, high = sorted((sign * interval.low + 0.0, sign * interval.high + 0.0))
    return Loss(before, after, lost, low, high)


def of_sample(attribution: Attribution | None, written: SampleScore | None) -> dict[str, Any]:
    """Returns ``serving`` for a detail; empty without a known error of the server.

    Args:
        attribution: The attribution of the sample.
        written: The sample's score as written, if it was scored again.
    """
    fault = fault_of(attribution)
    row = {**fault, 'raw': fault['raw'][:MOST_RAW], 'written': dict(written.values) if written else {}} if fault else {}
    return {name: value for name, value in row.items() if value}


def fault_of(attribution: Attribution | None) -> dict[str, str]:
    """Returns cause, note and raw text of an error; empty without a known error of the server."""
    if attribution is None or attribution.cause in (NONE, UNKNOWN):
        return {}
    return {'cause': attribution.cause, 'note': attribution.note, 'raw': attribution.raw}


def read_faults(result: Mapping[str, Any]) -> Faults | None:
    """Parses ``serving`` in a stored result; returns None without one. Invalid members are left out."""
    raw = result.get(SERVING)
    if not isinstance(raw, Mapping):
        return None
    points, names = raw.get('points'), _counts(raw.get('names'))
    counts = {cause: count for cause, count in _counts(raw.get('causes')).items() if cause in CAUSES}
    losses = {
        metric: loss
        for metric, row in (points.items() if isinstance(points, Mapping) else ())
        if isinstance(row, Mapping) and (loss := _read_loss(row))
    }
    shown = {' '.join(name.split())[:_NAME_CHARS]: count for name, count in names.items() if name.startswith(NAMES)}
    return Faults(counts, losses, shown) if counts else None


def _counts(value: Any) -> dict[str, int]:
    """Returns the members of an object whose values are counts."""
    items = value.items() if isinstance(value, Mapping) else ()
    return {name: count for name, count in items if type(count) is int and 0 < count < _MOST_SAMPLES}


def _read_loss(row: Mapping[str, Any]) -> Loss | None:
    served, written, lost, low, high = (
        number if is_number(number := row.get(name)) else None for name in ('served', 'written', 'lost', 'low', 'high')
    )
    return None if served is None or written is None or lost is None else Loss(served, written, lost, low, high)


def is_lost(loss: Loss, most: float = 0.0) -> bool:
    """Tests if a server lost more than ``most`` points."""
    return loss.lost > most + NOISE
