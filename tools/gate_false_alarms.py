"""Simulates gates of unchanged systems, and counts false alarms; prints the tables of docs/explanation/statistics.md.

Usage: python tools/gate_false_alarms.py [--runs 1000] [--records 6 30 100]

Every gate is decided by the package's own functions. All numbers of trials on both sides are tried; a cell has the
largest share of false alarms among them. A system that is right in 2% of the trials is the mirror image of one that is
right in 98%, with the sides exchanged. It takes some 20 minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from opencompass_tooleval.core.drop_test import drop_p_value, holm
from opencompass_tooleval.core.intervals import ALPHA, Pairs, RecordValue, compare_column, effect_of
from opencompass_tooleval.core.paired import pair_up

Values = NDArray[np.float64]
"""Values of all trials, 0-1: records x trials."""
System = Callable[[np.random.Generator, int], tuple[Callable[[int], Values], Callable[[int], Values]]]
"""Number of records -> the baseline and the run, which return values for a number of trials."""

TRIALS = (1, 4, 8, 16)
RECORDS = (2, 6, 10, 30, 100, 300)
SCORE = ('d', 'm')


def right(chance: float | Values) -> System:
    """A system that is right with a chance, the same before and after."""
    return changed(lambda _generator, _records: (chance, chance))


def changed(chances: Callable[[np.random.Generator, int], tuple[float | Values, float | Values]]) -> System:
    """A system whose chances to be right are one before and another after."""

    def make(generator: np.random.Generator, records: int) -> tuple[Callable[[int], Values], Callable[[int], Values]]:
        before, after = (np.broadcast_to(side, records)[:, None] for side in chances(generator, records))
        return (
            lambda trials: (generator.random((records, trials)) < before).astype(float),
            lambda trials: (generator.random((records, trials)) < after).astype(float),
        )

    return make


def graded(a: float, b: float) -> System:
    """A system with values of a beta distribution."""

    def make(generator: np.random.Generator, records: int) -> tuple[Callable[[int], Values], Callable[[int], Values]]:
        def values(trials: int) -> Values:
            return generator.beta(a, b, (records, trials))

        return values, values

    return make


def cancelling(high: float, low: float, share: float = 1.0) -> System:
    """A system of which some records got better, and as many got worse."""

    def chances(generator: np.random.Generator, records: int) -> tuple[Values, Values]:
        drawn = generator.random(records)
        is_up, is_down = drawn < share / 2, (drawn >= share / 2) & (drawn < share)
        before = np.where(is_up, low, np.where(is_down, high, 0.98))
        return before, np.where(is_up, high, np.where(is_down, low, 0.98))

    return changed(chances)


def losing(chance: float, points: float) -> System:
    """A system of which some records lose all: the drop that the gate allows."""

    def chances(generator: np.random.Generator, records: int) -> tuple[float, Values]:
        return chance, np.where(generator.random(records) < points / 100 / chance, 0.0, chance)

    return changed(chances)


def pairs_of(before: Values, after: Values) -> Pairs:
    """Pairs the records as results are paired."""
    sides = [
        {
            f'r{i}': RecordValue(sum(row) / len(row), len(row), tuple(row) if len(row) > 1 else ())
            for i, row in enumerate(side.tolist())
        }
        for side in (before, after)
    ]
    pairs = pair_up(sides[:1], sides[1:])
    assert pairs is not None
    return pairs


def p_value(pairs: Pairs, max_drop: float) -> float:
    """The p-value of a gate of one score."""
    return drop_p_value(effect_of({SCORE: 1.0}, {SCORE: pairs}), max_drop)


def draw(system: System, generator: np.random.Generator, records: int, trials: tuple[int, int]) -> Pairs:
    """A baseline and a run."""
    before, after = system(generator, records)
    return pairs_of(before(trials[0]), after(trials[1]))


def alarms(system: System, records: int, trials: tuple[int, int], runs: int, max_drop: float, datasets: int) -> float:
    """The share of gates that report a drop."""
    generator = np.random.default_rng([records, *trials, datasets])
    found = 0
    for _ in range(runs):
        p_values = [p_value(draw(system, generator, records, trials), max_drop) for _ in range(datasets)]
        found += min(holm(p_values)) <= ALPHA
    return found / runs


SYSTEMS: dict[str, tuple[System, float, int]] = {
    'right in 50%': (right(0.5), 0, 1),
    'right in 80%': (right(0.8), 0, 1),
    'right in 95%': (right(0.95), 0, 1),
    'right in 98%': (right(0.98), 0, 1),
    'graded, mostly 0 or 1': (graded(0.05, 0.05), 0, 1),
    'graded, mostly near 1': (graded(5, 0.1), 0, 1),
    'all records change, in both directions': (cancelling(0.98, 0.5), 0, 1),
    'a fifth of the records changes, in both directions': (cancelling(1, 0, 0.2), 0, 1),
    'a drop of 5 points, and --max-drop 5': (losing(0.9, 5), 5, 1),
    'a drop of 20 points, and --max-drop 20': (losing(0.9, 20), 20, 1),
    'right in 95%, 20 data sets': (right(0.95), 0, 20),
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
    parser.add_argument('--runs', type=int, default=1_000, help='simulated gates of each cell and numbers of trials')
    parser.add_argument('--records', type=int, nargs='+', default=RECORDS, help='numbers of records')
    options = parser.parse_args(arguments)
    print(f'| unchanged system | {" | ".join(map(str, options.records))} |')
    print(f'| --- |{" ---: |" * len(options.records)}')
    for name, (system, max_drop, datasets) in SYSTEMS.items():
        cells = []
        for records in options.records:
            runs = options.runs if datasets == 1 else options.runs // 5
            trials = product(TRIALS, repeat=2) if datasets == 1 else ((1, 1), (1, 16), (16, 1))
            cells.append(max(alarms(system, records, both, runs, max_drop, datasets) for both in trials))
        print(f'| {name} | {" | ".join(f"{100 * cell:.1f}" for cell in cells)} |', flush=True)
    print('\n| records | right, before and after | trials | drops found | by the clustered error alone |')
    print('| ---: | --- | --- | ---: | ---: |')
    for records, before, after, trials in POWER:
        generator = np.random.default_rng([records, *trials])
        system = changed(lambda _generator, _records, before=before, after=after: (before, after))
        drawn = [draw(system, generator, records, trials) for _ in range(options.runs)]
        sides = drawn, [replace(one, shuffled=()) for one in drawn]
        found = [sum(p_value(one, 0) <= ALPHA for one in side) for side in sides]
        assert all((compare_column({SCORE: 1.0}, {SCORE: one}).high < 0) == (p_value(one, 0) <= ALPHA) for one in drawn)
        shares = ' | '.join(f'{100 * count / options.runs:.0f}%' for count in found)
        print(f'| {records} | {before:.0%}, {after:.0%} | {trials[0]} and {trials[1]} | {shares} |', flush=True)


if __name__ == '__main__':
    main()
