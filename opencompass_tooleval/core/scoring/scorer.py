"""Base of scorers: the one way from records and answers to a result, for models' answers and for recorded ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.core.scoring.aggregate import Aggregate, aggregate
from opencompass_tooleval.core.scoring.result import SampleScore


@dataclass(frozen=True)
class Scored:
    """The scores of one run of a data set.

    Attributes:
        scores: One per sample, in the data's order.
        total: Their aggregate.
        breakdown: Further parts of the result beside its metrics.
    """

    scores: list[SampleScore]
    total: Aggregate
    breakdown: dict[str, Any]


class Scorer:
    """Base of the benchmarks' scorers. A subclass reads and scores records, and names its settings.

    The benchmark's evaluator is a subclass of its scorer, so that recorded answers are scored as in a sweep.
    """

    subset: Any = None
    """The scored row of the benchmark's table; it has ``metrics``."""

    @property
    def metrics(self) -> Sequence[str]:
        """Names of the metrics in their fixed order."""
        metrics: Sequence[str] = self.subset.metrics
        return metrics

    @property
    def can_score_again(self) -> bool:
        """True if answers can be scored a second time; False where a judge would have to be asked again."""
        return True

    @abstractmethod
    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on: benchmark, subset, protocol, encoder, version, ..."""

    @abstractmethod
    def read_record(self, payload: str) -> Any:
        """Reads a record from the data set's column ``record``."""

    @abstractmethod
    def score_records(self, records: Sequence[Any], answers: Sequence[Any]) -> Sequence[SampleScore]:
        """Scores postprocessed answers, one per record; one with an ``infra:`` reason is a failure."""

    def query_of(self, record: Any) -> str:
        """Returns the query that a record asks; ``''``, by default, if no other record asks it."""
        return ''

    def score_answers(self, records: Sequence[Any], answers: Sequence[Any]) -> list[SampleScore]:
        """Scores answers with :meth:`score_records`, and adds the queries of the records."""
        scores, queries = self.score_records(records, answers), [self.query_of(record) for record in records]
        if not any(queries):
            return list(scores)
        return [replace(score, query=query) for score, query in zip(scores, queries, strict=True)]

    def total(self, scores: Sequence[Any]) -> Aggregate:
        """Aggregates samples; by default every metric is a mean over samples."""
        return aggregate(scores, self.metrics)

    def breakdown(self, scores: Sequence[Any]) -> dict[str, Any]:
        """Returns further parts of the result, such as scores per domain; by default nothing."""
        return {}

    def summarize(self, scores: Sequence[SampleScore], record_ids: Sequence[str]) -> Scored:
        """Aggregates the scores of one run, after a check that there is one per record, in the data's order.

        Raises:
            ValueError: There is not, because of a bug of this package.
        """
        if [score.id for score in scores] != list(record_ids):
            raise ValueError('scores are not one per sample in the order of the data: a fault of opencompass_tooleval')
        return Scored(list(scores), self.total(scores), self.breakdown(scores))
