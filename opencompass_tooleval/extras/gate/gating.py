"""Decides if a run's scores dropped below a baseline, or are equivalent to it. Imports no OpenCompass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property, partial
from typing import Any

from opencompass_tooleval.catalogue.comparable import SAMPLES, why_not_comparable
from opencompass_tooleval.catalogue.metrics import empty_metrics, lower_is_better, main_metrics
from opencompass_tooleval.catalogue.subset_names import nearest_first
from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.core.statistics.intervals import ALPHA, Effect, Pairs, Score, effect_of
from opencompass_tooleval.core.statistics.paired import (
    Result,
    has_no_answer,
    metrics_of,
)
from opencompass_tooleval.extras.compare.comparing import Comparer, Row, Side, compare
from opencompass_tooleval.extras.compare.paired_trials import estimate_names
from opencompass_tooleval.extras.gate.junit import Case
from opencompass_tooleval.extras.gate.outcomes import (
    DIFFERENT,
    EQUIVALENT,
    UNDECIDED,
    can_drop,
    difference_p_value,
    drop_p_value,
    equivalence_of,
    holm,
    records_to_decide,
)
from opencompass_tooleval.findings.finding import Finding, found
from opencompass_tooleval.results.result_row import Results

HELD, DROPPED, INCONCLUSIVE = 'held', 'dropped', 'inconclusive'
PASSED = HELD, EQUIVALENT
_WITH_SAMPLES = DROPPED, DIFFERENT, UNDECIDED
MISSING, FAILED, UNANSWERED = 'missing', 'failed', 'unanswered'


@dataclass(frozen=True)
class Rules:
    """Settings of a gate.

    Attributes:
        metrics: Patterns of metrics and of columns of tables; by default the main metrics of each data set.
        datasets: Pattern of the data sets' names.
        max_drop: Points that a score may drop.
        equivalent: Maximum difference of equivalent scores, in points; None to test for drops.
        strict: True if a score also fails if its interval does not rule out a larger drop, or if the run lacks records
            of the baseline.
        partial: True to ignore scores that cannot be compared, as long as at least one can.
        may_differ: Keys of the provenance that may differ.
    """

    metrics: Sequence[str] = ()
    datasets: str = '*'
    max_drop: float = 0.0
    equivalent: float | None = None
    strict: bool = False
    partial: bool = False
    may_differ: Sequence[str] = ()

    def chosen(self, names: Iterable[str], main: Iterable[str]) -> list[str]:
        """Returns the names that match a pattern in ``metrics``; ``main`` if there are no patterns."""
        if not self.metrics:
            return list(main)
        return [name for name in names if any(fnmatchcase(name, pattern) for pattern in self.metrics)]


@dataclass(frozen=True)
class Verdict:
    """The decision on one score.

    Attributes:
        model: The model of the run.
        row: The comparison; ``a`` is the baseline.
        worst: The largest drop in quality within the interval, in points, negative if all of it is a gain; in a gate
            for equivalence, the largest difference.
        p_value: Chance of such a drop if the true drop is ``max_drop``, or of such a difference if the true one is
            ``equivalent``; adjusted for all scores of the gate.
        outcome: :data:`HELD`, :data:`DROPPED` or, in a strict gate, :data:`INCONCLUSIVE`; in a gate for equivalence, an
            outcome of :mod:`~opencompass_tooleval.extras.gate.outcomes`.
        differing: Samples that differ, for a score of a data set that dropped or is not equivalent.
        deciding: Number of records that would decide an undecided score; None if no number would.
        is_estimate: False if no record differs; ``deciding`` is then exact, for records that do not differ.
    """

    model: str
    row: Row
    worst: float
    p_value: float
    outcome: str
    differing: Sequence[Mapping[str, Any]] = ()
    deciding: int | None = None
    is_estimate: bool = True


@dataclass(frozen=True)
class Refusal:
    """A data set or score of the baseline that cannot be compared.

    Attributes:
        model: The model of the run.
        dataset: The data set.
        kind: :data:`MISSING`, :data:`FAILED`, :data:`UNANSWERED`, or a kind of
            :mod:`~opencompass_tooleval.catalogue.comparable`.
        why: The reason in words.
    """

    model: str
    dataset: str
    kind: str
    why: str


@dataclass
class Gate:
    """Result of a gate.

    Attributes:
        verdicts: The compared scores, starting with those that dropped or differ.
        refusals: Data sets and scores that were not compared.
        findings: Findings on the results of both runs, and on their comparison.
        records: Number of records that the baseline has in the data sets that were compared.
        lacking: Number of these records that the run lacks.
        status: 0 held or equivalent, 1 dropped, different or undecided, 2 not comparable.
    """

    verdicts: list[Verdict] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    records: int = 0
    lacking: int = 0
    status: int = 0


@dataclass(frozen=True)
class Judged:
    """The outcome of a gate for screens and files: the gate of scores, or of servers (``--serving``).

    Attributes:
        name: Name of the gate.
        status: 0 if it held, 1 if it failed, 2 if nothing could be judged.
        summary: The outcome in one line.
        lines: Lines for the screen.
        tables: Tables for Markdown; the first row of each is its header.
        findings: Findings to show with the outcome.
        cases: The test cases.
        content: The gate's part of the JSON file.
    """

    name: str
    status: int
    summary: str
    lines: Sequence[str]
    tables: Sequence[Sequence[Sequence[str]]]
    findings: Sequence[Finding]
    cases: Sequence[Case]
    content: Mapping[str, Any]


@dataclass(frozen=True)
class _Tested:
    """A score that the gate tests.

    Attributes:
        model: The model of the run.
        comparer: The comparison of the model.
        row: The row of the score.
    """

    model: str
    comparer: Comparer
    row: Row

    @property
    def column(self) -> Mapping[Score, float]:
        """Data set and metric -> its share in the score."""
        score = self.row.name, self.row.metric
        return self.comparer.columns.get(score, {score: 1.0})

    @property
    def unanswered_count(self) -> int:
        """Number of records of the score that lack an answer on either side."""
        return sum(len(self.comparer.unanswered[dataset]) for dataset in {dataset for dataset, _ in self.column})

    @property
    def is_whole(self) -> bool:
        """True if the run has all records of the baseline."""
        return not any(self.comparer.lacking[dataset] for dataset, _ in self.column)

    @property
    def answered_count(self) -> int:
        """Number of records of the score that have an answer on both sides."""
        records = {(score[0], record) for score in self.column for record in self.comparer.pairs[score].ids}
        return sum(record not in self.comparer.unanswered[dataset] for dataset, record in records)

    @property
    def answered_queries(self) -> int:
        """Number of distinct queries of the answered records; 0 if there are fewer than two."""
        effect = self.effect_of_answered
        return effect.queries if effect else 0

    @cached_property
    def effect(self) -> Effect:
        """Difference of the score, over all records."""
        return effect_of(self.column, self.comparer.pairs)

    @cached_property
    def effect_of_answered(self) -> Effect | None:
        """Difference of the score, over the records with an answer on both sides; None if these are too few."""
        pairs: dict[Score, Pairs] = {}
        for dataset, metric in self.column:
            answered = self.comparer.pairs[dataset, metric].without(self.comparer.unanswered[dataset])
            if answered is None:
                return None
            pairs[dataset, metric] = answered
        return effect_of(self.column, pairs)

    def p_value(self, effect: Effect | None, rules: Rules) -> float:
        """Computes the p-value of a drop or difference; 1 without an effect."""
        if effect is None:
            return 1.0
        if rules.equivalent:
            return difference_p_value(effect, rules.equivalent)
        return drop_p_value(effect, rules.max_drop, lower_is_better(self.row.metric))

    def outcome(self, effect: Effect | None, p_value: float, rules: Rules) -> str:
        """Returns the outcome of the score, from the effect and the adjusted p-value."""
        if rules.equivalent:
            outcome = equivalence_of(effect, rules.equivalent, p_value) if effect else UNDECIDED
            return outcome if self.is_whole or outcome != EQUIVALENT else UNDECIDED
        least, worst = self.drops
        if least > rules.max_drop and p_value <= ALPHA:
            return DROPPED
        is_open = worst > rules.max_drop or not self.is_whole
        return INCONCLUSIVE if rules.strict and is_open else HELD

    @property
    def drops(self) -> tuple[float, float]:
        """The smallest and the largest drop in quality within the interval, in points."""
        low, high = self.row.low or 0.0, self.row.high or 0.0
        return (low, high) if lower_is_better(self.row.metric) else (-high, -low)


def pair_models(new: Results, old: Results, model: str | None, baseline_model: str | None) -> list[tuple[str, str]]:
    """Pairs the models of a baseline with those of a run: by name, or the only model of each.

    Returns:
        Model of the baseline and model of the run; the latter is ``''`` if the run lacks the model.

    Raises:
        DataError: A named model is missing, or the pairs are ambiguous.
    """
    in_run, in_baseline = (sorted({name for name, _ in results.pairs()}) for results in (new, old))
    for results, name, names in ((new, model, in_run), (old, baseline_model, in_baseline)):
        if name is not None and name not in names:
            what = f'there is no result of a model {name!r}; the models here: {nearest_first(name, names)}'
            raise DataError(results.path, what)
    if model is None and baseline_model is None and set(in_run) & set(in_baseline):
        return [(name, name if name in in_run else '') for name in in_baseline]
    one, other = _one_of(in_run, model, baseline_model), _one_of(in_baseline, baseline_model, model)
    if one and other:
        return [(other, one)]
    what = f'the models of the run are {first_of(in_run, 5)}, those of the baseline {first_of(in_baseline, 5)}'
    raise DataError(new.path, what, fix='--model NAME --baseline-model NAME')


def _one_of(names: Sequence[str], name: str | None, other: str | None) -> str:
    if name is not None:
        return name
    if other is not None and other in names:
        return other
    return names[0] if len(names) == 1 else ''


def decide(
    new: Results,
    old: Results,
    models: Sequence[tuple[str, str]],
    rules: Rules,
    progress: Callable[[Sequence[str]], Iterable[str]] = iter,
) -> Gate:
    """Compares a run with a baseline, and decides on each score.

    A score dropped if two conditions hold: its p-value, adjusted by Holm's method for all scores of the gate, is at
    most :data:`~opencompass_tooleval.core.statistics.intervals.ALPHA`, and its 95% interval, the one of
    :func:`~opencompass_tooleval.extras.compare.comparing.compare`, lies entirely below ``-max_drop``. For metrics where
    less is better, the same applies to a rise. A score is refused if it has too few records to ever show a drop.
    Records that lack an answer, through no fault of the model, count as wrong. A score is refused if they decide the
    outcome: it dropped, but the p-value without these records is above that level, or the reverse.

    With ``rules.equivalent``, scores are equivalent, different or undecided
    (:func:`~opencompass_tooleval.extras.gate.outcomes.equivalence_of`). The chance that all scores are wrongly
    called equivalent is at most that of one score: if one true difference is as large as the margin, the test of that
    score must be wrong too (an intersection-union test, Berger 1982). A score is never equivalent if the run lacks some
    of its records.

    Args:
        new: The run.
        old: The baseline.
        models: Pairs from :func:`pair_models`.
        rules: The settings.
        progress: Wraps the data sets to show progress.

    Raises:
        DataError: No score matches the patterns, or a result is damaged.
    """
    gate = Gate()
    tested: list[_Tested] = []
    for baseline_model, model in models:
        tested += _compare(gate, Side.find(old, baseline_model, rules.datasets), new, model, rules, progress)
    if not tested and not gate.refusals:
        what = f'no score matches {first_of(list(rules.metrics), 5)}' if rules.metrics else 'there is no score'
        raise DataError(old.path, what, fix='leave out --metric' if rules.metrics else '')
    paired = [one for one in tested if one.row.low is not None]
    for one in tested:
        if one.row.low is None:
            why = one.comparer.unpaired.get((one.row.name, one.row.metric), 'it has no interval')
            gate.refusals.append(Refusal(one.model, one.row.name, SAMPLES, f'{one.row.metric}: {why}'))
    if not rules.equivalent:
        paired = _of_enough_records(gate, paired)
    effects = [one.effect for one in paired]
    answered = [
        one.effect_of_answered if one.unanswered_count else effect for one, effect in zip(paired, effects, strict=True)
    ]
    p_values, p_values_of_answered = (
        holm([one.p_value(effect, rules) for one, effect in zip(paired, those, strict=True)])
        for those in (effects, answered)
    )
    for i, one in enumerate(paired):
        outcome = one.outcome(effects[i], p_values[i], rules)
        if one.unanswered_count and not _is_the_same(one, outcome, answered[i], p_values_of_answered[i], rules):
            why = f'{one.unanswered_count} records lack an answer and decide the verdict; run tooleval retry'
            gate.refusals.append(Refusal(one.model, one.row.name, UNANSWERED, f'{one.row.metric}: {why}'))
        else:
            gate.verdicts.append(_verdict(one, outcome, effects[i], p_values[i], rules))
    order = DROPPED, DIFFERENT, INCONCLUSIVE, UNDECIDED, *PASSED
    gate.verdicts.sort(key=lambda verdict: order.index(verdict.outcome))
    if any(verdict.outcome not in PASSED for verdict in gate.verdicts):
        gate.status = 1
    elif gate.refusals and not (rules.partial and gate.verdicts):
        gate.status = 2
    return gate


def _is_the_same(one: _Tested, outcome: str, answered: Effect | None, p_value: float, rules: Rules) -> bool:
    """Tests if the outcome stays the same without the records that lack an answer."""
    if rules.equivalent:
        return outcome == one.outcome(answered, p_value, rules)
    return (outcome == DROPPED) == (p_value <= ALPHA)


def _of_enough_records(gate: Gate, tested: Sequence[_Tested]) -> list[_Tested]:
    """Returns the scores with enough records to show a drop, and refuses the others."""
    is_possible = can_drop([one.answered_queries for one in tested])
    for one, possible in zip(tested, is_possible, strict=True):
        if not possible:
            gate.refusals.append(Refusal(one.model, one.row.name, SAMPLES, _too_few(one, len(tested))))
    return [one for one, possible in zip(tested, is_possible, strict=True) if possible]


def _too_few(one: _Tested, scores: int) -> str:
    count, queries = one.answered_count, one.answered_queries
    of_queries = f' of {queries} queries' if 1 < queries < count else ''
    where = 'have an answer on both sides' if one.unanswered_count else 'are in both'
    those = f'{count} records{of_queries} {where}'
    among = f', in a gate of {scores} scores' if scores > 1 else ''
    advice = '; run tooleval retry' if one.unanswered_count else ''
    return f'{one.row.metric}: too few to decide: {those}; even the loss of all of them may be chance{among}{advice}'


def _compare(
    gate: Gate,
    old: Side,
    new: Results,
    model: str,
    rules: Rules,
    progress: Callable[[Sequence[str]], Iterable[str]],
) -> list[_Tested]:
    """Compares one model; returns the scores to test, and adds refusals and findings to the gate."""
    there = {dataset for name, dataset in new.pairs() if name == model and fnmatchcase(dataset, rules.datasets)}
    refuse = partial(Refusal, model or old.model)
    gate.refusals += [refuse(dataset, MISSING, 'the run has no result') for dataset in sorted(old.datasets - there)]
    only = 'only the run has a result of'
    gate.findings += [found('compare:missing', one, f'{only} {model}') for one in sorted(there - old.datasets)]
    both = old.datasets & there
    if not both:
        return []
    sides = (
        replace(old, datasets=both, name=f'{old.model} (baseline)'),
        Side(new, model, both, f'{model} (run)'),
    )
    tested: dict[str, list[str]] = {}  # names from the baseline, since the run may lack some

    def accept(dataset: str, first: Result | None, second: Result | None) -> bool:
        results = {name: result for name, result in (('baseline', first), ('run', second)) if result is not None}
        reasons = [
            (FAILED, f'the result of the {name} is an error') for name in ('baseline', 'run') if name not in results
        ]
        lost = [name for name, result in results.items() if has_no_answer(result)]
        reasons += [(UNANSWERED, f'no sample of the {name} has an answer; run tooleval retry') for name in lost]
        if first is not None and second is not None and not reasons:  # a result without answers has no known settings
            reasons = list(why_not_comparable(first, second, rules.may_differ))
        gate.refusals += [refuse(dataset, *reason) for reason in reasons]
        if first is None or second is None or reasons:
            return False
        scores, run_scores = ([*metrics_of(one), *estimate_names(one)] for one in (first, second))
        empty, main = empty_metrics(first), main_metrics([*metrics_of(first), *empty_metrics(first)])
        names = tested[dataset] = rules.chosen(scores, main_metrics(metrics_of(first)))
        missing = [f'{name}: the run has no such score' for name in names if name not in run_scores]
        for name in rules.chosen(empty, [name for name in main if name in empty]):
            if not names:
                missing.append(f'{name}: the baseline has no value of it')
            elif not rules.metrics:
                text = f'{name} has no value in the baseline; compared: {first_of(names)}'
                gate.findings.append(found('compare:missing', dataset, text))
        gate.refusals += [refuse(dataset, MISSING, why) for why in missing]
        return True

    comparer = compare(sides, sink=lambda *_: None, progress=progress, accept=accept)
    gate.findings += comparer.comparison.findings
    gate.lacking += (lacking := sum(comparer.lacking.values()))
    gate.records += sum(comparer.comparison.records.values()) + lacking
    tables = [row for row in comparer.comparison.tables if rules.metrics and rules.chosen([row.metric], ())]
    rows = [*tables, *(row for row in comparer.comparison.datasets if row.metric in tested[row.name])]
    return [_Tested(model, comparer, row) for row in rows]


def _verdict(tested: _Tested, outcome: str, effect: Effect, p_value: float, rules: Rules) -> Verdict:
    _, worst = tested.drops
    deciding = None
    if rules.equivalent:
        worst = max(-(tested.row.low or 0.0), tested.row.high or 0.0)
        deciding = records_to_decide(effect, rules.equivalent) if outcome == UNDECIDED and tested.is_whole else None
    differing = tested.comparer.comparison.differing.get(tested.row.name, ()) if outcome in _WITH_SAMPLES else ()
    is_estimate = effect.differing > 0
    return Verdict(tested.model, tested.row, worst + 0.0, p_value, outcome, differing, deciding, is_estimate)
