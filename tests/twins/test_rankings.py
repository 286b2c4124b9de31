"""Which pairs of models a twin ranks otherwise: by the interval of the difference of their differences."""

from __future__ import annotations

from typing import Any

from opencompass_tooleval.report.variant_figures import rankings_table
from opencompass_tooleval.results.variants import Gain, change_of_lead, gains_of

DATASET = 'tooleval-teval-instruct_v2-twin-names'
RECORDS = 60


def result(right: int, skipped: int = 0) -> dict[str, Any]:
    details = [
        {'id': str(number), 'values': {'accuracy': float(number < right)}, 'reason': 'ok'}
        for number in range(skipped, RECORDS)
    ]
    values = [detail['values']['accuracy'] for detail in details]
    return {'accuracy': 100 * sum(values) / len(values), 'details': details}


def gain(original: int, twin: int, skipped: int = 0) -> Gain:
    (found,) = gains_of(DATASET, result(original), result(twin, skipped))
    return found


def test_a_lead_that_the_twin_takes_away() -> None:
    able, remembering = gain(40, 40), gain(50, 20)
    interval = change_of_lead(able, remembering)
    assert interval is not None and interval.delta == -50 and interval.high < 0
    table = rankings_table('twin', [('able', able), ('remembering', remembering)])
    assert table is not None
    ((_, _, a, b, before, after, change, *_),) = table.rows
    assert (a, b, before, after, change) == ('able', 'remembering', '16.67', '-33.33', '-50.00')


def test_what_changes_no_lead_is_no_row() -> None:
    table = rankings_table('twin', [('a', gain(40, 30)), ('b', gain(50, 40))])
    assert table is not None and table.rows == ()
    assert rankings_table('twin', [('a', gain(40, 30))]) is None


def test_only_records_of_all_four_results_count() -> None:
    interval = change_of_lead(gain(40, 40, skipped=10), gain(50, 20))
    assert interval is not None and interval.pairs == RECORDS - 10
