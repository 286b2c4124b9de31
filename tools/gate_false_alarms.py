"""Simulates gates and samples, and counts wrong verdicts: the tables of docs/explanation/statistics-appendix.md.

Usage: python tools/gate_false_alarms.py [drops|clusters|equivalent|sampled|large] [--runs 2000] [--records 6 30 100]

`drops`: gates of unchanged systems. `clusters`: the same with several records of each query. `equivalent`: gates of
systems whose true difference is the margin. `sampled`: intervals of scores of samples, alone and with the looks of
`tooleval run --within`; it exits with 1 if an interval holds the score of all records too rarely. `large`: the same for
data with a few large queries, whose records are all wrong.

All gates of a cell are simulated at once. The p-values of the first ones are compared with those of the package, which
computes one at a time. All numbers of trials on both sides are tried; a cell has the largest share of false alarms
among them. It takes some minutes; `equivalent` half an hour.
"""

from __future__ import annotations

import argparse
import math
import sys
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from opencompass_tooleval.core.statistics.intervals import (
    ALPHA,
    Effect,
    Pairs,
    RecordValue,
    compare_column,
    effect_of,
    score_interval,
    unseen_drop,
)
from opencompass_tooleval.core.statistics.paired import pair_up
from opencompass_tooleval.core.statistics.sample import LOOKS, Sample, unseen
from opencompass_tooleval.extras.gate.outcomes import EQUIVALENT, drop_p_value, equivalence_of, holm

Values = NDArray[np.float64]
"""Values of all trials, 0-1: gates x records x trials; or chances to be right: gates x records."""
System = Callable[[np.random.Generator, tuple[int, int], tuple[int, int]], tuple[Values, Values]]
"""Generator, numbers of gates and records, numbers of trials -> values of the baseline and of the run."""

Change = Callable[[float, tuple[int, int], np.random.Generator, tuple[int, int]], Sequence[tuple[Values, Values]]]
"""True difference in points, numbers of trials, generator, numbers of gates and records -> values of each data set."""

TRIALS = (1, 4, 8, 16)
RECORDS_TO_EQUAL = (20, 60, 100, 150, 200, 300, 500, 1000)
RECORDS = (2, 5, 6, 10, 20, 30, 50, 100, 300)
CHECKED = 3
FEW_TRIALS = ((1, 1), (1, 16), (16, 1))
UNITS = (3.0001, 3.6, 4.2, 4.8, 5.4, 6.2, 8.0)
"""Margins, as numbers of records: with three lost records, none is seen with a chance of 5%."""
MOST_POINTS = 25


def answers(
    before: float | Values, after: float | Values, generator: np.random.Generator, size: tuple[int, int],
    trials: tuple[int, int],
) -> tuple[Values, Values]:  # fmt: skip
    """Answers that are right with a chance before, and with another after."""
    chances = (np.broadcast_to(side, size)[..., None] for side in (before, after))
    first, second = (
        (generator.random((*size, number)) < chance).astype(float)
        for number, chance in zip(trials, chances, strict=True)
    )
    return first, second


def right(chance: float) -> System:
    """A system that is right with a chance."""
    return partial(answers, chance, chance)


def graded(a: float, b: float) -> System:
    """A system with values of a beta distribution."""
    return lambda generator, size, trials: (
        generator.beta(a, b, (*size, trials[0])),
        generator.beta(a, b, (*size, trials[1])),
    )


def cancelling(high: float, low: float, share: float) -> System:
    """A system of which some records get better, and as many worse."""

    def draw(generator: np.random.Generator, size: tuple[int, int], trials: tuple[int, int]) -> tuple[Values, Values]:
        drawn = generator.random(size)
        is_up, is_down = drawn < share / 2, (drawn >= share / 2) & (drawn < share)
        before = np.where(is_up, low, np.where(is_down, high, 0.98))
        return answers(before, np.where(is_up, high, np.where(is_down, low, 0.98)), generator, size, trials)

    return draw


def losing(chance: float, points: float) -> System:
    """A system of which some records lose all."""

    def draw(generator: np.random.Generator, size: tuple[int, int], trials: tuple[int, int]) -> tuple[Values, Values]:
        is_lost = generator.random(size) < points / 100 / chance
        return answers(chance, np.where(is_lost, 0.0, chance), generator, size, trials)

    return draw


def jittering(points: float, noise: float, trials: tuple[int, int], generator: np.random.Generator,
              size: tuple[int, int]) -> tuple[Values, Values]:  # fmt: skip
    """Graded values around 0.9 that vary a little, of which some records lose all."""
    before, after = ((0.9 + generator.uniform(-noise, noise, (*size, number)) / math.sqrt(number)) for number in trials)
    return before, np.where(generator.random(size)[..., None] < points / 90, 0, after)


def shifted(points: float, noise: float, trials: tuple[int, int], generator: np.random.Generator,
            size: tuple[int, int]) -> tuple[Values, Values]:  # fmt: skip
    """Graded values that all lose a little, on average the points."""
    before, after = (generator.normal(0.6, noise, (*size, number)) for number in trials)
    return before, after - points / 100


def changing(points: float, share: float, size_of_change: float, trials: tuple[int, int],
             generator: np.random.Generator, size: tuple[int, int]) -> tuple[Values, Values]:  # fmt: skip
    """Half of the share of records gains, the other half loses, and some more lose, by the size of a change."""
    drawn = generator.random(size)[..., None]
    lost = points / 100 / size_of_change
    change = np.where(drawn < share / 2, 1, np.where(drawn < share + lost, -1, 0)) * size_of_change
    before, after = (np.where(change > 0, 0, np.ones((*size, number))) for number in trials)
    return before, after + change


def spread(before: Values, after: Values, is_shuffled: bool = True) -> tuple[Values, Values]:
    """The change of each record in points, and the variance of the mean change of each gate."""
    records, trials = before.shape[1], (before.shape[2], after.shape[2])
    changes = 100 * (after.mean(2) - before.mean(2))
    variances = changes.var(1, ddof=1) / records
    if trials[0] != trials[1] and is_shuffled:
        of_records = (100 * np.concatenate([before, after], 2)).var(2, ddof=1) * (1 / trials[0] + 1 / trials[1])
        variances = np.maximum(variances, of_records.sum(1) / records**2)
    return changes, variances


def intervals(datasets: Sequence[tuple[Values, Values]]) -> tuple[Values, Values]:
    """Computes both ends of the interval of every gate, of the mean over data sets, as core/statistics/intervals.py."""
    number = len(datasets)
    spreads = [spread(*dataset) for dataset in datasets]
    sizes = [changes.shape[1] for changes, _ in spreads]
    parts = np.concatenate([changes / number / size for (changes, _), size in zip(spreads, sizes, strict=True)], 1)
    variances = np.array([variances for _, variances in spreads]) / number**2
    total, sizes_less = variances.sum(0), np.array(sizes)[:, None] - 1
    with np.errstate(all='ignore'):
        freedom = np.where(total > 0, total**2 / (variances**2 / sizes_less).sum(0) + 1e-7, sizes_less.sum())
        steps = np.nan_to_num((abs(parts) ** 3).sum(1) / (parts**2).sum(1))
    multiples = stats.t.ppf(1 - ALPHA, np.maximum(1, np.floor(freedom)))
    differing = (abs(np.concatenate([changes for changes, _ in spreads], 1)) > 1e-7).sum(1)
    near, more = multiples * np.sqrt(total), multiples**2 * steps / 2
    unseen = unseen_drop(1 / min(sizes) / number)

    def upper(deltas: Values) -> Values:
        gaps = np.maximum(0, -deltas)
        roots = (more - gaps) ** 2 + near**2 - gaps**2
        beyond = np.where(roots > 0, more - gaps + np.sqrt(np.maximum(0, roots)), 0)
        far = np.maximum(np.maximum(0, deltas) + np.maximum(0, beyond), deltas + unseen)
        return np.where((deltas + near < -1e-7) & (0.5**differing <= ALPHA), deltas + near, far)

    deltas = parts.sum(1)
    return np.maximum(-100, -upper(-deltas)), np.minimum(100, upper(deltas))


def check_intervals(datasets: Sequence[tuple[Values, Values]], ends: tuple[Values, Values]) -> None:
    """Raises AssertionError unless the package finds the same intervals."""
    for gate in range(CHECKED):
        pairs = {(f'd{i}', 'm'): paired(*(side[gate] for side in dataset)) for i, dataset in enumerate(datasets)}
        found = compare_column(dict.fromkeys(pairs, 1 / len(pairs)), pairs)
        expected = [end[gate] for end in ends]
        assert np.allclose([found.low, found.high], expected, rtol=2e-3, atol=1e-3), (found, expected)


def paired(before: Values, after: Values) -> Pairs:
    """The records of one gate, as the package has them."""
    sides = [
        {f'r{i}': RecordValue(math.fsum(row) / len(row), len(row), tuple(row)) for i, row in enumerate(side.tolist())}
        for side in (before, after)
    ]
    pairs = pair_up(sides[:1], sides[1:])
    assert pairs is not None
    return pairs


def equivalents(change: Change, records: int, trials: tuple[int, int], runs: int, margin: float) -> float:
    """Computes the share of gates that find systems equivalent whose true difference is the margin."""
    generator = np.random.default_rng([records, *trials, int(1000 * margin)])
    datasets = change(margin, trials, generator, (runs, records))
    ends = intervals(datasets)
    check_intervals(datasets, ends)
    return float(np.mean((ends[0] > -margin) & (ends[1] < margin)))


def chance_of_equivalent(records: int, better: float, worse: float, margin: float) -> float:
    """Computes the chance that answers which are right or wrong, one trial each, are found equivalent.

    Args:
        records: Number of records.
        better: Share of the records that only the run answers right.
        worse: Share of those that only the baseline does.
        margin: Points.
    """
    share = better + worse
    chance = 0.0
    numbers = range(records + 1)
    if share < 1:
        low, high = (int(stats.binom.ppf(tail, records, share)) for tail in (1e-7, 1 - 1e-7))
        numbers = range(low, high + 1)
    for differing in numbers:

        def is_open(net: int, differing: int = differing) -> bool:
            variance = 1e4 * (differing - net**2 / records) / records / (records - 1)
            effect = Effect(
                100 * net / records, math.sqrt(max(0.0, variance)), records - 1, differing, records, records,
                100 / records if differing else 0.0, 1 / records,
            )  # fmt: skip
            return equivalence_of(effect, margin) != EQUIVALENT

        nets = range(differing % 2, differing + 1, 2)
        largest = bisect_left(nets, True, key=is_open) * 2 - 2 + differing % 2
        if largest >= 0:
            low, high = (differing - largest) // 2, (differing + largest) // 2
            ups = stats.binom.cdf(high, differing, better / share) if share else 1.0
            ups -= stats.binom.cdf(low - 1, differing, better / share) if share else 0.0
            chance += float(stats.binom.pmf(differing, records, share) * ups)
    return chance


def records_for_equivalence(margin: float, share: float) -> int:
    """Number of records that find equal systems equivalent in 80%, of which a share of the records changes."""
    return 1 + bisect_left(
        range(1, 100_000), True, key=lambda records: chance_of_equivalent(records, share / 2, share / 2, margin) >= 0.8
    )


def p_values(before: Values, after: Values, max_drop: float, is_shuffled: bool = True) -> Values:
    """Computes the p-value of every gate, as extras/gate/outcomes.py does of one."""
    records = before.shape[1]
    changes, variances = spread(before, after, is_shuffled)
    deltas = changes.mean(1)
    gains = deltas + max_drop
    with np.errstate(all='ignore'):
        chances = stats.t.cdf(gains / np.sqrt(variances), records - 1)
    chances = np.where(variances > 1e-12, chances, np.where(gains < -1e-7, 0.0, 1.0))
    return np.maximum(chances, 0.5 ** (abs(changes) > 1e-7).sum(1))


def check(before: Values, after: Values, max_drop: float, expected: Values) -> None:
    """Raises AssertionError unless the package finds the same p-values, and intervals that agree with them."""
    score = ('d', 'm')
    for first, second, p_value in list(zip(before, after, expected, strict=True))[:CHECKED]:
        pairs = paired(first, second)
        found = drop_p_value(effect_of({score: 1.0}, {score: pairs}), max_drop)
        assert math.isclose(found, p_value, rel_tol=1e-6, abs_tol=1e-9), (found, p_value)
        assert (compare_column({score: 1.0}, {score: pairs}).high < -max_drop) == (found <= ALPHA)


def alarms(
    system: System, records: int, trials: tuple[int, int], runs: int, max_drop: float = 0, is_shuffled: bool = True,
    datasets: int = 1,
) -> float:  # fmt: skip
    """Computes the share of gates that report a drop."""
    generator = np.random.default_rng([records, *trials, datasets])
    found = []
    for _ in range(datasets):
        before, after = system(generator, (runs, records), trials)
        found.append(p_values(before, after, max_drop, is_shuffled))
        if is_shuffled:
            check(before, after, max_drop, found[-1])
    return float(np.mean([min(holm(row)) <= ALPHA for row in np.array(found).T.tolist()]))


SYSTEMS: dict[str, tuple[System, float, int]] = {
    'right in 50%': (right(0.5), 0, 1),
    'right in 80%': (right(0.8), 0, 1),
    'right in 95%': (right(0.95), 0, 1),
    'right in 98%': (right(0.98), 0, 1),
    'right in 5%': (right(0.05), 0, 1),
    'right in 2%': (right(0.02), 0, 1),
    'graded, mostly 0 or 1': (graded(0.05, 0.05), 0, 1),
    'graded, mostly near 1': (graded(5, 0.1), 0, 1),
    'graded, mostly near 0': (graded(0.1, 5), 0, 1),
    'all records change, half of them for the worse': (cancelling(0.98, 0.5, 1), 0, 1),
    'a fifth changes, half of them for the worse': (cancelling(1, 0, 0.2), 0, 1),
    'drops by 5 points, as `--max-drop` allows': (losing(0.9, 5), 5, 1),
    'drops by 20 points, as `--max-drop` allows': (losing(0.9, 20), 20, 1),
    'right in 95%, on 20 data sets': (right(0.95), 0, 20),
}
"""Name -> the system, the drop that the gate allows, and the number of data sets."""

POWER = [
    (100, 0.8, 0.65, (1, 1)), (100, 0.8, 0.65, (4, 4)), (100, 0.8, 0.65, (1, 16)), (100, 0.8, 0.65, (16, 1)),
    (100, 0.95, 0.85, (1, 4)), (100, 0.95, 0.85, (4, 1)), (30, 0.98, 0.85, (1, 16)), (30, 0.98, 0.85, (16, 1)),
]  # fmt: skip
"""Records, chance to be right before and after, trials of both."""


def one(system: Callable[..., tuple[Values, Values]], *settings: Any) -> Change:
    """A change of one data set."""
    return lambda points, trials, generator, size: [system(points, *settings, trials, generator, size)]


def lose_all(points: float, trials: tuple[int, int], generator: np.random.Generator,
             size: tuple[int, int]) -> tuple[Values, Values]:  # fmt: skip
    """Answers that are right in 90%, of which some records lose all."""
    return losing(0.9, points)(generator, size, trials)


def all_less(points: float, trials: tuple[int, int], generator: np.random.Generator,
             size: tuple[int, int]) -> tuple[Values, Values]:  # fmt: skip
    """Answers that are always right before, and less often after, in all records."""
    return answers(1.0, 1.0 - points / 100, generator, size, trials)


def small_and_large(points: float, trials: tuple[int, int], generator: np.random.Generator,
                    size: tuple[int, int]) -> Sequence[tuple[Values, Values]]:  # fmt: skip
    """A mean over two data sets: one with the difference, and one of ten times the size, a tenth of which changes."""
    return [
        changing(2 * points, 0.0, 1.0, trials, generator, size),
        changing(0.0, 0.1, 1.0, trials, generator, (size[0], 10 * size[1])),
    ]


CHANGES: dict[str, Change] = {
    'some records lose all, nothing else changes': one(changing, 0.0, 1.0),
    'the same, and 2% change both ways': one(changing, 0.02, 1.0),
    'the same, and 10% change both ways': one(changing, 0.1, 1.0),
    'some records lose half': one(changing, 0.0, 0.5),
    'right in 90%, some records lose all': one(lose_all),
    'right in all trials, then less often in every record': one(all_less),
    'graded, vary by 2 points, some lose all': one(jittering, 0.02),
    'graded, vary by 10 points, some lose all': one(jittering, 0.1),
    'graded, all lose a little': one(shifted, 0.2),
    'mean over two data sets, the smaller one loses': small_and_large,
}
"""Name -> systems whose true difference is the margin."""


def margins_of(records: int) -> list[float]:
    """Margins to try with a number of records: 1, 2, 5 and 10 points, and those where few records decide."""
    return sorted(
        {1.0, 2.0, 5.0, 10.0} | {100 * units / records for units in UNITS if 100 * units <= MOST_POINTS * records}
    )


def print_equivalents(runs: int, numbers: Sequence[int]) -> None:
    """Prints the largest shares of false "equivalent", and the records that equal systems need."""
    print(f'| system | {" | ".join(map(str, numbers))} |\n| --- |{" ---: |" * len(numbers)}')
    for name, change in CHANGES.items():
        cells = (
            max(
                equivalents(change, records, trials, runs, margin)
                for trials in FEW_TRIALS
                for margin in margins_of(records)
            )
            for records in numbers
        )
        print(f'| {name} | {" | ".join(f"{100 * cell:.1f}" for cell in cells)} |', flush=True)
    exact = (
        max(
            chance_of_equivalent(records, share / 2, share / 2 + margin / 100, margin)
            for share in (0, 0.01, 0.02, 0.05, 0.1)
            for margin in np.arange(0.5, MOST_POINTS, 0.5).tolist()
        )
        for records in numbers
    )
    print(f'| right or wrong, computed exactly | {" | ".join(f"{100 * cell:.1f}" for cell in exact)} |', flush=True)
    print('\n| margin | 0% | 2% | 5% | 10% |\n| --- | ---: | ---: | ---: | ---: |')
    for margin in (1, 2, 5):
        needed = ' | '.join(f'{records_for_equivalence(margin, share):,}' for share in (0, 0.02, 0.05, 0.1))
        print(f'| {margin} | {needed} |', flush=True)


def of_queries(size: int, correlation: float, generator: np.random.Generator, shape: tuple[int, int]) -> Values:
    """Answers that are right in 70%: gates x queries x records of the query, with latent correlation."""
    latent = math.sqrt(correlation) * generator.standard_normal((*shape, 1))
    latent = latent + math.sqrt(1 - correlation) * generator.standard_normal((*shape, size))
    return (latent < stats.norm.ppf(0.7)).astype(float)


def cluster_rates(size: int, correlation: float, queries: int, runs: int) -> list[float]:
    """Returns the shares of intervals with the true difference, 0, and of false alarms: by record, then by query.

    Raises:
        AssertionError: The package finds other intervals of records with queries.
    """
    generator = np.random.default_rng([size, int(100 * correlation), queries])
    before, after = (of_queries(size, correlation, generator, (runs, queries)) for _ in range(2))
    rates = []
    for shape in ((runs, -1, 1), (runs, queries, size)):
        first, second = (side.reshape(shape).mean(2)[..., None] for side in (before, after))
        low, high = intervals([(first, second)])
        rates += [float(np.mean((low <= 0) & (high >= 0))), float(np.mean(p_values(first, second, 0) <= ALPHA))]
    names = tuple(f'q{place // size}' for place in range(queries * size))
    for gate in range(CHECKED):
        pairs = replace(paired(*(side[gate].reshape(-1, 1) for side in (before, after))), queries=names)
        found = compare_column({('d', 'm'): 1.0}, {('d', 'm'): pairs})
        assert np.allclose([found.low, found.high], [low[gate], high[gate]], rtol=2e-3, atol=1e-3)
    return rates


def print_clusters(runs: int, numbers: Sequence[int]) -> None:
    """Prints how often intervals hold and gates raise a false alarm, by record and by query."""
    print('| records of a query | correlation | queries | by record: holds | alarms | by query: holds | alarms |')
    print(f'|{" ---: |" * 7}')
    for (size, correlation), queries in product(((6, 0.1), (6, 0.3), (3, 0.5)), numbers):
        rates = cluster_rates(size, correlation, queries, runs)
        cells = ' | '.join(f'{100 * rate:.1f}%' for rate in rates)
        print(f'| {size} | {correlation} | {queries} | {cells} |', flush=True)


# --- samples ----------------------------------------------------------------------------------------------------------

Population = Callable[[np.random.Generator, int, int], tuple[Values, Values]]
"""Generator, numbers of data sets and records -> sum and number of the values of each query, in the order of a draw."""

LEAST_HELD = 0.945
"""A cell fails if its share is below this by more than 1.645 standard errors: a one-sided test at 5%."""
OF_RECORDS = {200: (20, 50, 100, 180), 1000: (20, 50, 100, 200, 500)}
"""Records of the data set -> records of the sample."""
WITHIN = (2.0, 5.0)
AT_ONCE = 2000


def single(values: Values) -> tuple[Values, Values]:
    """Returns values of records that are queries of their own."""
    return values, np.ones_like(values)


def exactly(share: float) -> Population:
    """Answers of which exactly this share is right, in random order."""

    def draw(generator: np.random.Generator, runs: int, records: int) -> tuple[Values, Values]:
        values = np.zeros((runs, records))
        values[:, : round(share * records)] = 1
        return single(generator.permuted(values, axis=1))

    return draw


def mostly(share: float, value: float, a: float, b: float) -> Population:
    """Graded values: a share of the records has one value, the others those of a beta distribution."""

    def draw(generator: np.random.Generator, runs: int, records: int) -> tuple[Values, Values]:
        others = generator.beta(a, b, (runs, records))
        return single(np.where(generator.random((runs, records)) < share, value, others))

    return draw


def around(mean: float, deviation: float) -> Population:
    """Graded values around a mean."""
    return lambda generator, runs, records: single(np.clip(generator.normal(mean, deviation, (runs, records)), 0, 1))


def correlated(share: float, size: int, correlation: float) -> Population:
    """Answers to several records of each query, which are right together."""

    def draw(generator: np.random.Generator, runs: int, records: int) -> tuple[Values, Values]:
        queries = records // size
        common = math.sqrt(correlation) * generator.standard_normal((runs, queries))
        right = np.zeros((runs, queries))
        for _ in range(size):
            own = math.sqrt(1 - correlation) * generator.standard_normal((runs, queries))
            right += common + own < stats.norm.ppf(share)
        return right, np.full((runs, queries), float(size))

    return draw


def spread_over(shares: Sequence[float]) -> Population:
    """Answers that are right more often for some values of a key, of which each sample has its part."""

    def draw(generator: np.random.Generator, runs: int, records: int) -> tuple[Values, Values]:
        each = records // len(shares)
        right = generator.random((runs, len(shares), each)) < np.array(shares)[:, None]
        turns = (np.arange(each) + generator.random((runs, len(shares), 1))) / each
        order = turns.reshape(runs, -1).argsort(1)
        return single(np.take_along_axis(right.reshape(runs, -1).astype(float), order, 1))

    return draw


POPULATIONS: dict[str, Population] = {
    **{f'right in {share:.0%}': exactly(share) for share in (0.5, 0.8, 0.9, 0.95, 0.98, 0.99)},
    **{f'right in {share:.0%}, 6 of a query (0.3)': correlated(share, 6, 0.3) for share in (0.5, 0.8, 0.95, 0.98)},
    **{f'right in {share:.0%}, 6 of a query (0.95)': correlated(share, 6, 0.95) for share in (0.8, 0.95, 0.98)},
    'right in 80%, 3 of a query (0.5)': correlated(0.8, 3, 0.5),
    'right in 50% to 100%, spread over ten values of a key': spread_over(np.linspace(0.5, 1, 10).tolist()),
    'graded, 0.6 ± 0.2': around(0.6, 0.2),
    'graded, mostly 0 or 1': mostly(0, 0, 0.05, 0.05),
    'graded, mostly near 1': mostly(0, 0, 5, 0.1),
    'graded, mostly near 0': mostly(0, 0, 0.1, 5),
    'graded, 90% are 1, the others anything': mostly(0.9, 1, 1, 1),
    'graded, 97% are 1, the others near 0': mostly(0.97, 1, 1, 20),
    'graded, 97% are 0.5, the others near 0': mostly(0.97, 0.5, 1, 20),
}
"""Name -> data sets; in brackets the latent correlation of the records of a query."""


def sample_intervals(values: Values, sizes: Values, queries: int, alpha: float) -> tuple[Values, Values]:
    """Computes both ends of the interval of every sample of some queries, as core/statistics/intervals.py, 0-1."""
    asked = sizes[:, :queries].sum(1) / sizes.sum(1)
    drawn, of = values[:, :queries], sizes[:, :queries]
    total, count = drawn.sum(1), of.sum(1)
    added = count / queries
    weight = count + 2 * added
    centre = (total + added) / weight
    squares = ((drawn - centre[:, None] * of) ** 2).sum(1) + (centre * added) ** 2 + ((1 - centre) * added) ** 2
    variance = squares * (queries + 2) / (queries + 1) / weight**2
    with np.errstate(divide='ignore'):
        effective = centre * (1 - centre) / variance * count / weight / (1 - asked)
    multiple, correction = stats.t.ppf(1 - alpha, queries - 1), 1 / (2 * count)

    def end(share: Values, sign: int) -> Values:
        more = multiple**2 / effective
        root = np.sqrt(share * (1 - share) / effective + more / effective / 4)
        found: Values = (share + more / 2 + sign * multiple * root) / (1 + more)
        return np.where(asked < 1, np.clip(found, 0, 1), total / count)

    mean = total / count
    return end(np.maximum(0, mean - correction), -1), end(np.minimum(1, mean + correction), 1)


def check_sample(values: Values, sizes: Values, queries: int, ends: tuple[Values, Values]) -> None:
    """Raises AssertionError unless the package finds the same intervals."""
    for run in range(CHECKED):
        records = {
            f'r{query}-{place}': RecordValue(float(value if size == 1 else place < value), 1.0, query=f'q{query}')
            for query, (value, size) in enumerate(zip(values[run, :queries], sizes[run, :queries], strict=True))
            for place in range(int(size))
        }
        found = score_interval(records, len(records) / sizes[run].sum())
        assert np.allclose(found, [100 * end[run] for end in ends]), (found, ends[0][run], ends[1][run])


def shares_held(population: Population, records: int, runs: int) -> tuple[list[float], list[tuple[float, float]]]:
    """Returns the shares of intervals that hold the score of all records, and with looks also the records asked."""
    held = {n: list[Values]() for n in OF_RECORDS[records]}
    looked: dict[float, list[Values]] = {points: [] for points in WITHIN}
    asked: dict[float, list[Values]] = {points: [] for points in WITHIN}
    for part in range(0, runs, AT_ONCE):
        generator = np.random.default_rng([records, part])
        values, sizes = population(generator, min(AT_ONCE, runs - part), records)
        size, score = sizes[0, 0], values.sum(1) / sizes.sum(1)
        for n, found in held.items():
            queries = math.ceil(n / size)
            low, high = sample_intervals(values, sizes, queries, ALPHA)
            check_sample(values, sizes, queries, (low, high))
            found.append((low <= score + 1e-9) & (score <= high + 1e-9))
        counts = [Sample(100, look=look).size(sizes.shape[1] * int(size)) for look in range(1, LOOKS + 1)]
        ends = [sample_intervals(values, sizes, math.ceil(count / size), ALPHA / LOOKS) for count in counts]
        for points in WITHIN:
            stops = np.array([stop_of(run, ends, points, sizes.shape[1] * int(size)) for run in range(len(values))])
            low, high = (np.array([one[side] for one in ends])[stops, np.arange(len(values))] for side in (0, 1))
            looked[points].append((low <= score + 1e-9) & (score <= high + 1e-9))
            asked[points].append(np.array(counts)[stops])
    share = [float(np.mean(np.concatenate(found))) for found in held.values()]
    with_looks = [(float(np.mean(np.concatenate(looked[points]))), float(np.mean(np.concatenate(asked[points]))))
                  for points in WITHIN]  # fmt: skip
    return share, with_looks


def stop_of(run: int, ends: Sequence[tuple[Values, Values]], points: float, records: int) -> int:
    """Returns the place of the look at which a run ends."""
    look = 1
    while look < LOOKS:
        low, high = ends[look - 1]
        half = 50 * float(high[run] - low[run])
        if half <= points:
            break
        look = Sample(100, look=look).next_look(half, points, records)
    return look - 1


LARGE, SIZE, OF_LARGE = (1, 2, 5), 30, (50, 100, 150, 200, 400)


def large_held(large: int, right: float, n: int, draws: int, look: int | None = None) -> tuple[float, float]:
    """Returns the share of intervals that hold the score of all 1,000 records, and the share of [0, 100].

    Args:
        large: Number of queries with 30 records each, all wrong; each other record has a query of its own.
        right: Share of the other records that are right.
        n: Number of sampled records.
        draws: Number of samples.
        look: Look of ``--within``; None for a fixed sample.
    """
    queries = [f'large {i // SIZE}' if i < large * SIZE else f'{i}' for i in range(1_000)]
    values = [float(i >= large * SIZE and i % 100 < 100 * right) for i in range(1_000)]
    score, ends = math.fsum(values) / 10, list[tuple[float, float]]()
    for seed in range(draws):
        drawn = Sample(n, seed, look).draw(queries)
        records = {str(i): RecordValue(values[i], 1.0, query=queries[i]) for i in drawn}
        alpha = ALPHA / LOOKS if look else ALPHA
        ends.append(score_interval(records, len(drawn) / 1_000, alpha, unseen(queries, drawn) / 1_000))
    return (
        sum(low - 1e-9 <= score <= high + 1e-9 for low, high in ends) / draws,
        sum(one == (0, 100) for one in ends) / draws,
    )


def print_large(runs: int) -> None:
    """Prints how often intervals hold where a few queries are large, and how often there is none."""
    print(f'| large queries, others right | {" | ".join(map(str, OF_LARGE))} |')
    print(f'| --- |{" ---: |" * len(OF_LARGE)}')
    for large, right in product(LARGE, (0.5, 0.95, 1.0)):
        cells = [large_held(large, right, n, runs) for n in OF_LARGE]
        shown = (f'{100 * held:.1f} ({100 * none:.0f})' for held, none in cells)
        print(f'| {large}, {right:.0%} | {" | ".join(shown)} |', flush=True)


def print_sampled(runs: int, names: Sequence[int]) -> int:
    """Prints how often intervals hold; returns 1 if they do too rarely in some cell."""
    least, worst = LEAST_HELD - 1.645 * math.sqrt(LEAST_HELD * (1 - LEAST_HELD) / runs), 1.0
    for records in names:
        heads = [*map(str, OF_RECORDS[records]), *(f'±{points:g}: holds | asked' for points in WITHIN)]
        print(f'\n| {records:,} records | {" | ".join(heads)} |')
        print(f'| --- |{" ---: |" * (len(OF_RECORDS[records]) + 2 * len(WITHIN))}')
        for name, population in POPULATIONS.items():
            held, looked = shares_held(population, records, runs)
            cells = [f'{100 * share:.1f}' for share in held]
            cells += [f'{100 * share:.1f} | {asked:,.0f}' for share, asked in looked]
            worst = min(worst, *held, *(share for share, _ in looked))
            print(f'| {name} | {" | ".join(cells)} |', flush=True)
    print(f'\nthe smallest share is {100 * worst:.2f}%; below {100 * least:.2f}% a cell fails')
    return int(worst < least)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        'what', nargs='?', choices=['drops', 'clusters', 'equivalent', 'sampled', 'large'], default='drops'
    )
    parser.add_argument('--runs', type=int, default=2_000, help='simulated gates of each system and numbers of trials')
    parser.add_argument('--records', type=int, nargs='+', help='numbers of records')
    options = parser.parse_args(arguments)
    if options.what == 'equivalent':
        return print_equivalents(options.runs, options.records or RECORDS_TO_EQUAL)
    if options.what == 'sampled':
        sys.exit(print_sampled(options.runs, options.records or [*OF_RECORDS]))
    if options.what == 'large':
        return print_large(options.runs)
    if options.what == 'clusters':
        return print_clusters(options.runs, options.records or (20, 50, 100, 300))
    options.records = options.records or RECORDS
    print(f'| system | {" | ".join(map(str, options.records))} |')
    print(f'| --- |{" ---: |" * len(options.records)}')
    for name, (system, max_drop, datasets) in SYSTEMS.items():
        of_system = partial(alarms, system, runs=options.runs, max_drop=max_drop, datasets=datasets)
        cells = (max(of_system(records, trials) for trials in product(TRIALS, TRIALS)) for records in options.records)
        print(f'| {name} | {" | ".join(f"{100 * cell:.1f}" for cell in cells)} |', flush=True)
    print('\n| records | right before, after | trials | found | by V alone | false alarms | by V alone |')
    print(f'|{" ---: |" * 7}')
    for records, before, after, trials in POWER:
        shares = [
            alarms(system, records, trials, options.runs, is_shuffled=is_shuffled)
            for system in (partial(answers, before, after), right(before))
            for is_shuffled in (True, False)
        ]
        row = ' | '.join(f'{100 * share:.0f}%' for share in shares)
        print(f'| {records} | {before:.0%}, {after:.0%} | {trials[0]} and {trials[1]} | {row} |', flush=True)


if __name__ == '__main__':
    main()
