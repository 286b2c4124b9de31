"""What all answers to a data set cost together, and one of them mostly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.prices import Prices
from opencompass_tooleval.core.usage import TOKENS, Usage, read_usage

_PERCENTILES = {'p50': 0.5, 'p95': 0.95}


def numbers_of(values: Sequence[float]) -> dict[str, Any]:
    """Total, mean and percentiles (nearest rank: one of the values); nothing of no values."""
    if not values:
        return {}
    ordered = sorted(values)
    at = {name: ordered[max(0, math.ceil(share * len(ordered)) - 1)] for name, share in _PERCENTILES.items()}
    total = math.fsum(ordered) if any(isinstance(value, float) for value in ordered) else sum(ordered)
    return {'total': total, 'mean': total / len(ordered), **at}


def summary_of(usages: Iterable[Usage | None], prices: Prices | None = None) -> dict[str, Any] | None:
    """The part ``usage`` of a result, as JSON values.

    Args:
        usages: One per answer; of a dialogue that of all of its rounds. None where nobody says.
        prices: Of the model; None if they are not known.

    Returns:
        ``answers`` (``all``; of how many the server said the tokens, of how many they were ``counted`` here, of how
        many nobody knows), ``tries`` (requests), for ``prompt``, ``completion``, ``reasoning``, ``cached`` and
        ``seconds`` of an answer ``total``, ``mean``, ``p50``, ``p95`` and ``answers`` (how many say it), and ``cost``:
        the same, and ``prices``. None if no answer says anything.
    """
    rows = list(usages)
    known = [usage for usage in rows if usage is not None]
    if not known:
        return None
    with_tokens = [usage for usage in known if usage.prompt is not None or usage.completion is not None]
    counted = sum(usage.counted for usage in with_tokens)
    summary: dict[str, Any] = {
        'answers': {
            'all': len(rows),
            'said': len(with_tokens) - counted,
            'counted': counted,
            'unknown': len(rows) - len(with_tokens),
        },
        'tries': sum(usage.tries for usage in known),
    }
    for name in (*TOKENS, 'seconds'):
        values = [value for usage in known if (value := getattr(usage, name)) is not None]
        if values:
            summary[name] = {**numbers_of(values), 'answers': len(values)}
    costs = [cost for usage in known if prices and (cost := prices.cost_of(usage)) is not None]
    if prices and costs:
        summary['cost'] = {**numbers_of(costs), 'answers': len(costs), 'prices': prices.to_payload()}
    return summary


def spending_so_far(rows: Iterable[Mapping[str, Any]], prices: Prices | None = None) -> Spending | None:
    """What rows of predictions, or of their journal, cost together; see :func:`spending_of`."""
    return spending_of(summary_of((read_usage(row.get('usage')) for row in rows), prices), prices)


@dataclass(frozen=True)
class Spending:
    """What answers cost together, whatever it was read from.

    Attributes:
        answers: How many there are.
        prompt: Tokens of what was asked, as far as they are known.
        completion: Tokens of the answers.
        cost: Money; None if there are no prices.
        counted: Of how many answers the tokens were counted here.
        unknown: Of how many answers nobody knows them: what is known is then too little.
    """

    answers: int
    prompt: int
    completion: int
    cost: float | None
    counted: int
    unknown: int

    @property
    def with_tokens(self) -> int:
        """Of how many answers the tokens are known."""
        return self.answers - self.unknown

    def __add__(self, other: Spending) -> Spending:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Spending(
            self.answers + other.answers,
            self.prompt + other.prompt,
            self.completion + other.completion,
            math.fsum(costs) if costs else None,
            self.counted + other.counted,
            self.unknown + other.unknown,
        )


def spending_of(summary: Any, prices: Prices | None = None) -> Spending | None:
    """What the part ``usage`` of a result says; None where there is none, or it cannot be read.

    Args:
        summary: The part.
        prices: Where it has no cost: what its tokens cost.
    """
    if not isinstance(summary, Mapping):
        return None
    totals = {name: _count(_part(summary, name).get('total')) for name in TOKENS}
    counts = {name: _count(_part(summary, 'answers').get(name)) or 0 for name in ('all', 'counted', 'unknown')}
    if totals['prompt'] is None and totals['completion'] is None:
        return None
    prompt, completion = totals['prompt'] or 0, totals['completion'] or 0
    cost = _cost(_part(summary, 'cost').get('total'))
    if cost is None and prices and None not in (totals['prompt'], totals['completion']):
        cost = prices.cost(prompt, completion, totals['cached'])
    return Spending(counts['all'], prompt, completion, cost, counts['counted'], counts['unknown'])


def _part(summary: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = summary.get(name)
    return part if isinstance(part, Mapping) else {}


def _cost(value: Any) -> float | None:
    is_cost = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15
    return float(value) if is_cost else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None
