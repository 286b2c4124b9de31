"""drop_test, equivalence and power: by hand, against SciPy, and in simulated gates with planted drops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from opencompass_tooleval.core.statistics.intervals import (
    ALPHA,
    Effect,
    RecordValue,
    RecordValues,
    effect_of,
    interval_of,
    intervals_of,
    records_without_difference,
    score_interval,
    t_chance,
    t_quantile,
)
from opencompass_tooleval.extras.gate.outcomes import (
    DIFFERENT,
    EQUIVALENT,
    UNDECIDED,
    can_drop,
    difference_p_value,
    drop_p_value,
    equivalence_of,
    holm,
    records_to_decide,
)
from opencompass_tooleval.extras.plan.power import (
    POWER,
    Noise,
    detectable_drop,
    needed_queries,
    needed_trials,
    noise_of,
    power_of,
    trials_of,
)
from tests.cli.test_compare import created
from tests.core.test_intervals import of
from tests.core.test_paired_trials import result as result_of_trials
from tools.gate_false_alarms import (
    CHANGES,
    FEW_TRIALS,
    POPULATIONS,
    UNITS,
    chance_of_equivalent,
    equivalents,
    exactly,
    large_held,
    print_sampled,
    records_for_equivalence,
)

RUNS = 1_000


@pytest.mark.parametrize(('freedom', 'value'), [(1, 12.706), (2, 4.303), (5, 2.571), (29, 2.045), (120, 1.980)])
def test_quantiles_and_chances_of_t_are_those_of_printed_tables(freedom: int, value: float) -> None:
    assert t_quantile(0.975, freedom) == pytest.approx(value, abs=5e-4)
    assert t_chance(value, freedom) == pytest.approx(0.975, abs=1e-4) and t_chance(-value, freedom) < 0.0251


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0] and holm([]) == []
    assert can_drop([2, 5, 6, 100]) == [False, False, True, True]
    assert can_drop([6]) == can_drop([6, 5])[:1] == [True], 'a score that can never drop takes no part in the test'
    assert can_drop([]) == [] and can_drop([6, 6]) == [False, False], '2 * 0.5**6 is above the level'


def test_one_score_is_the_paired_t_test() -> None:
    generator = np.random.default_rng(0)
    before, after = generator.normal(50, 20, (2, 40))
    effect = effect_of({('d', 'm'): 1.0}, {('d', 'm'): of(before, after)})
    expected = stats.ttest_rel(after, before, alternative='less')
    assert (effect.freedom, effect.differing) == (39, 40)
    assert drop_p_value(effect, 0) == pytest.approx(expected.pvalue)
    rise = stats.ttest_rel(after - 3, before, alternative='greater')
    assert drop_p_value(effect, 3, lower_is_better=True) == pytest.approx(rise.pvalue)


def test_a_column_has_satterthwaites_error_and_scores_of_one_data_set_share_records() -> None:
    generator = np.random.default_rng(1)
    first, second = (generator.normal(50, scale, (2, size)) for scale, size in ((30, 12), (5, 60)))
    pairs = {('x', 'm'): of(*first), ('y', 'm'): of(*second)}
    effect = effect_of({('x', 'm'): 0.5, ('y', 'm'): 0.5}, pairs)
    parts = [(row[1] - row[0]) / 2 for row in (first, second)]
    welch = stats.ttest_ind(parts[0], -parts[1], equal_var=False)
    assert effect.delta == pytest.approx(sum(part.mean() for part in parts))
    assert effect.delta / effect.error == pytest.approx(welch.statistic)
    assert effect.freedom == int(welch.df)
    doubled = {('x', 'm'): pairs['x', 'm'], ('x', 'n'): pairs['x', 'm']}
    alone = effect_of({('x', 'm'): 1.0}, pairs)
    same = effect_of(dict.fromkeys(doubled, 0.5), doubled)
    assert (same.error, same.freedom, same.differing) == (pytest.approx(alone.error), 11, 12)


def test_a_few_records_that_all_got_worse_are_no_proof() -> None:
    effect = effect_of({('d', 'm'): 1.0}, {('d', 'm'): of([100] * 5, [0] * 5)})
    assert (effect.delta, effect.error, effect.freedom, effect.differing) == (-100.0, 0.0, 4, 5)
    assert drop_p_value(effect, 0) == 0.5**5 > ALPHA
    assert drop_p_value(effect_of({('d', 'm'): 1.0}, {('d', 'm'): of([1] * 9, [1] * 9)}), 0) == 1.0


def test_the_smallest_drop_has_the_power_that_was_asked_for() -> None:
    for records, noise, tests in ((30, 0.0, 1), (100, 900.0, 1), (550, 2_500.0, 8), (2_000, 100.0, 30)):
        drop = detectable_drop(records, noise, tests)
        assert drop is not None and power_of(drop, records, noise, tests) == pytest.approx(POWER, abs=0.005)
        assert power_of(drop / 2, records, noise, tests) < 0.5 < power_of(1.2 * drop, records, noise, tests)
    for allowed in (2.0, 15.0):
        drop = detectable_drop(550, 900.0, 8, max_drop=allowed)
        assert drop is not None and drop > allowed + 5
        assert power_of(drop, 550, 900.0, 8, allowed) == pytest.approx(POWER, abs=0.005)
    alone, allowing = needed_queries(5.0, 900.0, 8), needed_queries(5.0, 900.0, 8, 2.0)
    assert alone and allowing and allowing > 2 * alone
    assert needed_queries(5.0, 900.0, 8, 5.0) is None and detectable_drop(9, 2_500.0, max_drop=90.0) is None
    assert detectable_drop(5, 0.0) is None and detectable_drop(6, 0.0) is not None
    assert detectable_drop(100, 0.0) == pytest.approx(7.5, abs=0.3), 'seven or eight of 100, without any noise'


def test_the_number_of_records_or_of_trials_is_the_smallest_that_is_enough() -> None:
    for points, variance, tests in ((2.0, 900.0, 1), (5.0, 0.0, 8), (20.0, 4_000.0, 3)):
        records = needed_queries(points, variance, tests)
        assert records is not None
        few, fewer = (detectable_drop(number, variance, tests) or 100 for number in (records, records - 1))
        assert few <= points < fewer
        assert needed_queries(1e-6, variance, tests) is None
    noise = Noise(2_000.0, True)
    trials = needed_trials(6.0, 200, noise)
    assert trials is not None and trials > 1
    enough, less = (detectable_drop(200, noise.of_difference(k, k)) or 100 for k in (trials, trials - 1))
    assert enough <= 6.0 < less
    assert needed_trials(2.0, 100, noise) is None, 'the change itself is too noisy'
    assert needed_trials(30.0, 200, Noise(0.0, True)) == 1


def test_noise_of_repeated_trials_and_its_bound_from_one() -> None:
    generator = np.random.default_rng(2)
    chance = generator.choice([0.5, 1.0], 4_000, p=[0.4, 0.6])
    trials = [draw(chance, 1, generator) for _ in range(3)]
    measured, bound = noise_of(trials), noise_of(trials[:1])
    assert measured is not None and measured.is_measured and bound is not None and not bound.is_measured
    assert measured.variance == pytest.approx(0.4 * 2_500, rel=0.05)
    assert bound.variance == pytest.approx(100**2 * 0.8 * 0.2, rel=0.05)
    assert measured.of_difference(2, 4) == measured.variance * 0.75
    assert noise_of([]) is None and noise_of([{'a': RecordValue(1.0, 1.0)}]) is None


def test_trials_of_a_result_are_read_one_by_one() -> None:
    content = result_of_trials(a='10', b='00', c='11')
    content['runs'] = [{'accuracy': 200 / 3}, {'accuracy': 100 / 3}]
    rights = [[record.value for record in values.values()] for values in trials_of(content, 'accuracy')]
    assert rights == [[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    steps = created(0, 6)
    metric = next(name for name, value in steps.items() if isinstance(value, float))
    (values,) = trials_of(steps, metric)
    assert {record.weight for record in values.values()} == {3.0}, 'a mean over steps has their number as weight'


def draw(chance: Any, trials: int, generator: np.random.Generator) -> RecordValues:
    rights = generator.binomial(trials, chance) / trials
    return {f'r{i}': RecordValue(float(right), float(trials)) for i, right in enumerate(rights)}


def gate(datasets: list[tuple[Any, Any]]) -> list[bool]:
    """Decides as work_dir/gating does: the test of all together, and the interval of each."""
    pairs = {(f'd{i}', 'm'): of(100 * a, 100 * b) for i, (a, b) in enumerate(datasets)}
    p_values = holm([drop_p_value(effect_of({score: 1.0}, pairs), 0) for score in pairs])
    return [
        p_value <= ALPHA and intervals_of({score: pairs[score]})[score].high < 0
        for score, p_value in zip(pairs, p_values, strict=True)
    ]


FLAKY = 0.4
"""Share of records that are right by chance, half of the time; of the others all are right."""


def run_of(records: int, trials: int, drop: float, generator: np.random.Generator) -> Any:
    """Shares of right trials of a system whose expected score has dropped by these points."""
    flaky = np.arange(records) < FLAKY * records
    lost = ~flaky & (generator.random(records) < drop / 100 / (1 - FLAKY))
    return generator.binomial(trials, np.where(flaky, 0.5, np.where(lost, 0.0, 1.0))) / trials


@pytest.mark.parametrize(('records', 'trials', 'share', 'runs'), [
    (100, 1, 1.0, 300),
    *(pytest.param(*case, RUNS, marks=pytest.mark.long) for case in ((100, 1, 0.7), (150, 4, 1.0), (60, 4, 1.0))),
])  # fmt: skip
def test_planted_drops_are_found_as_often_as_planned(records: int, trials: int, share: float, runs: int) -> None:
    """The smallest detectable drop in 80% of runs, and a smaller one as its power says: within 99.9% of chance."""
    variance = Noise(FLAKY * 2_500, True).of_difference(trials, trials)
    smallest = detectable_drop(records, variance)
    assert smallest is not None
    drop = share * smallest
    planned = power_of(drop, records, variance)
    assert share != 1.0 or math.isclose(planned, POWER, abs_tol=0.005)
    generator = np.random.default_rng([records, trials])
    found = sum(
        gate([(run_of(records, trials, 0, generator), run_of(records, trials, drop, generator))])[0]
        for _ in range(runs)
    )
    low, high = stats.binom.interval(0.999, runs, planned)
    is_small = records == 60  # then the error, which is estimated, follows the drop: more is found than planned
    assert low <= found and (found <= high or is_small)


def test_drops_of_graded_values() -> None:
    """Their variance is the measured one; that of values which are 0 or 1 would ask for a drop of 13.5 points."""
    values = np.random.default_rng(8).normal(0.6, 0.2, (60, 400)).clip(0.001, 0.999)
    trials = [{f'r{i}': RecordValue(one, 1.0) for i, one in enumerate(column)} for column in values.T]
    measured = noise_of(trials)
    assert measured is not None and measured.is_graded and measured.is_measured
    variance = measured.of_difference(4, 4)
    drop = detectable_drop(60, variance, is_graded=True)
    assert drop == pytest.approx(5.2, abs=0.2) and detectable_drop(60, variance) == pytest.approx(13.5, abs=0.5)
    assert power_of(drop, 60, variance, is_graded=True) == pytest.approx(POWER, abs=0.005)
    same = noise_of([{f'r{i}': RecordValue(0.5, 1.0) for i in range(9)}] * 2)
    assert same is not None and not same.is_graded, 'trials that do not vary say nothing about changes'


@pytest.mark.parametrize(('drop', 'runs'), [(0.0, 300), *(pytest.param(*case, marks=pytest.mark.long)
                                            for case in ((0.0, RUNS), (-6.0, RUNS)))])  # fmt: skip
def test_equal_and_better_systems_raise_few_false_alarms(drop: float, runs: int) -> None:
    generator = np.random.default_rng(4)
    alarms = 0
    for _ in range(runs):
        datasets = []
        for records, trials in ((13, 1), (20, 1), (26, 2), (40, 1), (40, 3), (60, 1), (80, 1), (100, 1)):
            before = run_of(records, trials, max(0.0, -drop), generator)
            datasets.append((before, run_of(records, 2 * trials, max(0.0, drop), generator)))
        alarms += any(gate(datasets))
    assert alarms <= 0.05 * runs


def binary(better: int, worse: int, records: int) -> Effect:
    before = [0] * better + [100] * (records - better)
    after = [100] * better + [0] * worse + [100] * (records - better - worse)
    return effect_of({('d', 'm'): 1.0}, {('d', 'm'): of(before, after)})


@pytest.mark.parametrize(('better', 'worse', 'records', 'margin', 'outcome'), [
    (0, 0, 58, 5.0, UNDECIDED),
    (0, 0, 59, 5.0, EQUIVALENT),
    (1, 1, 300, 3.0, EQUIVALENT),
    (0, 6, 300, 3.0, UNDECIDED),
    (30, 0, 300, 3.0, DIFFERENT),
    (0, 30, 300, 3.0, DIFFERENT),
    (0, 30, 300, 9.0, UNDECIDED),
    (0, 5, 5, 3.0, UNDECIDED),
])  # fmt: skip
def test_equivalence_is_read_off_the_interval(
    better: int, worse: int, records: int, margin: float, outcome: str
) -> None:
    effect = binary(better, worse, records)
    interval = interval_of(effect)
    p_value = difference_p_value(effect, margin)
    assert equivalence_of(effect, margin, p_value) == outcome
    assert (outcome == EQUIVALENT) == (max(-interval.low, interval.high) < margin)
    assert (outcome == DIFFERENT) == (max(interval.low, -interval.high) > margin and p_value <= ALPHA)
    assert equivalence_of(effect, margin, 1.0) != DIFFERENT, 'one of many scores may not be shown to differ'


def test_the_number_of_records_that_decides() -> None:
    for margin in (0.5, 5.0, 20.0):
        assert records_to_decide(binary(0, 0, 10), margin) == records_without_difference(margin)
    for better, worse, records, margin in ((0, 6, 300, 3.0), (4, 6, 100, 5.0), (0, 30, 300, 9.0), (12, 3, 100, 5.0)):
        number = records_to_decide(binary(better, worse, records), margin)
        assert number is not None and number > records
        factor = math.ceil(number / records)
        many = binary(factor * better, factor * worse, factor * records)
        assert equivalence_of(many, margin, difference_p_value(many, margin)) != UNDECIDED
    assert records_to_decide(binary(0, 9, 300), 3.0) is None, 'the difference is the margin'


def test_answers_that_differ_by_the_margin_are_rarely_equivalent() -> None:
    """Computed exactly, right or wrong: also where few records change, or many in both directions."""
    found = {
        (records, margin, share): chance_of_equivalent(records, share / 2, share / 2 + margin / 100, margin)
        for records in (20, 60, 100, 300)
        for margin in (1.0, 2.0, 3.0, 5.0, 7.5, 15.0)
        for share in (0.0, 0.02, 0.1)
    }
    assert max(found.values()) <= 0.05 < max(found.values()) + 0.01, 'and the level is used'
    assert chance_of_equivalent(149, 0, 0, 2.0) == 1.0 and chance_of_equivalent(148, 0, 0, 2.0) == 0.0
    assert records_for_equivalence(5.0, 0.0) == 59 and chance_of_equivalent(300, 0.005, 0.005, 3.0) > 0.8


@pytest.mark.parametrize('name', CHANGES)
@pytest.mark.parametrize('trials', FEW_TRIALS, ids=str)
@pytest.mark.parametrize('records', [60, pytest.param(300, marks=pytest.mark.long)])
def test_systems_that_differ_by_the_margin_are_rarely_equivalent(
    name: str, trials: tuple[int, int], records: int
) -> None:
    """Fractions, other numbers of trials, means over data sets; a long test has more gates."""
    runs = 300 if records == 60 else 2_000
    for units in (3.0001, 5.4) if records == 60 else UNITS:
        share = equivalents(CHANGES[name], records, trials, runs, 100 * units / records)
        assert share * runs <= stats.binom.ppf(0.9999, runs, 0.05)


def test_intervals_of_samples_hold(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool compares its intervals with the package's, and fails where too few hold."""
    assert print_sampled(400, [200]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith('| ')]
    assert len(rows) == 2 + len(POPULATIONS)
    monkeypatch.setattr('tools.gate_false_alarms.POPULATIONS', {'right in 80%': exactly(0.8)})
    monkeypatch.setattr('tools.gate_false_alarms.ALPHA', 0.1)
    monkeypatch.setattr('tools.gate_false_alarms.check_sample', lambda *_: None)
    assert print_sampled(1_000, [200]) == 1


@pytest.mark.parametrize('large', [1, 2, 5])
def test_intervals_hold_where_a_few_queries_are_large(large: int) -> None:
    """Without the queries that were not drawn, none of 40 intervals holds for one large query and 150 records."""
    for right, n, look in ((1.0, 150, None), (0.95, 400, None), (0.98, 100, 2)):
        held, none = large_held(large, right, n, 60, look)
        assert held >= 0.9 and none < 0.9, (right, n, look)


def test_a_query_that_decides_leaves_no_interval() -> None:
    def of_sizes(*sizes: int) -> dict[str, RecordValue]:
        rows = [(query, place) for query, size in enumerate(sizes) for place in range(size)]
        return {f'{query}-{place}': RecordValue(float(query % 2), 1.0, query=str(query)) for query, place in rows}

    assert score_interval(of_sizes(30, *[1] * 150), 0.1) == (0, 100)
    assert score_interval(of_sizes(30, *[1] * 300), 0.1) != (0, 100)
    assert score_interval(of_sizes(5, 5, 5), 0.1) != (0, 100)
    assert score_interval(of_sizes(20, 12, 8, *[5] * 22), 0.1) != (0, 100), 'sizes that vary as those of T-Eval'
    low, high = score_interval(of_sizes(*[5] * 30), 0.1)
    assert score_interval(of_sizes(*[5] * 30), 0.1, unseen=0.02) == pytest.approx((0.98 * low, 98 * high / 100 + 2))
