"""core/usage_summary: totals, means and percentiles against numpy, and what files may hold."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.prices import Prices
from opencompass_tooleval.core.usage import Usage
from opencompass_tooleval.core.usage_summary import Spending, spending_of, summary_of

PRICES = Prices(2.0, 8.0, 1.0)


def test_by_hand() -> None:
    usages = [
        Usage(100, 10, 4, 50, seconds=0.5, tries=1),
        Usage(300, 30, seconds=1.5, tries=3),
        Usage(200, 20, counted=True),
        Usage(tries=2, seconds=9.0),
        None,
    ]
    summary = summary_of(usages, PRICES)
    assert summary == {
        'answers': {'all': 5, 'said': 2, 'counted': 1, 'unknown': 2},
        'tries': 7,
        'prompt': {'total': 600, 'mean': 200.0, 'p50': 200, 'p95': 300, 'answers': 3},
        'completion': {'total': 60, 'mean': 20.0, 'p50': 20, 'p95': 30, 'answers': 3},
        'reasoning': {'total': 4, 'mean': 4.0, 'p50': 4, 'p95': 4, 'answers': 1},
        'cached': {'total': 50, 'mean': 50.0, 'p50': 50, 'p95': 50, 'answers': 1},
        'seconds': {'total': 11.0, 'mean': pytest.approx(11 / 3), 'p50': 1.5, 'p95': 9.0, 'answers': 3},
        'cost': {
            'total': pytest.approx((550 * 2 + 50 + 60 * 8) / 1e6),
            'mean': pytest.approx((550 * 2 + 50 + 60 * 8) / 3e6),
            'p50': pytest.approx((200 * 2 + 160) / 1e6),
            'p95': pytest.approx((300 * 2 + 240) / 1e6),
            'answers': 3,
            'prices': {'input': 2.0, 'output': 8.0, 'cached': 1.0},
        },
    }
    assert spending_of(json.loads(json.dumps(summary))) == Spending(5, 600, 60, summary['cost']['total'], 1, 2)


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60))
def test_numbers_are_those_of_numpy(counts: list[int]) -> None:
    summary = summary_of([Usage(prompt=count, completion=0) for count in counts])
    assert summary is not None and 'cost' not in summary
    own = summary['prompt']
    assert (own['total'], own['mean']) == (sum(counts), pytest.approx(np.mean(counts)))
    for name, share in (('p50', 0.5), ('p95', 0.95)):
        assert own[name] == np.quantile(counts, share, method='inverted_cdf')


def test_nothing_is_known() -> None:
    assert summary_of([None, None], PRICES) is None and summary_of([]) is None
    only_tries = summary_of([Usage(tries=4)], PRICES)
    assert only_tries == {'answers': {'all': 1, 'said': 0, 'counted': 0, 'unknown': 1}, 'tries': 4}
    assert spending_of(only_tries) is None


def test_old_results_are_priced_by_their_tokens() -> None:
    summary = summary_of([Usage(100, 10, cached=60), Usage(300, 30)])
    spending = spending_of(summary, PRICES)
    assert spending is not None and spending.cost == pytest.approx((340 * 2 + 60 + 40 * 8) / 1e6)
    assert spending_of(summary) == Spending(2, 400, 40, None, 0, 0)


def test_spendings_add_up() -> None:
    one, other = Spending(1, 10, 2, 0.5, 1, 0), Spending(2, 20, 3, None, 0, 1)
    assert one + other == Spending(3, 30, 5, 0.5, 1, 1)
    assert other + other == Spending(4, 40, 6, None, 0, 2)


@pytest.mark.parametrize(
    'summary',
    [
        None,
        [],
        {},
        {'prompt': 5},
        {'prompt': {'total': -1}, 'completion': {'total': 1.5}},
        {'prompt': {'total': True}, 'completion': {'total': 10**400}},
    ],
)
def test_files_that_say_nothing(summary: Any) -> None:
    assert spending_of(summary, PRICES) is None


def test_a_cost_that_is_none_is_left_out() -> None:
    for cost in (float('nan'), 'x', 10**400, -1, True):
        spending = spending_of({'prompt': {'total': 1}, 'cost': {'total': cost}, 'answers': 7})
        assert spending == Spending(0, 1, 0, None, 0, 0)


def test_what_is_half_known_has_no_cost() -> None:
    spending = spending_of(summary_of([Usage(completion=7)], PRICES), PRICES)
    assert spending == Spending(1, 0, 7, None, 0, 0)
