"""core/paired: records of two results, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from opencompass_tooleval.core.statistics.intervals import Pairs, intervals_of
from opencompass_tooleval.core.statistics.paired import (
    details_of,
    differences,
    metrics_of,
    pairs_of,
    why_unpaired,
)


def result(values: Sequence[float | None], metric: str = 'f1', **changes: Any) -> dict[str, Any]:
    """A result over records ``0``, ``1``, ...; the score is the mean of the values."""
    known = [value for value in values if value is not None]
    details = [{'id': str(i), 'values': {metric: value}, 'reason': 'ok'} for i, value in enumerate(values)]
    return {metric: 100 * sum(known) / len(known), 'samples': {'all': len(values)}, 'details': details, **changes}


def test_means_of_scores() -> None:
    assert metrics_of({'f1': 1.0, 'n': 2, 'flag': True, 'unmeasured': None, 'reasons': {}}) == ['f1', 'n']
    assert Pairs(('0', '1'), (0.0, 100.0), (50.0, 100.0), (1.0, 3.0), (3.0, 1.0)).means() == (75.0, 62.5)
    assert pairs_of(result([0.0, 1.0], f1=12.5), result([0.0, 1.0]), 'f1') is None


@pytest.mark.parametrize('details', [
    pytest.param(None, id='none'),
    pytest.param({'0': {'prompt': 'p', 'pred': 'x'}, 'type': 'GEN'}, id='by position'),
    pytest.param([{'pred': 'x', 'correct': True}, 'text', {'id': 1, 'values': 3}], id='other rows'),
])  # fmt: skip
def test_samples_of_other_packages_are_none_of_ours(details: Any) -> None:
    foreign = {'accuracy': 50.0, 'details': details}
    assert details_of(foreign) == []
    assert pairs_of(foreign, foreign, 'accuracy') is None
    assert differences(foreign, foreign) == []


def test_pairs_are_by_id_and_hold_what_both_have() -> None:
    first, second = result([0.0, None, 0.5, 1.0]), result([0.25, 1.0, None, 1.0, 0.5])
    second['details'].reverse()
    assert pairs_of(first, second, 'f1') == Pairs(('0', '3'), (0.0, 100.0), (25.0, 100.0), (1.0, 1.0), (1.0, 1.0), 3)
    first, second = result([0.0, 1.0]), result([1.0])
    assert pairs_of(first, second, 'f1') is None
    assert why_unpaired(first, second, 'f1') == 'fewer than 2 records, or queries, are in both'
    assert 'the second has no samples' in why_unpaired(first, {'f1': 1.0}, 'f1')
    assert 'the first is not the mean' in why_unpaired(result([0.0, 1.0], f1=12.5), second, 'f1')
    first, second = result([0.0, 1.0]), result([1.0, 1.0])
    for row in (*first['details'], *second['details']):
        row['steps'] = 7
    assert pairs_of(first, second, 'f1') == pairs_of(result([0.0, 1.0]), result([1.0, 1.0]), 'f1')


def stepwise(steps: Sequence[Sequence[float | None]]) -> dict[str, Any]:
    """A result whose score is the mean over the steps of all records."""
    flat = [value for values in steps for value in values if value is not None]
    details = [
        {'id': str(i), 'values': {'f1': 0.0}, 'steps': [{'values': {'f1': value}} for value in values]}
        for i, values in enumerate(steps)
    ]
    return {'f1': 100 * sum(flat) / len(flat), 'details': details}


def test_a_record_weighs_as_much_as_it_has_on_each_side_and_in_each_trial() -> None:
    first, second = stepwise([[1.0, None, None], [0.5, 0.0], [0.0]]), stepwise([[1.0, 0.0, 0.5], [None, 1.0], [0.2]])
    pairs = pairs_of(first, second, 'f1')
    assert pairs is not None
    assert (pairs.weights_a, pairs.weights_b) == ((1.0, 2.0, 1.0), (3.0, 1.0, 1.0))
    assert pairs.means() == pytest.approx((first['f1'], second['f1']))
    (interval,) = intervals_of({('d', 'f1'): pairs}).values()
    assert interval.delta == pytest.approx(second['f1'] - first['f1'])
    assert interval.low < interval.delta < interval.high
    # The score of several trials is the mean of theirs, however many steps count in each.
    trials = stepwise([[1.0, 1.0], [0.0], [0.0, None], [0.0]])
    for detail, name in zip(trials['details'], 'abab', strict=True):
        detail['id'] = name
    trials['f1'] = 100 * (2 / 3 + 0) / 2
    pairs = pairs_of(trials, trials, 'f1')
    assert pairs is not None and pairs.means() == pytest.approx((trials['f1'],) * 2)


def test_differences_by_record_with_both_details() -> None:
    first, second = result([0.0, 0.5, 1.0, None]), result([0.0, 1.0, 0.75, 1.0])
    first['details'][0]['reason'] = 'parse:not_json'  # wrong in another way, by as much
    found = differences(first, second)
    assert [(one.id, one.run, one.size) for one in found] == [('1', 0, 0.5), ('2', 0, 0.25), ('3', 0, 1.0)]
    assert found[0].a is first['details'][1] and found[0].b is second['details'][1]
    assert differences(result([0.1 + 0.2]), result([0.3])) == []
    assert differences(result([0.0, 1.0]), result([0.0])) == []
    first, second = result([0.0, 1.0, 0.0]), result([0.0, 0.0, 1.0])
    for one in (first, second):
        for detail, name in zip(one['details'], 'aba', strict=True):
            detail['id'] = name
    assert [(one.id, one.run, one.size) for one in differences(first, second)] == [('b', 0, 1.0), ('a', 1, 1.0)]
