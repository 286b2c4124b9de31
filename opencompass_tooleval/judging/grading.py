"""Grading by a judge: the part that is the same for all benchmarks, which define what is judged and how it scores.

Judgements come from a file or from the judge; they are scored; too many missing judgements are an error; the judge's
verdicts are stored as rows of a file. This module does not import OpenCompass.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

from opencompass_tooleval.core.scoring.scorer import Scorer
from opencompass_tooleval.judging.judge_item import JudgeItem, Judging, single
from opencompass_tooleval.judging.judgement import MISSING, F, Judgement, Unjudged, by_record, check_unjudged, matched

R = TypeVar('R', bound=Any)
S = TypeVar('S')

Item = tuple[Judgement[F], JudgeItem | None]
"""A part of an answer: its judgement without the judge's reply but with the part's digest, and the question about it.
If the answer lacks the part: a ``missing`` judgement, and None."""


@dataclass
class Grading(ABC, Generic[R, F, S]):
    """Answers that a judge grades.

    ``R`` is a record with an ``id``, ``F`` a verdict, ``S`` the score of an answer.

    Attributes:
        records: The records, in the data's order.
        answers: The answers to the records, without thoughts, in the same order.
    """

    records: Sequence[R]
    answers: Sequence[Any]

    @abstractmethod
    def read(self, file: Path) -> list[Judgement[F]]:
        """Reads the judgements of a file.

        Raises:
            DataError: The file is missing or damaged, or judges an answer twice.
        """

    @abstractmethod
    def members(self, found: F) -> Mapping[str, Any]:
        """Converts a verdict to members of a row that :meth:`read` can parse."""

    @abstractmethod
    def dialogues(self) -> Mapping[Any, Judging[Any]]:
        """Starts the dialogues with the judge: name -> dialogue."""

    @abstractmethod
    def collected(self, found: Mapping[Any, Any]) -> list[Judgement[F]]:
        """Converts the results of the dialogues, by name, to judgements."""

    @abstractmethod
    def score_answer(self, record: R, answer: Any, judgements: Sequence[Judgement[F]]) -> S:
        """Scores an answer from judgements of this answer and of other answers to the same record."""

    @abstractmethod
    def opinions(self, score: S) -> Iterable[Unjudged | None]:
        """Yields, for each part of an answer to judge, None if it was judged, or why its judgement is missing."""

    def score(self, judgements: Sequence[Judgement[F]]) -> list[S]:
        """Scores the answers: one score per answer, in order.

        Raises:
            ValueError: A judgement is not for any of the records.
        """
        grouped = by_record(judgements, [record.id for record in self.records])
        pairs = zip(self.records, self.answers, strict=True)
        return [self.score_answer(record, answer, grouped[record.id]) for record, answer in pairs]

    def check(self, scores: Sequence[S], fix: str = '') -> Sequence[S]:
        """Returns the scores.

        Args:
            scores: Scores of the answers.
            fix: Advice if too many judgements are missing.

        Raises:
            UnjudgedError: More than 1% of the judgements are missing.
        """
        opinions = [opinion for score in scores for opinion in self.opinions(score)]
        check_unjudged([opinion for opinion in opinions if opinion], len(opinions), fix)
        return scores

    def rows(self, judgements: Iterable[Judgement[F]]) -> list[dict[str, Any]]:
        """Converts judgements to rows of a file that :meth:`read` can parse."""
        return [judgement.to_row(self.members) for judgement in judgements]


class ItemGrading(Grading[R, F, S]):
    """Grading of answers whose parts are each judged by one question."""

    @abstractmethod
    def items_of(self, record: R, answer: Any) -> Iterable[Item[F]]:
        """Yields the parts of an answer; the answer has no thoughts."""

    @cached_property
    def items(self) -> list[Item[F]]:
        """The parts of all answers."""
        pairs = zip(self.records, self.answers, strict=True)
        return [item for record, answer in pairs for item in self.items_of(record, answer)]

    def dialogues(self) -> dict[int, Judging[Any]]:
        """Starts the dialogues with the judge, one question each: index of the part -> dialogue."""
        return {index: single(item) for index, (_, item) in enumerate(self.items) if item}

    def collected(self, found: Mapping[int, Any]) -> list[Judgement[F]]:
        """Returns the judgements of all parts with the judge's verdicts."""
        return [
            judgement.with_verdict(found[index]) if index in found else judgement
            for index, (judgement, _) in enumerate(self.items)
        ]


def item_digests(items: Iterable[Item[F]]) -> dict[str, str]:
    """Returns step -> digest of the parts that exist in an answer."""
    return {judgement.step: judgement.answer_digest for judgement, item in items if item}


def matched_items(items: Iterable[Item[F]], judgements: Sequence[Judgement[F]]) -> list[Judgement[F]]:
    """Returns the judgement of each part of an answer with :func:`~opencompass_tooleval.judging.judgement.matched`.

    Args:
        items: The parts.
        judgements: Judgements of the answer and of other answers to the same record.
    """
    return [
        one if one.status == MISSING else matched([other for other in judgements if other.step == one.step], one)
        for one, _ in items
    ]


class GradedScorer(Scorer):
    """Base of scorers of answers that a judge grades. Here a file of judgements replaces the judge; evaluators can
    use one."""

    file: Path | None = None
    """File of the judgements."""
    fix = ''
    """Advice if too many judgements are missing."""

    def graded(self, grading: Grading[R, F, S], source: str) -> Sequence[S]:
        """Scores answers with the judgements in the file.

        Args:
            grading: The answers and how they are graded.
            source: Name of the data set, for a judge.

        Raises:
            DataError: The file is missing or damaged.
            UnjudgedError: More than 1% of the judgements are missing.
        """
        assert self.file is not None
        return grading.check(grading.score(grading.read(self.file)), self.fix)
