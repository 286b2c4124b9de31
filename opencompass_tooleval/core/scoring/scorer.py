"""Base class of scorers: turns records and answers (a model's, or recorded ones) into a result."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from opencompass_tooleval.core.scoring.aggregate import Aggregate, aggregate
from opencompass_tooleval.core.scoring.result import SampleScore


class Similarity(Protocol):
    """Similarity of many strings at once.

    Attributes:
        name: Name in results, for example ``all-mpnet-base-v2``.
    """

    name: str

    def prepare(self, texts: Iterable[str]) -> None:
        """Announces all strings, so that an encoder can batch them."""

    def matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Returns similarities in 0-1, shape ``(len(left), len(right))``; equal strings have exactly equal rows."""

    def prepare_batches(self, batches: Iterable[Sequence[str]]) -> None:
        """Announces all ``left`` and ``right`` of later calls of :meth:`batch_matrix`."""

    def batch_matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Returns :meth:`matrix` with the rounding of a reference implementation that encodes each list as one batch.

        Equal strings may then differ in their last bits, which can decide between equally good matchings.
        """


class ExactSimilarity:
    """A similarity of 1 for equal strings and 0 for others, for tests and for runs without an encoder."""

    name = 'exact'

    def prepare(self, texts: Iterable[str]) -> None:
        """Does nothing."""

    def matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Returns 1 for equal strings and 0 for others, shape ``(len(left), len(right))``."""
        return np.array([[float(a == b) for b in right] for a in left]).reshape(len(left), len(right))

    def prepare_batches(self, batches: Iterable[Sequence[str]]) -> None:
        """Does nothing."""

    def batch_matrix(self, left: Sequence[str], right: Sequence[str]) -> NDArray[np.float64]:
        """Returns :meth:`matrix`, since nothing is rounded."""
        return self.matrix(left, right)


class Batchwise:
    """A similarity whose :meth:`matrix` rounds as :meth:`Similarity.batch_matrix` does.

    Args:
        similarity: The similarity whose ``batch_matrix`` is used.
    """

    def __init__(self, similarity: Similarity) -> None:
        self.name = similarity.name
        self.prepare = similarity.prepare
        self.prepare_batches = similarity.prepare_batches
        self.matrix = self.batch_matrix = similarity.batch_matrix


@dataclass(frozen=True)
class Scored:
    """The scores of one run of a dataset.

    Attributes:
        scores: The score of each sample, in the data's order.
        total: The aggregate of the scores.
        breakdown: Other parts of the result, besides its metrics.
    """

    scores: list[SampleScore]
    total: Aggregate
    breakdown: dict[str, Any]


class Scorer:
    """Base class of the benchmarks' scorers. A subclass reads and scores records, and names its settings.

    The benchmark's evaluator is a subclass of its scorer, so recorded answers are scored as in a sweep.
    """

    subset: Any = None
    """The row of the benchmark's table that is scored; it has ``metrics``."""

    @property
    def metrics(self) -> Sequence[str]:
        """Names of the metrics in a fixed order."""
        metrics: Sequence[str] = self.subset.metrics
        return metrics

    @property
    def can_score_again(self) -> bool:
        """True if answers can be scored again; False if this would need a judge."""
        return True

    @abstractmethod
    def provenance(self) -> dict[str, Any]:
        """Returns the settings that affect scores: benchmark, subset, protocol, encoder, version, ..."""

    @abstractmethod
    def read_record(self, payload: str) -> Any:
        """Reads a record from the dataset's column ``record``."""

    @abstractmethod
    def score_records(self, records: Sequence[Any], answers: Sequence[Any]) -> Sequence[SampleScore]:
        """Scores postprocessed answers, one per record. An answer with an ``infra:`` reason is a failure."""

    def query_of(self, record: Any) -> str:
        """Returns the query of a record; ``''`` (the default) if no other record has it."""
        return ''

    def score_answers(self, records: Sequence[Any], answers: Sequence[Any]) -> list[SampleScore]:
        """Scores answers with :meth:`score_records`, and adds the queries of the records."""
        scores, queries = self.score_records(records, answers), [self.query_of(record) for record in records]
        if not any(queries):
            return list(scores)
        return [replace(score, query=query) for score, query in zip(scores, queries, strict=True)]

    def total(self, scores: Sequence[Any]) -> Aggregate:
        """Aggregates samples. By default every metric is a mean over samples."""
        return aggregate(scores, self.metrics)

    def breakdown(self, scores: Sequence[Any]) -> dict[str, Any]:
        """Returns other parts of the result, such as scores per domain. By default there are none."""
        return {}

    def summarize(self, scores: Sequence[SampleScore], record_ids: Sequence[str]) -> Scored:
        """Aggregates the scores of one run, after checking that there is one per record, in the data's order.

        Raises:
            ValueError: The scores do not match the records, which is a bug of this package.
        """
        if [score.id for score in scores] != list(record_ids):
            raise ValueError('scores are not one per sample in the order of the data: a fault of opencompass_tooleval')
        return Scored(list(scores), self.total(scores), self.breakdown(scores))
