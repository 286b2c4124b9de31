"""core/trials: both estimators against every draw, means over records, and any content of a result's file."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from opencompass_tooleval.core.statistics.trials import (
    SUCCESS,
    BinaryMetrics,
    Estimate,
    chances,
    drawn_numbers,
    estimate_of,
    names_of,
    of_trials,
    parse_name,
    pass_at_k,
    pass_hat_k,
    rights_by_record,
    trials_of_result,
)


def test_estimators_are_the_share_of_all_draws() -> None:
    for right, wrong in product(range(9), repeat=2):
        outcomes, trials = [True] * right + [False] * wrong, right + wrong
        for k in range(1, trials + 1):
            draws = list(combinations(outcomes, k))
            assert pass_at_k(trials, right, k) == pytest.approx(sum(map(any, draws)) / len(draws), abs=1e-12)
            assert pass_hat_k(trials, right, k) == pytest.approx(sum(map(all, draws)) / len(draws), abs=1e-12)
    assert pass_at_k(2000, 1, 1000) == pytest.approx(0.5), 'binomials beyond what a float holds'


def test_names_of_estimates_and_numbers_out_of_bounds() -> None:
    for numbers in ((3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4), (0, 0, 1)):
        for estimator in (pass_at_k, pass_hat_k):
            with pytest.raises(ValueError, match='not 0 <= right <= trials and 1 <= k <= trials'):
                estimator(*numbers)
    for trials, ks in {1: [1], 2: [1, 2], 3: [1, 2, 3], 5: [1, 2, 4, 5], 8: [1, 2, 4, 8]}.items():
        assert drawn_numbers(trials) == ks
        assert names_of(trials) == [*(f'pass@{k}' for k in ks), *(f'pass^{k}' for k in ks)]
    for name in ('pass@', 'pass^0', 'pass@²', 'pass@1.5', 'avg@3', 'pass@-1', 'pass@9999999999', 'pass^٣', ''):
        with pytest.raises(ValueError, match=r'neither pass@K nor pass\^K'):
            parse_name(name)


near: Any = pytest.approx  # stands in for a float
RULE = BinaryMetrics(('accuracy',), ('accuracy', 'share'))


def samples(**outcomes: str) -> list[tuple[str, dict[str, float | None]]]:
    """``a='10-'``: the trials of record a, right, wrong and one that does not apply; trial after trial."""
    values = {'1': 1.0, '0': 0.0, '-': None}
    longest = max(map(len, outcomes.values()))
    return [
        (record, {'accuracy': values[rights[i]], 'share': 0.5 if rights[i] == '0' else 1.0})
        for i in range(longest)
        for record, rights in outcomes.items()
        if i < len(rights)
    ]


def test_means_over_records_and_their_errors() -> None:
    averages = {'accuracy': Estimate(50.0, 28.9, 3), 'share': Estimate(75.0, 1.0, 3)}
    estimates = of_trials(samples(a='1100', b='1111', c='0000'), 4, averages, RULE)
    assert list(estimates) == ['accuracy', 'share', SUCCESS]
    assert estimates['share'] == {'avg@4': Estimate(75.0, 1.0, 3)}
    by_kind = estimates['accuracy']
    assert list(by_kind) == ['avg@4', 'pass@1', 'pass@2', 'pass@4', 'pass^1', 'pass^2', 'pass^4']
    by_record: dict[str, list[float]] = {
        'pass@1': [0.5, 1, 0],
        'pass@2': [5 / 6, 1, 0],
        'pass^2': [1 / 6, 1, 0],
        'pass^4': [0, 1, 0],
    }
    for name, expected in by_record.items():
        error = 100 * np.std(expected, ddof=1) / math.sqrt(3)
        assert by_kind[name] == Estimate(near(100 * np.mean(expected)), near(error), 3)
    assert by_kind['avg@4'].value == pytest.approx(by_kind['pass@1'].value)
    assert all(estimates[SUCCESS][name] == by_kind[name] for name in by_kind if name != 'avg@4')
    assert estimates[SUCCESS]['avg@4'].value == pytest.approx(50.0)
    rights = rights_by_record(samples(a='1-0', b='--1', c='---'), 'accuracy', RULE)
    assert rights == {'a': (True, False), 'b': (True,)}
    assert chances(rights, 'pass@1') == {'a': 0.5, 'b': 1.0}
    assert chances(rights, 'pass^2') == {'a': 0.0}
    assert chances(rights, 'pass@3') == {}
    estimates = of_trials(samples(a='1-0', b='--1', c='---'), 3, {}, RULE)
    assert estimates['accuracy']['pass^2'] == Estimate(0.0, None, 1)
    assert estimates['accuracy']['pass@3'] == Estimate(None, None, 0)


def test_success_is_all_that_applies() -> None:
    rule = BinaryMetrics((), ('x', 'y'))
    assert rule.names == (SUCCESS,)
    assert rule.is_right(SUCCESS, {'x': 1.0, 'y': None}) is True
    assert rule.is_right(SUCCESS, {'x': 1.0, 'y': 1 - 1e-12}) is True
    assert rule.is_right(SUCCESS, {'x': 1.0, 'y': 0.99}) is False
    assert rule.is_right(SUCCESS, {'x': None, 'y': None}) is None
    # A metric that is graded after all is a fault.
    with pytest.raises(ValueError, match=r'^accuracy is said to be right or wrong, and a sample has 0.5$'):
        rights_by_record([('a', {'accuracy': 0.5})], 'accuracy', RULE)


def part(**changes: Any) -> dict[str, Any]:
    row = {'value': 50.0, 'standard_error': None, 'records': 1}
    metrics = {'x': {'avg@2': row}, 'y': {'avg@2': row, 'pass@1': row}}
    return {'trials': {'n': 2, 'success': ['x'], 'metrics': metrics, **changes}}


def test_a_result_is_read_if_it_has_trials() -> None:
    read = trials_of_result(part())
    assert read is not None
    assert (read.trials, read.rule) == (2, BinaryMetrics(['y'], ['x']))
    assert read.estimates['y']['pass@1'] == Estimate(50.0, None, 1)
    others = ({}, {'trials': 3}, {'trials': []}, part(n=True), part(n=1), part(n='2'), part(metrics=['accuracy']))
    assert [trials_of_result(result) for result in others] == [None] * len(others)


def test_rows_that_are_no_estimate() -> None:
    fields = ('value', 'standard_error', 'records')
    odd = ((None, None, 0), (math.nan, 1.0, 2), (1.0, 'x', 2), (10**400, 1.0, 2), (1.0, 1.0, True))
    for row in (None, 5.0, *(dict(zip(fields, values, strict=True)) for values in odd)):
        assert estimate_of(row) is None
        read = trials_of_result(part(metrics={'x': {'pass@1': row}}))
        assert read is not None and read.estimates == {'x': {}}
