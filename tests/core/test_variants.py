"""core/variants: pairs of data sets and of records, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.variant_kinds import EASYTOOL, FUNCTION_CALLING
from opencompass_tooleval.catalogue.variants import VariantKind
from opencompass_tooleval.core.scoring.usage_summary import PromptTokens
from opencompass_tooleval.results.variants import Gain, gains_of, row_of, table_gains

KIND = VariantKind(
    '-easytool',
    'documentation',
    'instructions',
    'EasyTool instructions',
    'EasyTool',
    'what instructions gain',
    methods_of=('funcqa',),
)


def result(values: Sequence[float | None], metric: str = 'name', **changes: Any) -> dict[str, Any]:
    """A result over records ``0``, ``1``, ...; the score is the mean of the values that there are."""
    known = [value for value in values if value is not None]
    details = [{'id': str(i), 'values': {metric: value}} for i, value in enumerate(values)]
    return {metric: 100 * sum(known) / len(known), 'samples': {'all': 1}, 'details': details, **changes}


def stepwise(steps: Sequence[Sequence[float]]) -> dict[str, Any]:
    """A result as UltraTool has it: the score is the mean over the steps of all samples."""
    flat = [value for values in steps for value in values]
    details = [
        {
            'id': str(i),
            'values': {'local': sum(values) / len(values)},
            'steps': [{'values': {'local': value}} for value in values],
        }
        for i, values in enumerate(steps)
    ]
    return {'local': 100 * sum(flat) / len(flat), 'details': details}


def test_pairs() -> None:
    pairs, alone = KIND.pair_up(['b-easytool', 'a', 'a-easytool', 'c', 'b', 'd-easytool'])
    assert pairs == [('b', 'b-easytool'), ('a', 'a-easytool')]
    assert alone == ['d-easytool']
    assert KIND.pair_up(['a', 'c']) == ([], [])


def test_delta_and_interval_by_hand() -> None:
    """Nine of ten records gain as much, and one nothing: the t interval of the mean is 45 ± 2.262 * 5."""
    (comparison,) = gains_of('d', result([0.0] * 9 + [1.0]), result([0.5] * 9 + [1.0]))
    interval = comparison.interval
    assert interval is not None
    assert (interval.delta, interval.low, interval.pairs) == (45.0, pytest.approx(45 - 2.262157 * 5), 10)
    assert interval.high > 45 + 2.262157 * 5, 'the end away from 0 is wider'


def test_records_are_paired_by_id_and_count_if_both_have_a_value() -> None:
    assert [it.metric for it in gains_of('d', result([1.0], parse_rate=100.0), result([1.0]))] == ['name']
    before, after = result([0.0, 1.0, 0.5]), result([0.2, 1.0, 0.5])
    after['details'].reverse()
    (comparison,) = gains_of('d', before, after)
    assert comparison.interval is not None and comparison.delta == pytest.approx(100 * 0.2 / 3)
    assert [comparison] == gains_of('d', before, result([0.2, 1.0, 0.5]))
    before, after = result([0.0, 1.0, None, 0.3]), result([1.0, None, 1.0, 0.4])
    (comparison,) = gains_of('d', before, after)
    assert comparison.interval is not None
    assert (comparison.interval.pairs, comparison.delta) == (2, pytest.approx(55.0))
    assert (comparison.original, comparison.variant) == pytest.approx((15.0, 70.0)), 'the two subtract'
    assert comparison.unshared == 2


def test_a_score_over_steps_weighs_records_by_their_steps() -> None:
    before, after = stepwise([[1.0], [0.0, 0.0, 0.0]]), stepwise([[1.0], [1.0, 1.0, 0.0]])
    (comparison,) = gains_of('d', before, after)
    assert comparison.interval is not None
    assert comparison.delta == pytest.approx(50.0) == pytest.approx(after['local'] - before['local'])
    assert (comparison.interval.low, comparison.interval.high) == (-100.0, 100.0), 'two records show nothing'
    # 100 is the mean over samples as well; the other side tells which it is.
    before, after = stepwise([[1.0], [1.0, 1.0, 1.0]]), stepwise([[1.0], [0.0, 1.0, 1.0]])
    (comparison,) = gains_of('d', before, after)
    assert comparison.delta == pytest.approx(-25.0)


@pytest.mark.parametrize('after', [
    pytest.param(result([1.0, 1.0], name=12.5), id='no mean'),
    pytest.param({'name': 50.0}, id='no details'),
    pytest.param(result([1.0], details=[{'id': 'other', 'values': {'name': 1.0}}]), id='no shared record'),
])  # fmt: skip
def test_without_shared_values_there_is_a_delta_and_no_interval(after: dict[str, Any]) -> None:
    (comparison,) = gains_of('d', result([0.0, 0.5]), after)
    assert comparison.interval is None
    assert comparison.delta == after['name'] - 25.0


def test_tables() -> None:
    scores = {
        't': {'overall': 50.0, 'plan': 40.0, 'review': 9.0},
        't-easytool': {'overall': 60.0, 'plan': 30.0},
        'u': {},
    }
    assert table_gains(KIND, scores) == [
        Gain('t', 'overall', 50.0, 60.0, None),
        Gain('t', 'plan', 40.0, 30.0, None),
    ]
    assert [comparison.delta for comparison in table_gains(KIND, scores)] == [10.0, -10.0]


def test_lines_of_the_table() -> None:
    (comparison,) = gains_of('d', result([0.0, 1.0]), result([1.0, 1.0]))
    before, after = PromptTokens(400.0, 500.0, 'x'), PromptTokens(100.0, 400.0, 'x')
    line = row_of(KIND, 'm', comparison, before, after)
    assert tuple(line) == KIND.columns
    scores, first, task = '50.00 100.00 50.00 -100.00 100.00 2', '400.00 100.00 75.00', '500.00 400.00 20.00'
    assert ' '.join(line.values()) == f'm d name {scores} 50.00 0.00   {first} {task}'
    bare = row_of(KIND, 'm', Gain('t', 'overall', 50.0, 50.0, None), before, PromptTokens(None, 100.0, 'y'))
    assert [column for column, text in bare.items() if not text] == [
        'low',
        'high',
        'records',
        'better',
        'worse',
        'steps_documentation',
        'steps_instructions',
        'first_prompt_instructions',
        'first_prompt_reduction',
        'task_prompts_reduction',  # one side was counted otherwise
    ]
    nothing = PromptTokens(0.0, 0.0, 'x')
    assert row_of(KIND, 'm', comparison, nothing, nothing)['first_prompt_reduction'] == ''
    assert row_of(KIND, 'm', Gain('t', 'x', 0.0, -0.0, None))['instructions'] == '0.00'


def test_records_that_got_better_and_worse_and_steps_by_hand() -> None:
    """Of four records of both, one gets better and two worse; the fifth is in one result only."""

    def of_agents(values: Sequence[float | None], steps: Sequence[int]) -> dict[str, Any]:
        made = result(values)
        for detail, count in zip(made['details'], steps, strict=True):
            detail['steps'] = count
        return made

    before = of_agents([0.0, 1.0, 1.0, 0.5, 1.0], [2, 4, 4, 2, 100])
    (comparison,) = gains_of('d', before, of_agents([1.0, 0.0, 0.5, 0.5], [5, 5, 4, 6]))
    assert (comparison.better, comparison.worse, comparison.steps) == (25.0, 50.0, (3.0, 5.0))
    assert row_of(KIND, 'm', comparison)['steps_instructions'] == '5.00'
    (comparison,) = gains_of('d', stepwise([[0.0, 1.0], [1.0]]), stepwise([[1.0, 1.0], [1.0]]))
    assert (comparison.better, comparison.worse, comparison.steps) == (50.0, 0.0, (None, None))


def test_names_of_variants_and_their_partners() -> None:
    names = ('tooleval-teval-instruct_v2-easytool', 'tooleval-funcqa-one_hop-easytool', 'tooleval-teval-instruct_v2')
    assert [KIND.is_variant(name) for name in names] == [True, False, False]
    names = ('tooleval-toolbench_g1-agent-fc', 'tooleval-teval-agent-fc', 'tooleval-toolbench_g1-agent-react-easytool')
    assert [FUNCTION_CALLING.is_variant(name) for name in names] == [False, True, False]
    assert FUNCTION_CALLING.original_of(names[1]) == 'tooleval-teval-agent-react'
    assert FUNCTION_CALLING.variant_of('tooleval-teval-agent-react') == names[1]
    assert FUNCTION_CALLING.variant_of('tooleval-teval-instruct_v2') == 'tooleval-teval-instruct_v2-fc'
    assert [EASYTOOL.is_variant(name) for name in names] == [False, False, True]
    assert not EASYTOOL.is_variant('tooleval-toolbench_g1-agent-easytool')
    assert FUNCTION_CALLING.pair_up(['tooleval-teval-agent-react', *names[:2]]) == (
        [('tooleval-teval-agent-react', 'tooleval-teval-agent-fc')],
        [],
    )
