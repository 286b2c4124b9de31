"""Scores answers to UltraTool: one record and one answer in, one :class:`StepsScore` out; and aggregates them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opencompass_tooleval.benchmarks.ultratool import (
    VERSION,
    score_awareness,
    score_judged,
    score_selection,
    score_usage,
)
from opencompass_tooleval.benchmarks.ultratool.data import Record, Subset, find_subset, parse_payload
from opencompass_tooleval.benchmarks.ultratool.protocol import Protocol
from opencompass_tooleval.benchmarks.ultratool.reading import is_json, read, without_thoughts
from opencompass_tooleval.benchmarks.ultratool.score_judged import Judged
from opencompass_tooleval.benchmarks.ultratool.score_steps import SampleResult, StepsScore, error_type, other_steps
from opencompass_tooleval.core.calls.answer import Answer, as_answer, why_unread
from opencompass_tooleval.core.scoring.aggregate import Aggregate, aggregate, over_steps
from opencompass_tooleval.core.scoring.refusal import with_refusal
from opencompass_tooleval.core.scoring.result import INFRA, OK
from opencompass_tooleval.core.text.bounds import TOO_LONG
from opencompass_tooleval.core.text.reading import Parsed, unread
from opencompass_tooleval.judging.grading import GradedScorer, matched_items
from opencompass_tooleval.judging.judgement import UNJUDGED, by_record

NO_DOMAIN = 'unknown'

_SCORERS: Mapping[str, Callable[[Record, Sequence[Any], Protocol], SampleResult]] = {
    'awareness': score_awareness.score,
    'selection': score_selection.score,
    'usage': score_usage.score,
}


def _why_unread(answer: Any) -> str:
    """Returns why an answer or its text has nothing to parse; ``''`` if it has, and for a parsed list."""
    return why_unread(as_answer(answer)) if isinstance(answer, (Answer, str)) else ''


def read_answer(subset: Subset, answer: Any, protocol: Protocol) -> Parsed:
    """Parses an answer; never raises."""
    reason = _why_unread(answer)
    if reason.startswith(INFRA) or reason == TOO_LONG:
        return unread(reason)
    return read(answer, subset.reading, protocol)


def _json_rates(answer: Any, parsed: Parsed) -> dict[str, float | None]:
    return {'json_rate': float(parsed.ok), 'json_rate_unrepaired': float(is_json(answer))}


def _gold(record: Record) -> Any:
    """Returns the gold plan, or number of a step -> its gold flag, name, arguments or tool."""
    if record.subset.kind == 'planning':
        return record.plan
    gold_of = {'awareness': lambda step: int(step.tool), 'usage': lambda step: step.param}
    return {step.number: gold_of.get(record.subset.kind, lambda step: step.tool)(step) for step in record.reference}


def _answered(record: Record, parsed: Parsed, outcome: SampleResult, protocol: Protocol) -> Any:
    """Returns the answer's values in the format of :func:`_gold`, by step number.

    Items that belong to no gold step are in :attr:`StepsScore.others`.
    """
    if record.subset.kind == 'planning' or not parsed.ok:
        return parsed.value
    if record.subset.kind == 'creation':
        return score_judged.created_tools(record, _items(parsed), protocol)
    return {step.number: step.predicted for step in outcome.steps if step.predicted is not None}


def _score(record: Record, answer: Any, parsed: Parsed, outcome: SampleResult, protocol: Protocol) -> StepsScore:
    values = {**outcome.values, **_json_rates(answer, parsed)}
    reason = outcome.reason
    if reason != OK:
        reason = _why_unread(answer) or parsed.reason or reason
    score = StepsScore(
        id=record.id,
        values={metric: values[metric] for metric in record.subset.metrics},
        reason=reason,
        parsed=_answered(record, parsed, outcome, protocol),
        parse_method=parsed.parse_method,
        gold=_gold(record),
        steps=outcome.steps,
        others=outcome.others,
        flat=outcome.flat,
        domain=record.domain,
    )
    return with_refusal(score, answer) if isinstance(answer, (Answer, str)) else score


def _items(parsed: Parsed) -> Sequence[Any]:
    return parsed.value if isinstance(parsed.value, list) else ()


def score_answer(
    record: Record, answer: Any, protocol: Protocol, judgements: Sequence[Judged] | None = None
) -> StepsScore:
    """Scores one answer.

    Args:
        record: The record.
        answer: The answer's text, or a parsed list. An ``Answer`` with an ``infra:`` reason scores 0.
        protocol: The rules.
        judgements: For planning and tool creation: the judgements of this record; only those of this answer count
            (:func:`~opencompass_tooleval.judging.grading.matched_items`). None without a judge: the judged scores are
            then None.
    """
    parsed = read_answer(record.subset, answer, protocol)
    scorer = _SCORERS.get(record.subset.kind)
    if scorer is not None:
        return _score(record, answer, parsed, scorer(record, _items(parsed), protocol), protocol)
    if judgements is None:
        outcome = score_judged.not_judged(record, parsed, protocol)
    else:
        judged = matched_items(score_judged.items_to_judge(record, parsed, protocol), judgements)
        outcome = score_judged.score(record.subset, judged, protocol)
    others = tuple(other_steps(record, _items(parsed), protocol))
    return _score(record, answer, parsed, replace(outcome, others=others), protocol)


def score_answers(
    records: Sequence[Record],
    answers: Sequence[Any],
    protocol: Protocol,
    progress: Callable[[Sequence[Record]], Iterable[Record]] = iter,
) -> list[StepsScore]:
    """Scores a subset without a judge: one score per record, in the same order (see :func:`score_answer`).

    Raises:
        ValueError: The numbers of records and answers differ.
    """
    if len(records) != len(answers):
        raise ValueError(f'{len(records)} records, but {len(answers)} answers')
    return [score_answer(record, answer, protocol) for record, answer in zip(progress(records), answers, strict=True)]


def score_judgements(
    subset: Subset, judgements: Sequence[Judged], protocol: Protocol, records: Sequence[Record] | None = None
) -> list[StepsScore]:
    """Scores judgements without answers: the JSON rates are None.

    Args:
        subset: Planning or tool creation.
        judgements: The judgements, including ``missing`` ones.
        protocol: The rules.
        records: The records, if known: each is scored, in order, and an item without a judgement is ``unjudged``. By
            default the records that the judgements name.

    Raises:
        ValueError: A judgement is not for any of the records.
    """
    grouped = by_record(judgements, [one.id for one in (judgements if records is None else records)])
    record_of = {record.id: record for record in records or ()}
    scores = []
    for record_id, judged in grouped.items():
        record = record_of.get(record_id)
        outcome = score_judged.score(subset, score_judged.complete(record, judged) if record else judged, protocol)
        values = {metric: outcome.values.get(metric) for metric in subset.metrics}
        scores.append(
            StepsScore(
                id=record_id,
                values=values,
                reason=outcome.reason,
                parse_method='judgements',
                gold=_gold(record) if record else None,
                steps=outcome.steps,
                flat=outcome.flat,
                domain=record.domain if record else '',
            )
        )
    return scores


def aggregate_scores(scores: Sequence[StepsScore], metrics: Sequence[str]) -> Aggregate:
    """Aggregates scores; metrics over steps are flat means over all steps of all samples, as in the paper.

    Steps of one sample are correlated, so the error is that of a ratio of sums over samples.

    Raises:
        ValueError: No sample is given, or a sample lacks a metric.
    """
    flat = [metric for metric in metrics if any(metric in score.flat for score in scores)]
    return over_steps(
        aggregate(scores, metrics),
        flat,
        lambda metric: ((score.cluster, score.flat.get(metric, ())) for score in scores),
    )


def _ordered(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def breakdown(scores: Sequence[StepsScore], metrics: Sequence[str]) -> dict[str, Any]:
    """Returns a result's parts other than its metrics, as JSON values.

    Returns:
        ``steps`` (number of gold steps), ``domains`` (domain -> ``samples`` and each metric), ``codes`` (code ->
        number, over steps, arguments and superfluous items), ``error_types`` (the paper's five types -> number),
        ``parse_methods`` (parse method -> samples) and ``unjudged`` (number).
    """
    codes: Counter[str] = Counter()
    for score in scores:
        codes.update(score.codes())
    types: Counter[str] = Counter()
    for code, count in codes.items():
        name = error_type(code)
        if name is not None:
            types[name] += count
    by_domain: dict[str, list[StepsScore]] = {}
    for score in scores:
        by_domain.setdefault(score.domain or NO_DOMAIN, []).append(score)
    domains = {
        domain: {'samples': len(scores_of_domain), **aggregate_scores(scores_of_domain, metrics).metrics}
        for domain, scores_of_domain in sorted(by_domain.items())
    }
    return {
        'steps': sum(len(score.steps) for score in scores),
        'domains': {} if list(domains) == [NO_DOMAIN] else domains,
        'codes': _ordered(codes),
        'error_types': _ordered(types),
        'parse_methods': _ordered(Counter(score.parse_method for score in scores)),
        'unjudged': codes[UNJUDGED],
    }


class UltraToolScorer(GradedScorer):
    """Scores one task.

    Args:
        subset: Row of the table, such as ``tool_usage``.
        language: ``zh`` or ``en``.
        rules: The rules.
        prompt_style: The prompt style of the answers; None if unknown.
    """

    def __init__(self, subset: str, language: str, rules: Protocol, prompt_style: str | None) -> None:
        self.subset, self.language = find_subset(subset), language
        self.rules, self.prompt_style = rules, prompt_style
        self.is_graded = self.subset.kind in score_judged.JUDGED_KINDS
        self._rebuilt = False
        self._golds: set[str] = set()

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {
            'benchmark': 'ultratool',
            'subset': self.subset.name,
            'language': self.language,
            'scoring': self.rules.scoring,
            'prompt_style': self.prompt_style,
            'list_choice': self.rules.list_choice,
            'rebuilt': self._rebuilt,
            'gold': ', '.join(sorted(self._golds)) or self.rules.gold,
            'version': VERSION,
        }

    @property
    def can_score_again(self) -> bool:
        """False for tasks that a judge grades."""
        return not self.is_graded

    def total(self, scores: Sequence[StepsScore]) -> Aggregate:
        """Aggregates samples; metrics over steps are means over all steps."""
        return aggregate_scores(scores, self.metrics)

    def breakdown(self, scores: Sequence[StepsScore]) -> dict[str, Any]:
        """Returns the result's parts other than its metrics."""
        return breakdown(scores, self.metrics)

    def read_record(self, payload: str) -> Record:
        """Parses a record from the data set's column ``record``."""
        return parse_payload(payload, self.subset.name)

    def query_of(self, record: Record) -> str:
        """Returns the row number of a record: row i has the same query in all tasks and both languages."""
        return f'ultratool/{record.id}'

    def score_records(self, records: Sequence[Record], answers: Sequence[Any]) -> Sequence[StepsScore]:
        """Scores answers against records; an answer may be a list that the authors' script parsed."""
        self._rebuilt = self._rebuilt or any(record.rebuilt for record in records)
        self._golds.update(record.gold for record in records)
        visible = list(map(without_thoughts, answers))
        if not self.is_graded:
            return score_answers(records, visible, self.rules)
        from opencompass_tooleval.benchmarks.ultratool.judgement_rows import ScoresGrading

        grading = ScoresGrading(records, visible, self.subset, self.rules)
        return self.graded(grading, f'{self.subset.task}-{self.language}')
