"""core/variants: pairs of data sets and of records, by hand."""

from __future__ import annotations

from functools import partial

import pytest

from opencompass_tooleval.benchmarks.variant_kinds import EASYTOOL, FUNCTION_CALLING
from opencompass_tooleval.catalogue.variants import VariantKind
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens
from opencompass_tooleval.results.variants import Gain, gains_of, row_of
from tests.core.test_paired import result as result_of
from tests.core.test_paired import stepwise

INSTRUCTIONS = ('EasyTool instructions', 'EasyTool', 'what instructions gain')
KIND = VariantKind('-easytool', 'documentation', 'instructions', *INSTRUCTIONS, methods_of=('funcqa',))
result = partial(result_of, metric='name')


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
    before, after = result([0.0, 1.0, None, 0.3]), result([1.0, None, 1.0, 0.4])
    (comparison,) = gains_of('d', before, after)
    assert comparison.interval is not None
    assert (comparison.interval.pairs, comparison.delta) == (2, pytest.approx(55.0))
    assert (comparison.original, comparison.variant) == pytest.approx((15.0, 70.0)), 'the two subtract'
    assert comparison.unshared == 2
    assert [it.metric for it in gains_of('d', result([1.0], parse_rate=100.0), result([1.0]))] == ['name']
    (comparison,) = gains_of('d', result([0.0, 0.5]), {'name': 50.0})
    assert (comparison.interval, comparison.delta) == (None, 25.0)


def test_lines_of_the_table() -> None:
    (comparison,) = gains_of('d', result([0.0, 1.0]), result([1.0, 1.0]))
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
    before, after = result([0.0, 1.0, 1.0, 0.5, 1.0]), result([1.0, 0.0, 0.5, 0.5])
    for made, counts in ((before, [2, 4, 4, 2, 100]), (after, [5, 5, 4, 6])):
        for detail, count in zip(made['details'], counts, strict=True):
            detail['steps'] = count
    (comparison,) = gains_of('d', before, after)
    assert (comparison.better, comparison.worse, comparison.steps) == (25.0, 50.0, (3.0, 5.0))
    assert row_of(KIND, 'm', comparison)['steps_instructions'] == '5.00'
    (comparison,) = gains_of('d', stepwise([[0.0, 1.0], [1.0]]), stepwise([[1.0, 1.0], [1.0]]))
    assert (comparison.better, comparison.worse, comparison.steps) == (50.0, 0.0, (None, None))
