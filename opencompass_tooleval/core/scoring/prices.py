"""Prices of tokens: ``prices=dict(input=..., output=...)`` in a model's config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.scoring.usage import Usage

_PER = 1_000_000
_NAMES = ('input', 'output', 'cached')


@dataclass(frozen=True)
class Prices:
    """Prices of a million tokens, in any currency.

    Attributes:
        input: Price of prompts.
        output: Price of answers, thoughts included.
        cached: Price of prompt tokens from the server's cache; None if it is that of ``input``.
    """

    input: float
    output: float
    cached: float | None = None

    def cost(self, prompt: int, completion: int, cached: int | None = None) -> float:
        """Computes the cost of tokens; ``cached`` of the prompt's tokens came from the server's cache."""
        known = min(cached or 0, prompt)
        price_of_cached = self.input if self.cached is None else self.cached
        return ((prompt - known) * self.input + known * price_of_cached + completion * self.output) / _PER

    def cost_of(self, usage: Usage) -> float | None:
        """Computes the cost of an answer; None if its tokens are unknown."""
        if usage.prompt is None or usage.completion is None:
            return None
        return self.cost(usage.prompt, usage.completion, usage.cached)

    def to_payload(self) -> dict[str, float]:
        """The prices as a config has them."""
        payload = {'input': self.input, 'output': self.output}
        return payload if self.cached is None else {**payload, 'cached': self.cached}


def read_prices(value: Any) -> Prices | None:
    """The prices of a model's config; None without any.

    Raises:
        ValueError: They are not ``dict(input=..., output=...)``, perhaps with ``cached``, of numbers from 0 on.
    """
    if value is None:
        return None
    prices = dict(value) if isinstance(value, Mapping) else {}
    if not {'input', 'output'} <= set(prices) <= set(_NAMES) or not all(map(_is_price, prices.values())):
        raise ValueError(
            f'prices={str(value)[:100]} should be dict(input=..., output=...), perhaps with cached=..., '
            'each the price of a million tokens'
        )
    return Prices(**{name: float(price) for name, price in prices.items()})


def _is_price(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 10**9
