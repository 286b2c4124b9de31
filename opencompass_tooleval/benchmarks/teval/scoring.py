"""Scores answers to T-Eval: one record and one answer in, one :class:`SampleScore` out.

It works in three steps, to encode a subset in one batch: parse all answers, encode all compared texts, score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.benchmarks.teval import VERSION, score_call, score_instruct, score_plan, score_review
from opencompass_tooleval.benchmarks.teval.protocol import Protocol, protocol_of_version
from opencompass_tooleval.benchmarks.teval.records import Record, find_subset, parse_payload
from opencompass_tooleval.core.calls.answer import TRUNCATED_REASONING, Answer, why_unread
from opencompass_tooleval.core.scoring.refusal import is_refusal, with_refusal
from opencompass_tooleval.core.scoring.result import INFRA, OK, SampleScore
from opencompass_tooleval.core.scoring.scorer import Scorer
from opencompass_tooleval.core.scoring.similarity import Batchwise, ExactSimilarity, Similarity
from opencompass_tooleval.core.text.bounds import TOO_LONG
from opencompass_tooleval.core.text.fullwidth import tidy
from opencompass_tooleval.core.text.reading import Parsed, unread
from opencompass_tooleval.embedding.encoder import shared_encoder
from opencompass_tooleval.embedding.locate import choose_encoder, default_cache, locate_encoder


@dataclass(frozen=True)
class _Scorer:
    read: Callable[[Record, str, Protocol], Parsed]
    texts: Callable[[Record, Parsed, Protocol], Iterator[str]]
    score: Callable[[Record, Parsed, Protocol, Similarity], tuple[dict[str, float | None], str]]
    show: Callable[[Record, Any], tuple[Any, Any]]
    """Returns the value parsed from an answer (or None), and the gold answer in the same format."""


_CALL = _Scorer(score_call.read, score_call.texts, score_call.score, score_call.show)
_SCORERS = {
    'instruct': _Scorer(score_instruct.read, score_instruct.texts, score_instruct.score, score_instruct.show),
    'plan': _Scorer(score_plan.read, score_plan.texts, score_plan.score, score_plan.show),
    'review': _Scorer(score_review.read, score_review.texts, score_review.score, score_review.show),
    'reason': _CALL,
    'retrieve': _CALL,
    'understand': _CALL,
    'call': _CALL,
}


_OF_TEXT = ('name:', 'args:', 'review:', 'thought:')
"""Areas of the reasons for answers that are parsed as plain text."""


def read_answer(record: Record, answer: Answer, protocol: Protocol) -> Parsed:
    """Parses a postprocessed answer; never raises."""
    reason = why_unread(answer)
    if reason.startswith(INFRA) or reason in (TRUNCATED_REASONING, TOO_LONG):
        return unread(reason)
    text = tidy(answer.text) if protocol.strict else answer.text
    return _SCORERS[record.subset.kind].read(record, text, protocol)


def _score(record: Record, why: str, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> SampleScore:
    values, reason = _SCORERS[record.subset.kind].score(record, parsed, protocol, similarity)
    if reason != OK:
        reason = why or reason
    values = {metric: values[metric] for metric in record.subset.metrics}
    shown, gold = _SCORERS[record.subset.kind].show(record, parsed.value)
    return SampleScore(record.id, values, reason, shown, parsed.parse_method, gold)


def score_answer(
    record: Record, answer: Answer, protocol: Protocol, similarity: Similarity | None = None
) -> SampleScore:
    """Scores one postprocessed answer (see :func:`score_answers`)."""
    return score_answers([record], [answer], protocol, similarity or ExactSimilarity())[0]


def score_answers(
    records: Sequence[Record],
    answers: Sequence[Answer],
    protocol: Protocol,
    similarity: Similarity | None = None,
    progress: Callable[[Sequence[Parsed]], Iterable[Parsed]] = iter,
) -> list[SampleScore]:
    """Scores a subset.

    Args:
        records: The records, all of one subset.
        answers: Their postprocessed answers, in the same order. An answer with the reason ``infra:...`` scores 0.
        protocol: The rules.
        similarity: Needed if ``protocol.needs_encoder(subset)``.
        progress: Wraps the loop over the samples, for a progress bar.

    Returns:
        One score per record, in the same order.

    Raises:
        ValueError: The numbers of records and answers differ, or the encoder is missing.
    """
    if len(records) != len(answers):
        raise ValueError(f'{len(records)} records, but {len(answers)} answers')
    readings = [read_answer(record, answer, protocol) for record, answer in zip(records, answers, strict=True)]
    scores = score_readings(records, [*map(why_unread, answers)], readings, protocol, similarity, progress)
    return [_with_refusal(score, answer) for score, answer in zip(scores, answers, strict=True)]


def _with_refusal(score: SampleScore, answer: Answer) -> SampleScore:
    """Marks a refusal. A subset with plain text accepts any text, and a gold thought may itself decline."""
    if score.parse_method != 'text':
        return with_refusal(score, answer)
    thought = score.gold.get('thought') if isinstance(score.gold, dict) else None
    return score if isinstance(thought, str) and is_refusal(thought) else with_refusal(score, answer, _OF_TEXT)


def score_readings(
    records: Sequence[Record],
    whys: Sequence[str],
    readings: Sequence[Parsed],
    protocol: Protocol,
    similarity: Similarity | None = None,
    progress: Callable[[Sequence[Parsed]], Iterable[Parsed]] = iter,
) -> list[SampleScore]:
    """Scores parsed answers, in the format of :func:`read_answer`.

    Args:
        records: The records, all of one subset.
        whys: For each answer, why it is unreadable, or ``''``: the reason of a sample that is not correct.
        readings: The parsed value of each answer.
        protocol: The rules.
        similarity: Needed if ``protocol.needs_encoder(subset)``.
        progress: Wraps the loop over the samples, for a progress bar.
    """
    if similarity is None:
        subset = next((record.subset for record in records if protocol.needs_encoder(record.subset)), None)
        if subset is not None:
            raise ValueError(f'{subset.name} under protocol {protocol.name} needs a sentence encoder')
        similarity = ExactSimilarity()
    similarity.prepare(
        text
        for record, parsed in zip(records, readings, strict=True)
        for text in _SCORERS[record.subset.kind].texts(record, parsed, protocol)
    )
    tied = [
        record.subset.kind == 'plan' and score_plan.is_tied(record, parsed, protocol, similarity)
        for record, parsed in zip(records, readings, strict=True)
    ]
    similarity.prepare_batches(
        strings
        for record, parsed, tie in zip(records, readings, tied, strict=True)
        if tie
        for strings in score_plan.lists(record, parsed) or ()
    )
    batchwise = Batchwise(similarity)
    return [
        _score(record, why, parsed, protocol, batchwise if tie else similarity)
        for record, why, parsed, tie in zip(records, whys, progress(readings), tied, strict=True)
    ]


class TEvalScorer(Scorer):
    """Scores one subset.

    Args:
        subset: Name of the subset, such as ``plan_json``.
        version: Data version.
        language: ``EN`` or ``ZH``.
        protocol: ``v1`` or ``v2``; default: the data version's.
        scoring: ``official`` or ``strict`` (see docs/explanation/teval.md).
        encoder: ``offline``, a folder or a hub id; default ``$TOOLEVAL_ENCODER`` or the official encoder. It is located
            here, and loaded when it is used.

    Raises:
        EncoderMissingError: An encoder is needed but is not on this machine.
    """

    find_subset = staticmethod(find_subset)
    progress: Callable[[Sequence[Any]], Iterable[Any]] = iter
    """Wraps the loop over the samples, for a progress bar."""

    def __init__(
        self,
        subset: str,
        version: str,
        language: str,
        protocol: str | None = None,
        scoring: str = 'official',
        encoder: str | None = None,
    ) -> None:
        self.subset, self.data_version, self.language = self.find_subset(subset), version, language
        self.rules = Protocol(protocol or protocol_of_version(version), scoring)
        needed = self.rules.needs_encoder(self.subset)
        self.encoder = locate_encoder(choose_encoder(encoder, language)) if needed else None

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {
            'benchmark': 'teval',
            'subset': self.subset.name,
            'language': self.language,
            'data_version': self.data_version,
            'protocol': self.rules.name,
            'scoring': self.rules.scoring,
            'encoder': self.encoder.name if self.encoder else None,
            'version': VERSION,
        }

    def read_record(self, payload: str) -> Any:
        """Parses a record from the data set's column ``record``."""
        return parse_payload(payload, self.subset.name)

    def query_of(self, record: Any) -> str:
        """Returns the query of a record, which its steps share."""
        query: str = record.query
        return query

    def score_records(self, records: Sequence[Any], answers: Sequence[Answer]) -> list[SampleScore]:
        """Scores answers against records."""
        return score_answers(records, answers, self.rules, self._similarity(), self.progress)

    def _similarity(self) -> Similarity | None:
        return shared_encoder(self.encoder, default_cache()) if self.encoder else None
