"""Simulates gates of unchanged systems, and counts false alarms; prints the tables of docs/explanation/statistics.md.

Usage: python tools/gate_false_alarms.py [--runs 2000] [--records 6 30 100]

All gates of a cell are simulated at once. The p-values of the first ones are compared with those of the package, which
computes one at a time. All numbers of trials on both sides are tried; a cell has the largest share of false alarms
among them. It takes some minutes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from opencompass_tooleval.core.statistics.drop_test import drop_p_value, holm
from opencompass_tooleval.core.statistics.intervals import ALPHA, RecordValue, compare_column, effect_of
from opencompass_tooleval.core.statistics.paired import pair_up

Values = NDArray[np.float64]
"""Values of all trials, 0-1: gates x records x trials; or chances to be right: gates x records."""
System = Callable[[np.random.Generator, tuple[int, int], tuple[int, int]], tuple[Values, Values]]
"""Generator, numbers of gates and records, numbers of trials -> values of the baseline and of the run."""

TRIALS = (1, 4, 8, 16)
RECORDS = (2, 5, 6, 10, 20, 30, 50, 100, 300)
CHECKED = 3


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


def p_values(before: Values, after: Values, max_drop: float, is_shuffled: bool = True) -> Values:
    """Computes the p-value of every gate, as core/statistics/drop_test.py does of one."""
    records, trials = before.shape[1], (before.shape[2], after.shape[2])
    changes = 100 * (after.mean(2) - before.mean(2))
    deltas = changes.mean(1)
    variances = changes.var(1, ddof=1) / records
    if trials[0] != trials[1] and is_shuffled:
        of_records = (100 * np.concatenate([before, after], 2)).var(2, ddof=1) * (1 / trials[0] + 1 / trials[1])
        variances = np.maximum(variances, of_records.sum(1) / records**2)
    gains = deltas + max_drop
    with np.errstate(all='ignore'):
        chances = stats.t.cdf(gains / np.sqrt(variances), records - 1)
    chances = np.where(variances > 1e-12, chances, np.where(gains < -1e-7, 0.0, 1.0))
    return np.maximum(chances, 0.5 ** (abs(changes) > 1e-7).sum(1))


def check(before: Values, after: Values, max_drop: float, expected: Values) -> None:
    """Raises AssertionError unless the package finds the same p-values, and intervals that agree with them."""
    score = ('d', 'm')
    for first, second, p_value in list(zip(before, after, expected, strict=True))[:CHECKED]:
        sides = [
            {
                f'r{i}': RecordValue(math.fsum(row) / len(row), len(row), tuple(row))
                for i, row in enumerate(side.tolist())
            }
            for side in (first, second)
        ]
        pairs = pair_up(sides[:1], sides[1:])
        assert pairs is not None
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--runs', type=int, default=2_000, help='simulated gates of each system and numbers of trials')
    parser.add_argument('--records', type=int, nargs='+', default=RECORDS, help='numbers of records')
    options = parser.parse_args(arguments)
    print(f'| system | {" | ".join(map(str, options.records))} |')
    print(f'| --- |{" ---: |" * len(options.records)}')
    for name, (system, max_drop, datasets) in SYSTEMS.items():
        of_system = partial(alarms, system, runs=options.runs, max_drop=max_drop, datasets=datasets)
        cells = (max(of_system(records, trials) for trials in product(TRIALS, repeat=2)) for records in options.records)
        print(f'| {name} | {" | ".join(f"{100 * cell:.1f}" for cell in cells)} |', flush=True)
    print('\n| records | right before, after | trials | found | by V alone | false alarms | by V alone |')
    print(f'|{" ---: |" * 7}')
    for records, before, after, trials in POWER:
        shares = [
            alarms(system, records, trials, options.runs, is_shuffled=is_shuffled)
            for system in (partial(answers, before, after), right(before))
            for is_shuffled in (True, False)
        ]
        cells = ' | '.join(f'{100 * share:.0f}%' for share in shares)
        print(f'| {records} | {before:.0%}, {after:.0%} | {trials[0]} and {trials[1]} | {cells} |', flush=True)


if __name__ == '__main__':
    main()
