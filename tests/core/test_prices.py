"""core/prices: cost of tokens, and invalid prices."""

from __future__ import annotations

from typing import Any

import pytest

from opencompass_tooleval.core.scoring.prices import Prices, read_prices
from opencompass_tooleval.core.scoring.usage import Usage


def test_costs_by_hand() -> None:
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
