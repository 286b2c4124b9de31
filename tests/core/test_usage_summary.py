"""Usage and prices: totals, means and percentiles against numpy, and any content of files."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.scoring.prices import Prices, read_prices
from opencompass_tooleval.core.scoring.usage import Usage, total_usage, with_failed
from opencompass_tooleval.core.scoring.usage_summary import (
    NOTHING,
    Spending,
    other_row,
    other_rows,
    other_usage,
    others_by_name,
    read_others,
    spending_of,
    summary_of,
)

PRICES = Prices(2.0, 8.0, 1.0)


def test_by_hand() -> None:
    usages = [
        Usage(100, 10, 4, 50, seconds=0.5, requests=1),
        Usage(300, 30, seconds=1.5, requests=3),
        Usage(200, 20, counted=True, counter='estimate'),
        Usage(requests=2, seconds=9.0),
        None,
    ]
    summary = summary_of(usages, PRICES)
    assert summary == {
        'answers': {'all': 5, 'reported': 2, 'counted': 1, 'unknown': 2},
        'requests': 7,
        'prompt': {'total': 600, 'mean': 200.0, 'p50': 200, 'p95': 300, 'answers': 3},
        'completion': {'total': 60, 'mean': 20.0, 'p50': 20, 'p95': 30, 'answers': 3},
        'counted_by': {'estimate': 1},
        'reasoning': {'total': 4, 'mean': 2.0, 'p50': 0, 'p95': 4, 'answers': 2, 'incomplete': 1},
        'cached': {'total': 50, 'mean': 25.0, 'p50': 0, 'p95': 50, 'answers': 2, 'incomplete': 1},
        'seconds': {'total': 11.0, 'mean': pytest.approx(11 / 3), 'p50': 1.5, 'p95': 9.0, 'answers': 3},
        'cost': {
            'total': pytest.approx((550 * 2 + 50 + 60 * 8) / 1e6),
            'mean': pytest.approx((550 * 2 + 50 + 60 * 8) / 3e6),
            'p50': pytest.approx((200 * 2 + 160) / 1e6),
            'p95': pytest.approx((300 * 2 + 240) / 1e6),
            'answers': 3,
            'prices': {'input': 2.0, 'output': 8.0, 'cached': 1.0},
            'cached_unknown': 1,
        },
    }
    spending = spending_of(json.loads(json.dumps(summary)))
    assert spending == Spending(5, 600, 60, summary['cost']['total'], 1, 2, 0, 1, ('estimate',), 7)
    assert str(spending) == (
        '600 of prompts, 60 of answers, cost 0.00, 1 answers counted here (estimate), 2 answers with unknown tokens, '
        '1 answers at the full price: cached tokens are unknown'
    )
    assert summary_of([None, None], PRICES) is None and summary_of([]) is None
    only_tries = summary_of([Usage(requests=4)], PRICES)
    assert only_tries == {'answers': {'all': 1, 'reported': 0, 'counted': 0, 'unknown': 1}, 'requests': 4}
    assert spending_of(only_tries) is None
    summary = summary_of([Usage(100, 10, cached=60), Usage(300, 30)])
    spending = spending_of(summary, PRICES)
    assert spending is not None and spending.cost == pytest.approx((340 * 2 + 60 + 40 * 8) / 1e6)
    assert spending_of(summary) == Spending(2, 400, 40, None, 0, 0, requests=2)
    summary = summary_of([Usage(100, 10)], Prices(2.0, 8.0))
    assert summary is not None and 'cached_unknown' not in summary['cost']
    spending = spending_of(summary_of([Usage(100, 10), Usage(1, 1, incomplete=('prompt',))], PRICES))
    assert spending is not None and (spending.incomplete, spending.cached_unknown) == (1, 2)
    assert str(spending).endswith(
        '1 answers with partly unknown tokens, 2 answers at the full price: cached tokens are unknown'
    )


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60))
def test_numbers_are_those_of_numpy(counts: list[int]) -> None:
    summary = summary_of([Usage(prompt=count, completion=0) for count in counts])
    assert summary is not None and 'cost' not in summary
    prompt_tokens = summary['prompt']
    assert (prompt_tokens['total'], prompt_tokens['mean']) == (sum(counts), pytest.approx(np.mean(counts)))
    for name, share in (('p50', 0.5), ('p95', 0.95)):
        assert prompt_tokens[name] == np.quantile(counts, share, method='inverted_cdf')


def test_dialogues_cost_what_their_rounds_cost() -> None:
    """What was cached is billed as such, though other rounds of the dialogue do not say it."""
    dialogues = [[Usage(100, 10, cached=60), Usage(300, 30)], [Usage(50, 5)], [Usage(40, 4, cached=0)]]
    summary = summary_of(map(total_usage, dialogues), PRICES)
    assert summary is not None
    assert summary['cost']['total'] == pytest.approx(
        sum(PRICES.cost_of(one) or 0 for rounds in dialogues for one in rounds)
    )
    assert (summary['cached']['incomplete'], summary['cached']['answers']) == (2, 3)
    assert 'cached_unknown' not in summary['cost']


def test_requests_that_failed_are_part_of_what_an_answer_cost() -> None:
    answer = Usage(100, 10, cached=50, seconds=1.5, first_prompt=100)
    failed = [None, Usage(), Usage(70, 2, first_prompt=70), Usage(requests=3)]
    total = Usage(170, 12, cached=50, seconds=1.5, requests=6, first_prompt=100)
    assert with_failed(answer, failed) == total
    assert with_failed(answer, [None]) == with_failed(answer, []) == answer
    assert with_failed(None, failed) == Usage(70, 2, requests=5)
    assert with_failed(None, [Usage(requests=2), Usage(requests=2)]) == Usage(requests=4)
    assert with_failed(None, [None]) is None


ROWS = [
    {'auxiliary_models': [other_usage('simulator', 'sim', PRICES, [Usage(100, 10), None])]},
    {'auxiliary_models': [other_usage('simulator', 'sim', PRICES, [Usage(300, 30, requests=2)])]},
    {'auxiliary_models': [other_usage('simulator', 'free', None, [Usage(5, 1)])]},
    {'auxiliary_models': [other_usage('simulator', 'silent', None, [None])]},
    {},
]


def test_rows_of_others_by_name() -> None:
    first, second = other_rows(json.loads(json.dumps(ROWS)))
    usage = summary_of([Usage(100, 10), None, Usage(300, 30, requests=2)], PRICES)
    assert first == {'role': 'simulator', 'model': 'sim', **(usage or {})}
    assert second['model'] == 'free' and 'cost' not in second
    near: Any = pytest.approx  # stands in for a float
    assert others_by_name({'auxiliary_models': [first, second, first]}) == {
        'simulator sim': Spending(6, 800, 80, near(2 * (400 * 2 + 40 * 8) / 1e6), 0, 2, 0, 4, (), 6),
        'simulator free': Spending(1, 5, 1, None, 0, 0, requests=1),
    }
    (row,) = other_row('judge', 'gpt', [], PRICES, [Usage(100, 10), None])
    (other,) = read_others({'auxiliary_models': [row]})
    assert (other.name, other.spent) == ('judge gpt', NOTHING)
    assert other.from_cache.cost == pytest.approx((100 * 2 + 10 * 8) / 1e6) and other.from_cache.unknown == 1
    assert other_row('judge', 'gpt', [None], PRICES) == []
    one, more = Spending(1, 10, 2, 0.5, 1, 0, 1, 1, ('x', 'y'), 3), Spending(2, 20, 3, None, 0, 1, 1, 0, ('y',), 4)
    assert one + more == Spending(3, 30, 5, 0.5, 1, 1, 2, 1, ('x', 'y'), 7)
    assert more + more == Spending(4, 40, 6, None, 0, 2, 2, 0, ('y',), 8)


def test_others_that_cannot_be_read() -> None:
    odd: list[Any] = [[{'role': 5, 'model': [], 'usages': 7, 'prices': 'free'}], [{'usages': [5, [], {}]}]]
    for value in (None, 7, [7], [{}], *odd):
        rows = other_rows([{'auxiliary_models': value}])
        assert all(set(row) == {'role', 'model', 'answers', 'requests'} for row in rows)
        assert all(other.spent == other.from_cache == NOTHING for other in read_others({'auxiliary_models': value}))
        assert read_others(value) == []


def test_files_that_say_nothing_or_half() -> None:
    odd = ({'total': -1}, {'total': 1.5}, {'total': True}, {'total': 10**400})
    for summary in (None, [], {}, {'prompt': 5}, *({'prompt': one, 'completion': one} for one in odd)):
        assert spending_of(summary, PRICES) is None
    # A cost that is none is left out, and what is half known has no cost.
    for cost in (float('nan'), 'x', 10**400, -1, True):
        spending = spending_of({'prompt': {'total': 1}, 'cost': {'total': cost}, 'answers': 7})
        assert spending == Spending(0, 1, 0, None, 0, 0)
    spending = spending_of(summary_of([Usage(completion=7)], PRICES), PRICES)
    assert spending == Spending(1, 0, 7, None, 0, 0, requests=1)


def test_prices_by_hand() -> None:
    prices = Prices(2.5, 10.0, 1.25)
    assert prices.cost(1_000_000, 0) == 2.5
    assert prices.cost(1000, 200, 400) == pytest.approx((600 * 2.5 + 400 * 1.25 + 200 * 10) / 1e6)
    assert Prices(2.5, 10.0).cost(1000, 200, 400) == pytest.approx((1000 * 2.5 + 200 * 10) / 1e6)
    assert prices.cost(100, 0, 400) == pytest.approx(125 / 1e6)  # a server that says more than there is
    prices = Prices(1, 1)
    assert prices.cost_of(Usage(prompt=1)) is None and prices.cost_of(Usage(completion=1)) is None
    assert prices.cost_of(Usage(10, 20, reasoning=5)) == pytest.approx(30 / 1e6)


def test_prices_are_read_and_written() -> None:
    for value in ({'input': 1, 'output': 2}, {'input': 0, 'output': 0.5, 'cached': 0.1}):
        prices = read_prices(value)
        assert prices is not None and prices.to_payload() == value
    assert read_prices(None) is None
    odd: list[Any] = [{'input': 1, 'output': output} for output in (-1, '2', True, float('nan'))]
    for value in (*odd, {}, {'input': 1}, {'input': 1, 'output': 2, 'prompt': 3}, 5, 'free', [1, 2]):
        with pytest.raises(ValueError, match=r'should be dict\(input=\.\.\., output=\.\.\.\)'):
            read_prices(value)
