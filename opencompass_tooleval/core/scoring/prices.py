"""Prices of tokens and budgets of models: ``prices=dict(input=..., output=...)`` and ``budget=dict(cost=...)``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.scoring.usage import Usage

_PER = 1_000_000
_NAMES = ('input', 'output', 'cached', 'cache_write')

BUDGET = 'budget'
COST, TOKENS = 'cost', 'tokens'
"""Units of a budget."""


@dataclass(frozen=True)
class Prices:
    """Prices of a million tokens, in any currency.

    Attributes:
        input: Price of prompts.
        output: Price of answers, thoughts included.
        cached: Price of prompt tokens from the server's cache; None if it equals ``input``.
        cache_write: Price of prompt tokens that the server writes to its cache; None if it equals ``input``.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None

    def cost(self, prompt: int, completion: int, cached: int | None = None, written: int | None = None) -> float:
        """Returns the cost of tokens.

        Args:
            prompt: Number of all prompt tokens.
            completion: Number of answer tokens.
            cached: Number of prompt tokens from the server's cache; None if unknown.
            written: Number of prompt tokens that the server wrote to its cache; None if unknown.
        """
        known = min(cached or 0, prompt)
        new = min(written or 0, prompt - known)
        of_cached, of_new = (self.input if price is None else price for price in (self.cached, self.cache_write))
        rest = prompt - known - new
        return (rest * self.input + known * of_cached + new * of_new + completion * self.output) / _PER

    def cost_of(self, usage: Usage) -> float | None:
        """Returns the cost of an answer; None if its tokens are unknown."""
        if usage.prompt is None or usage.completion is None:
            return None
        return self.cost(usage.prompt, usage.completion, usage.cached, usage.cache_write)

    def to_payload(self) -> dict[str, float]:
        """Returns the prices as in a config."""
        return {name: price for name, price in vars(self).items() if price is not None}


def read_prices(value: Any) -> Prices | None:
    """Returns the prices in a model's config; None if it has none.

    Raises:
        ValueError: The value is not ``dict(input=..., output=...)`` of numbers from 0, optionally with ``cached`` and
            ``cache_write``.
    """
    if value is None:
        return None
    prices = dict(value) if isinstance(value, Mapping) else {}
    if not {'input', 'output'} <= set(prices) <= set(_NAMES) or not all(map(_is_price, prices.values())):
        raise ValueError(
            f'prices={str(value)[:100]} should be dict(input=..., output=...), perhaps with cached=... '
            'and cache_write=..., each the price of a million tokens'
        )
    return Prices(**{name: float(price) for name, price in prices.items()})


def _is_price(value: Any, most: int = 10**9) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= most


@dataclass(frozen=True)
class Budget:
    """The maximum that a model may spend in a work directory.

    Attributes:
        unit: ``cost`` or ``tokens``.
        limit: Maximum amount, in the currency of the prices, or in tokens of prompts and answers.
        prices: Prices of the model's tokens; None for a budget of tokens.

    Raises:
        ValueError: The unit is ``cost``, and there are no prices.
    """

    unit: str
    limit: float
    prices: Prices | None = None

    def __post_init__(self) -> None:
        if self.unit == COST and self.prices is None:
            raise ValueError(
                'a budget of cost needs prices: add prices=dict(input=..., output=...), or set budget=dict(tokens=...)'
            )

    def amount(self, usage: Usage) -> float:
        """Returns the amount that tokens use up; unknown ones count as 0."""
        prompt, completion = usage.prompt or 0, usage.completion or 0
        if self.unit == COST and self.prices:
            return self.prices.cost(prompt, completion, usage.cached, usage.cache_write)
        return prompt + completion

    def shown(self, amount: float) -> str:
        """Formats an amount as ``5.00`` or ``2,000,000 tokens``."""
        if self.unit == TOKENS:
            return f'{amount:,.0f} tokens'
        return f'{amount:,.{2 if self.limit >= 0.1 else 6}f}'


def budget_of(cfg: Mapping[str, Any]) -> Budget | None:
    """Returns the budget in a model's config; None if it has none.

    Raises:
        ValueError: The value is not ``dict(cost=...)`` or ``dict(tokens=...)`` with a number above 0, or lacks prices.
    """
    value = cfg.get(BUDGET)
    if value is None:
        return None
    budget = dict(value) if isinstance(value, Mapping) else {}
    if (
        len(budget) != 1
        or not set(budget) <= {COST, TOKENS}
        or not all(_is_price(n, 10**15) and n for n in budget.values())
    ):
        raise ValueError(f'budget={str(value)[:100]} should be dict(cost=...) or dict(tokens=...), a number above 0')
    ((unit, limit),) = budget.items()
    return Budget(unit, limit, read_prices(cfg.get('prices')))
