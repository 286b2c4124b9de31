"""Records of two results, and of variants of a data set, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.variant_kinds import EASYTOOL, FUNCTION_CALLING
from opencompass_tooleval.catalogue.variants import VariantKind
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens
from opencompass_tooleval.core.statistics.intervals import Pairs, intervals_of
from opencompass_tooleval.core.statistics.paired import (
    details_of,
    differences,
    metrics_of,
    pairs_of,
    why_unpaired,
)
from opencompass_tooleval.results.variants import Gain, gains_of, row_of


def result(values: Sequence[float | None], metric: str = 'f1', **changes: Any) -> dict[str, Any]:
    """A result over records ``0``, ``1``, ...; the score is the mean of the values."""
    known = [value for value in values if value is not None]
    details = [{'id': str(i), 'values': {metric: value}, 'reason': 'ok'} for i, value in enumerate(values)]
    return {metric: 100 * sum(known) / len(known), 'samples': {'all': len(values)}, 'details': details, **changes}


def test_means_of_scores() -> None:
    assert metrics_of({'f1': 1.0, 'n': 2, 'flag': True, 'unmeasured': None, 'reasons': {}}) == ['f1', 'n']
    assert Pairs(('0', '1'), (0.0, 100.0), (50.0, 100.0), (1.0, 3.0), (3.0, 1.0)).means() == (75.0, 62.5)
    assert pairs_of(result([0.0, 1.0], f1=12.5), result([0.0, 1.0]), 'f1') is None


@pytest.mark.parametrize('details', [
    pytest.param(None, id='none'),
    pytest.param({'0': {'prompt': 'p', 'pred': 'x'}, 'type': 'GEN'}, id='by position'),
    pytest.param([{'pred': 'x', 'correct': True}, 'text', {'id': 1, 'values': 3}], id='other rows'),
])  # fmt: skip
def test_samples_of_other_packages_are_none_of_ours(details: Any) -> None:
    foreign = {'accuracy': 50.0, 'details': details}
    assert details_of(foreign) == []
    assert pairs_of(foreign, foreign, 'accuracy') is None
    assert differences(foreign, foreign) == []


def test_pairs_are_by_id_and_hold_what_both_have() -> None:
    first, second = result([0.0, None, 0.5, 1.0]), result([0.25, 1.0, None, 1.0, 0.5])
    second['details'].reverse()
    assert pairs_of(first, second, 'f1') == Pairs(('0', '3'), (0.0, 100.0), (25.0, 100.0), (1.0, 1.0), (1.0, 1.0), 3)
    first, second = result([0.0, 1.0]), result([1.0])
    assert pairs_of(first, second, 'f1') is None
    assert why_unpaired(first, second, 'f1') == 'fewer than 2 records, or queries, are in both'
    assert 'the second has no samples' in why_unpaired(first, {'f1': 1.0}, 'f1')
    assert 'the first is not the mean' in why_unpaired(result([0.0, 1.0], f1=12.5), second, 'f1')
    first, second = result([0.0, 1.0]), result([1.0, 1.0])
    for row in (*first['details'], *second['details']):
        row['steps'] = 7
    assert pairs_of(first, second, 'f1') == pairs_of(result([0.0, 1.0]), result([1.0, 1.0]), 'f1')


def stepwise(steps: Sequence[Sequence[float | None]]) -> dict[str, Any]:
    """A result whose score is the mean over the steps of all records."""
    flat = [value for values in steps for value in values if value is not None]
    details = [
        {'id': str(i), 'values': {'f1': 0.0}, 'steps': [{'values': {'f1': value}} for value in values]}
        for i, values in enumerate(steps)
    ]
    return {'f1': 100 * sum(flat) / len(flat), 'details': details}


def test_a_record_weighs_as_much_as_it_has_on_each_side_and_in_each_trial() -> None:
    first, second = stepwise([[1.0, None, None], [0.5, 0.0], [0.0]]), stepwise([[1.0, 0.0, 0.5], [None, 1.0], [0.2]])
    pairs = pairs_of(first, second, 'f1')
    assert pairs is not None
    assert (pairs.weights_a, pairs.weights_b) == ((1.0, 2.0, 1.0), (3.0, 1.0, 1.0))
    assert pairs.means() == pytest.approx((first['f1'], second['f1']))
    (interval,) = intervals_of({('d', 'f1'): pairs}).values()
    assert interval.delta == pytest.approx(second['f1'] - first['f1'])
    assert interval.low < interval.delta < interval.high
    # The score of several trials is the mean of theirs, however many steps count in each.
    trials = stepwise([[1.0, 1.0], [0.0], [0.0, None], [0.0]])
    for detail, name in zip(trials['details'], 'abab', strict=True):
        detail['id'] = name
    trials['f1'] = 100 * (2 / 3 + 0) / 2
    pairs = pairs_of(trials, trials, 'f1')
    assert pairs is not None and pairs.means() == pytest.approx((trials['f1'],) * 2)


def test_differences_by_record_with_both_details() -> None:
    first, second = result([0.0, 0.5, 1.0, None]), result([0.0, 1.0, 0.75, 1.0])
    first['details'][0]['reason'] = 'parse:not_json'  # wrong in another way, by as much
    found = differences(first, second)
    assert [(one.id, one.run, one.size) for one in found] == [('1', 0, 0.5), ('2', 0, 0.25), ('3', 0, 1.0)]
    assert found[0].a is first['details'][1] and found[0].b is second['details'][1]
    assert differences(result([0.1 + 0.2]), result([0.3])) == []
    assert differences(result([0.0, 1.0]), result([0.0])) == []
    first, second = result([0.0, 1.0, 0.0]), result([0.0, 0.0, 1.0])
    for one in (first, second):
        for detail, name in zip(one['details'], 'aba', strict=True):
            detail['id'] = name
    assert [(one.id, one.run, one.size) for one in differences(first, second)] == [('b', 0, 1.0), ('a', 1, 1.0)]


INSTRUCTIONS = ('EasyTool instructions', 'EasyTool', 'what instructions gain')
KIND = VariantKind('-easytool', 'documentation', 'instructions', *INSTRUCTIONS, methods_of=('funcqa',))
named = partial(result, metric='name')


def test_names_of_variants_and_their_partners() -> None:
    pairs, alone = KIND.pair_up(['b-easytool', 'a', 'a-easytool', 'c', 'b', 'd-easytool'])
    assert (pairs, alone) == ([('b', 'b-easytool'), ('a', 'a-easytool')], ['d-easytool'])
    names = ('tooleval-teval-instruct_v2-easytool', 'tooleval-funcqa-one_hop-easytool', 'tooleval-teval-instruct_v2')
    assert [KIND.is_variant(name) for name in names] == [True, False, False]
    names = ('tooleval-toolbench_g1-agent-fc', 'tooleval-teval-agent-fc', 'tooleval-toolbench_g1-agent-react-easytool')
    assert [FUNCTION_CALLING.is_variant(name) for name in names] == [False, True, False]
    assert FUNCTION_CALLING.original_of(names[1]) == 'tooleval-teval-agent-react'
    assert FUNCTION_CALLING.variant_of('tooleval-teval-agent-react') == names[1]
    assert FUNCTION_CALLING.variant_of('tooleval-teval-instruct_v2') == 'tooleval-teval-instruct_v2-fc'
    assert [EASYTOOL.is_variant(name) for name in names] == [False, False, True]
    assert not EASYTOOL.is_variant('tooleval-toolbench_g1-agent-easytool')
    assert FUNCTION_CALLING.pair_up(['tooleval-teval-agent-react', *names[:2]])[1] == []


def test_records_count_if_both_have_a_value() -> None:
    before, after = named([0.0, 1.0, None, 0.3]), named([1.0, None, 1.0, 0.4])
    (comparison,) = gains_of('d', before, after)
    assert comparison.interval is not None
    assert (comparison.interval.pairs, comparison.delta) == (2, pytest.approx(55.0))
    assert (comparison.original, comparison.variant) == pytest.approx((15.0, 70.0)), 'the two subtract'
    assert comparison.unshared == 2
    assert [it.metric for it in gains_of('d', named([1.0], parse_rate=100.0), named([1.0]))] == ['name']
    (comparison,) = gains_of('d', named([0.0, 0.5]), {'name': 50.0})
    assert (comparison.interval, comparison.delta) == (None, 25.0)


def test_lines_of_the_table() -> None:
    (comparison,) = gains_of('d', named([0.0, 1.0]), named([1.0, 1.0]))
    before, after = PromptTokens(400.0, 500.0, 'x'), PromptTokens(100.0, 400.0, 'x')
    line = row_of(KIND, 'm', comparison, before, after)
    assert tuple(line) == KIND.columns
    scores, first, task = '50.00 100.00 50.00 -100.00 100.00 2', '400.00 100.00 75.00', '500.00 400.00 20.00'
    assert ' '.join(line.values()) == f'm d name {scores} 50.00 0.00   {first} {task}'
    bare = row_of(KIND, 'm', Gain('t', 'overall', 50.0, 50.0, None), before, PromptTokens(None, 100.0, 'y'))
    assert bare['low'] == bare['records'] == bare['better'] == bare['first_prompt_reduction'] == ''
    assert bare['task_prompts_reduction'] == '', 'one side was counted otherwise'
    nothing = PromptTokens(0.0, 0.0, 'x')
    assert row_of(KIND, 'm', comparison, nothing, nothing)['first_prompt_reduction'] == ''
    assert row_of(KIND, 'm', Gain('t', 'x', 0.0, -0.0, None))['instructions'] == '0.00'


def test_records_that_got_better_and_worse_and_steps_by_hand() -> None:
    """Of four records of both, one gets better and two worse; the fifth is in one result only."""
    before, after = named([0.0, 1.0, 1.0, 0.5, 1.0]), named([1.0, 0.0, 0.5, 0.5])
    for made, counts in ((before, [2, 4, 4, 2, 100]), (after, [5, 5, 4, 6])):
        for detail, count in zip(made['details'], counts, strict=True):
            detail['steps'] = count
    (comparison,) = gains_of('d', before, after)
    assert (comparison.better, comparison.worse, comparison.steps) == (25.0, 50.0, (3.0, 5.0))
    assert row_of(KIND, 'm', comparison)['steps_instructions'] == '5.00'
    (comparison,) = gains_of('d', stepwise([[0.0, 1.0], [1.0]]), stepwise([[1.0, 1.0], [1.0]]))
    assert (comparison.better, comparison.worse, comparison.steps) == (50.0, 0.0, (None, None))
