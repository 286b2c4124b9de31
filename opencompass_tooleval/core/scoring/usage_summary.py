"""Usage of all answers to a dataset: totals, means and percentiles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.scoring.prices import Prices, read_prices
from opencompass_tooleval.core.scoring.usage import DETAILS, NUMBERS, TOKENS, Usage, read_usage

OTHERS = 'auxiliary_models'
"""Key in a prediction: auxiliary models of its dialogue, such as a simulator. Key in ``usage`` of a result: a row for
each auxiliary model, including the judge."""
FROM_CACHE = 'from_cache'
"""Key in a judge's row: usage of judgements that an earlier evaluation requested."""
REPORTED = 'reported by the server'
_COUNTED = 'counted here by a version that does not say how'
_PERCENTILES = {'p50': 0.5, 'p95': 0.95}
_MAX_NAME = 200


def numbers_of(values: Sequence[float]) -> dict[str, Any]:
    """Returns total, mean and percentiles (by nearest rank, so they are values); empty without values."""
    if not values:
        return {}
    ordered = sorted(values)
    at = {name: ordered[max(0, math.ceil(share * len(ordered)) - 1)] for name, share in _PERCENTILES.items()}
    total = math.fsum(ordered) if any(isinstance(value, float) for value in ordered) else sum(ordered)
    return {'total': total, 'mean': total / len(ordered), **at}


def summary_of(usages: Iterable[Usage | None], prices: Prices | None = None) -> dict[str, Any] | None:
    """Returns the part ``usage`` of a result, as JSON values.

    Args:
        usages: Usage of each answer, for a dialogue of all its rounds; None if unknown.
        prices: Prices of the model; None if unknown.

    Returns:
        A dict with ``answers`` (numbers of ``all`` answers, of those with tokens ``reported`` by the server or
        ``counted`` here, and ``unknown``), ``counted_by`` (tokenizer or estimate -> number of answers) and
        ``requests``. For ``prompt``, ``first_prompt``, ``completion``, ``reasoning``, ``cached`` and ``seconds`` per
        answer: ``total``, ``mean``, ``p50``, ``p95``, ``answers`` (how many have the number) and ``incomplete`` (how
        many of these have a round without it). If a server reports ``reasoning`` or ``cached`` for any answer, the
        others count as 0 and ``incomplete``. ``cost`` has the same numbers, ``prices``, and ``cached_unknown``: the
        number of answers at the full price because their cached tokens are unknown. ``billed`` has the numbers of the
        costs that the server reported, and ``added`` is the number of answer tokens that only its totals contain. None
        if no answer has a usage.
    """
    rows = list(usages)
    known = [usage for usage in rows if usage is not None]
    if not known:
        return None
    with_tokens = [usage for usage in known if usage.has_tokens]
    counted = [usage for usage in with_tokens if usage.counted]
    summary: dict[str, Any] = {
        'answers': {
            'all': len(rows),
            'reported': len(with_tokens) - len(counted),
            'counted': len(counted),
            'unknown': len(rows) - len(with_tokens),
        },
        'requests': sum(usage.requests for usage in known),
    }
    if counted:
        summary['counted_by'] = dict(Counter(usage.counter or _COUNTED for usage in counted).most_common())
    for name in (*NUMBERS, 'first_prompt'):
        if part := _part_of(name, known):
            summary[name] = part
    if added := sum(usage.added or 0 for usage in known):
        summary['added'] = added
    costs = [cost for usage in known if prices and (cost := prices.cost_of(usage)) is not None]
    if prices and costs:
        summary['cost'] = {**numbers_of(costs), 'answers': len(costs), 'prices': prices.to_payload()}
        unknown = len(with_tokens) - summary.get('cached', {}).get('answers', 0)
        if prices.cached is not None and unknown:
            summary['cost']['cached_unknown'] = unknown
    return summary


def _part_of(name: str, usages: Sequence[Usage]) -> dict[str, Any]:
    """Returns total, mean and percentiles of one number; empty if no answer has it."""
    values = [value for usage in usages if (value := getattr(usage, name)) is not None]
    if not values:
        return {}
    left_out = [usage for usage in usages if name in DETAILS and getattr(usage, name) is None and _is_reported(usage)]
    incomplete = len(left_out) + sum(name in usage.incomplete for usage in usages)
    part = {**numbers_of([*values, *(0 for _ in left_out)]), 'answers': len(values) + len(left_out)}
    return {**part, 'incomplete': incomplete} if incomplete else part


def _is_reported(usage: Usage) -> bool:
    return usage.has_tokens and not usage.counted


def other_row(
    role: str,
    model: str,
    usages: Sequence[Usage | None],
    prices: Prices | None,
    from_cache: Sequence[Usage | None] = (),
) -> list[dict[str, Any]]:
    """Returns a row of ``auxiliary_models``: the usage of one auxiliary model, from :func:`summary_of`.

    Args:
        role: ``judge`` or ``simulator``.
        model: The name of the model.
        usages: Usage of each answer, including repeated and unreadable ones.
        prices: Prices of the model.
        from_cache: Usage of answers that an earlier evaluation requested.

    Returns:
        A list with the row; empty if nothing is known, for example for recorded answers.
    """
    spent, cached = summary_of(usages, prices), summary_of(from_cache, prices)
    if not spent and not cached:
        return []
    return [{'role': role, 'model': model, **(spent or {}), **({FROM_CACHE: cached} if cached else {})}]


def other_usage(role: str, model: str, prices: Prices | None, usages: Iterable[Usage | None]) -> dict[str, Any]:
    """Returns an entry of ``auxiliary_models`` in a prediction: the usage of an auxiliary model, as JSON values."""
    spent = [usage.to_payload() if usage else None for usage in usages]
    return {'role': role, 'model': model, **({'prices': prices.to_payload()} if prices else {}), 'usages': spent}


def other_rows(predictions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the rows of ``auxiliary_models`` for predictions, or for stored rows."""
    asked: dict[tuple[str, str], tuple[Any, list[Usage | None]]] = {}
    for prediction in predictions:
        for other in _list(prediction.get(OTHERS)):
            key = _text(other.get('role')), _text(other.get('model'))
            usages = (read_usage(value) for value in _list(other.get('usages'), dict | None))
            asked.setdefault(key, (other.get('prices'), []))[1].extend(usages)
    return [row for key, (prices, usages) in asked.items() for row in other_row(*key, usages, _prices(prices))]


def _prices(value: Any) -> Prices | None:
    try:
        return read_prices(value)
    except ValueError:
        return None


def _list(value: Any, of: Any = dict) -> list[Any]:
    return [item for item in value if isinstance(item, of)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value[:_MAX_NAME] if isinstance(value, str) else ''


@dataclass(frozen=True)
class PromptTokens:
    """Mean numbers of prompt tokens per task.

    Attributes:
        first: Tokens of the first prompt, including tools; None if unknown.
        task: Tokens of all prompts of a task: all rounds and repeated requests.
        counted_by: The server or tokenizer that counted the tokens.
    """

    first: float | None = None
    task: float | None = None
    counted_by: str = ''


def prompt_tokens_of(summary: Any, is_dialogue: bool = False) -> PromptTokens:
    """Reads the prompt tokens of a task from the part ``usage`` of a result.

    Args:
        summary: The part ``usage``.
        is_dialogue: True if a task has several prompts. The tokens of the first one may then be unknown.
    """
    if not isinstance(summary, Mapping):
        return PromptTokens()
    task, first = (_number(_part(summary, name).get('mean')) for name in ('prompt', 'first_prompt'))
    if task is None:
        return PromptTokens()
    return PromptTokens(task if first is None and not is_dialogue else first, task, counted_by(summary))


def counted_by(summary: Mapping[str, Any]) -> str:
    """Returns the names of the tokenizers that counted the tokens in a result's ``usage``; ``''`` if there are none."""
    counters = list(map(_text, _part(summary, 'counted_by')))
    counts = {name: _count(_part(summary, 'answers').get(name)) for name in ('reported', 'counted')}
    reported = [REPORTED] if counts['reported'] else []
    return ', '.join([*reported, *(counters or [_COUNTED] * bool(counts['counted']))])


def spending_so_far(rows: Iterable[Mapping[str, Any]], prices: Prices | None = None) -> Spending | None:
    """Returns the sum of usage and cost of rows of predictions, or of stored answers."""
    return spending_of(summary_of((read_usage(row.get('usage')) for row in rows), prices), prices)


@dataclass(frozen=True)
class Spending:
    """Sum of usage and cost of answers.

    Attributes:
        answers: Number of answers.
        prompt: Number of known prompt tokens.
        completion: Number of known answer tokens.
        cost: Cost in the currency of the prices; None without prices.
        counted: Number of answers whose tokens this package counted.
        unknown: Number of answers with unknown tokens, which the sums lack.
        incomplete: Number of other answers with unknown tokens in some rounds.
        cached_unknown: Number of answers at the full price because their cached tokens are unknown.
        counters: The tokenizers or estimates that this package used.
        requests: Number of requests, including failed ones.
    """

    answers: int
    prompt: int
    completion: int
    cost: float | None
    counted: int
    unknown: int
    incomplete: int = 0
    cached_unknown: int = 0
    counters: tuple[str, ...] = ()
    requests: int = 0

    @property
    def with_tokens(self) -> int:
        """Number of answers with known tokens."""
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
            self.incomplete + other.incomplete,
            self.cached_unknown + other.cached_unknown,
            tuple(dict.fromkeys([*self.counters, *other.counters])),
            self.requests + other.requests,
        )

    def __str__(self) -> str:
        """Formats ``1,200 of prompts, 300 of answers, cost 0.12, 4 answers counted here (...), 1 not known``."""
        notes = [
            (self.counted, f' answers counted here ({", ".join(self.counters)})'),
            (self.unknown, ' answers with unknown tokens'),
            (self.incomplete, ' answers with partly unknown tokens'),
            (self.cached_unknown, ' answers at the full price: cached tokens are unknown'),
        ]
        cost = [] if self.cost is None else [f'cost {self.cost:,.2f}']
        noted = [f'{count:,}{words}'.replace(' ()', '') for count, words in notes if count]
        return ', '.join([f'{self.prompt:,} of prompts', f'{self.completion:,} of answers', *cost, *noted])


NOTHING = Spending(0, 0, 0, None, 0, 0)


def spending_of(summary: Any, prices: Prices | None = None) -> Spending | None:
    """Reads usage and cost from the part ``usage`` of a result; None if it is missing or invalid.

    Args:
        summary: The part ``usage``.
        prices: Prices of the tokens, used if the part has no cost.
    """
    if not isinstance(summary, Mapping):
        return None
    totals = {name: _count(_part(summary, name).get('total')) for name in TOKENS}
    counts = {name: _count(_part(summary, 'answers').get(name)) or 0 for name in ('all', 'counted', 'unknown')}
    if totals['prompt'] is None and totals['completion'] is None:
        return None
    prompt, completion = totals['prompt'] or 0, totals['completion'] or 0
    cost = _number(_part(summary, 'cost').get('total'))
    if cost is None and prices and None not in (totals['prompt'], totals['completion']):
        cost = prices.cost(prompt, completion, totals['cached'], totals['cache_write'])
    incomplete = max(_count(_part(summary, name).get('incomplete')) or 0 for name in ('prompt', 'completion'))
    return Spending(
        counts['all'],
        prompt,
        completion,
        cost,
        counts['counted'],
        counts['unknown'],
        incomplete,
        _count(_part(summary, 'cost').get('cached_unknown')) or 0,
        tuple(map(_text, _part(summary, 'counted_by'))),
        _count(summary.get('requests')) or 0,
    )


@dataclass(frozen=True)
class OtherSpending:
    """Usage and cost of an auxiliary model.

    Attributes:
        role: ``judge`` or ``simulator``.
        model: The name of the model.
        spent: Usage that this result caused.
        from_cache: Usage of cached answers, for which an earlier evaluation paid.
    """

    role: str
    model: str
    spent: Spending
    from_cache: Spending

    @property
    def name(self) -> str:
        """Role and name, such as ``judge gpt-4``."""
        return f'{self.role} {self.model}'


def read_others(summary: Any) -> list[OtherSpending]:
    """Reads the rows of ``auxiliary_models`` in the part ``usage`` of a result."""
    rows = _list(summary.get(OTHERS)) if isinstance(summary, Mapping) else []
    return [
        OtherSpending(
            _text(row.get('role')),
            _text(row.get('model')),
            spending_of(row) or NOTHING,
            spending_of(row.get(FROM_CACHE)) or NOTHING,
        )
        for row in rows
    ]


def others_by_name(summary: Any) -> dict[str, Spending]:
    """Returns the sum of usage and cost of :func:`read_others` by name."""
    return add_spendings(*({other.name: other.spent} for other in read_others(summary)))


def add_spendings(*spendings: Mapping[str, Spending]) -> dict[str, Spending]:
    """Adds usage and cost by name."""
    total: dict[str, Spending] = {}
    for name, spent in (item for spending in spendings for item in spending.items()):
        total[name] = total[name] + spent if name in total else spent
    return total


def _part(summary: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = summary.get(name)
    return part if isinstance(part, Mapping) else {}


def _number(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e15
    return float(value) if is_number else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else None
