"""core/paired_trials: trials of two results by record, by hand."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from opencompass_tooleval.core.scoring.aggregate import aggregate, over_steps
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.core.statistics.intervals import Pairs
from opencompass_tooleval.core.statistics.paired import pairs_of
from opencompass_tooleval.core.statistics.trials import BinaryMetrics, Estimate, of_trials
from opencompass_tooleval.extras.compare.paired_trials import paired_estimates

RULE = BinaryMetrics(('accuracy',), ('accuracy', 'share'))


def result(**outcomes: str) -> dict[str, Any]:
    """``a='10'``: record a was right in its first trial; ``share`` is graded, and full where it is right."""
    trials = len(next(iter(outcomes.values())))
    scores = [
        SampleScore(record, {'accuracy': float(rights[i]), 'share': 1.0 if rights[i] == '1' else 0.25}, 'ok')
        for i in range(trials)
        for record, rights in outcomes.items()
    ]
    total = aggregate(scores, ['accuracy', 'share'])
    averages = {metric: Estimate(total.metrics[metric], None, len(outcomes)) for metric in total.metrics}
    content = {**total.metrics, 'details': [score.to_detail() for score in scores]}
    if trials > 1:
        estimates = of_trials([(score.id, score.values) for score in scores], trials, averages, RULE)
        rows = {name: {kind: asdict(one) for kind, one in by_kind.items()} for name, by_kind in estimates.items()}
        content['trials'] = {'n': trials, 'success': list(RULE.success), 'metrics': rows}
    return content


def test_all_trials_of_a_record_stand_against_all_of_the_other() -> None:
    first, second = result(a='10', b='00', c='11'), result(c='0110', a='1111', d='1111')
    pairs = pairs_of(first, second, 'accuracy')
    # a has 5 right of 6 trials: their variance is 1/6, and that of the difference of means of 2 and 4 is 3/4 of it.
    near: Any = pytest.approx  # stands in for a float
    shuffled = (near(1250), near(2000))
    assert pairs == Pairs(('a', 'c'), (50.0, 100.0), (100.0, 50.0), (2.0, 2.0), (4.0, 4.0), 2, shuffled)
    told = {estimate.metric: estimate for estimate in paired_estimates(first, second)}
    assert list(told) == ['accuracy pass@2', 'accuracy pass^2', 'success pass@1', 'success pass@2', 'success pass^2']
    ones = (1.0, 1.0)
    assert told['accuracy pass@2'].pairs == Pairs(
        ('a', 'c'), (100.0, 100.0), (100.0, near(500 / 6)), ones, ones, 2, (0.0, near(7000 / 9))
    )
    assert told['accuracy pass^2'].pairs == Pairs(
        ('a', 'c'), (0.0, 100.0), (100.0, near(100 / 6)), ones, ones, 2,
        (near(5000), near(43000 / 9)),
    )  # fmt: skip
    # Over a and c, which both have: each side's own mean would not subtract to the difference.
    assert told['accuracy pass^2'].values == (50.0, pytest.approx((1 + 1 / 6) * 50))
    assert told['accuracy pass^2'].errors == (pytest.approx(50.0), pytest.approx(50 * 5 / 6))
    assert told['success pass@2'].pairs == told['accuracy pass@2'].pairs


def test_results_that_have_no_pairs() -> None:
    once, several = result(a='1', b='0'), result(a='10', b='11')
    assert list(paired_estimates(once, several)) == list(paired_estimates(several, once)) == []
    assert pairs_of(once, several, 'accuracy') is not None
    told = list(paired_estimates(result(a='10', b='00'), result(a='11', c='00')))
    assert told and all(estimate.pairs is None for estimate in told)
    first, second = result(a='10', b='00'), result(a='11', b='00')
    second['trials']['success'] = ['accuracy']
    assert list(paired_estimates(first, second)) == []


def test_a_mean_of_trials_with_other_numbers_of_steps_has_pairs() -> None:
    """The second trial has one call where the first has three: the mean of both trials is no mean over all calls."""
    trials: list[dict[str, tuple[float, ...]]] = [{'a': (1.0, 0.0, 1.0), 'b': (0.0,)}, {'a': (0.0,), 'b': (0.0,)}]
    totals, details = [], []
    for calls in trials:
        scores = [SampleScore(record, {'rate': None}, 'ok') for record in calls]
        whole = over_steps(aggregate(scores, ['rate']), ['rate'], lambda _: calls.items())  # noqa: B023
        totals.append(whole.metrics['rate'])
        details += [
            {'id': record, 'values': {'rate': None}, 'steps': [{'values': {'rate': value}} for value in rates]}
            for record, rates in calls.items()
        ]
    content = {'rate': sum(totals) / 2, 'details': details}
    pairs = pairs_of(content, content, 'rate')
    assert pairs is not None
    assert pairs.means() == pytest.approx((content['rate'], content['rate']))
    assert sum(pairs.weights_a) == pytest.approx(6)
