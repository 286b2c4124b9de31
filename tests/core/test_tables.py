"""core/tables: columns by hand."""

from __future__ import annotations

from opencompass_tooleval.core.tables import columns_of


def test_columns_are_resolved_down_to_data_sets() -> None:
    groups = [
        {'name': 't', 'metric': 'x_json', 'subsets': [['d1', 'f1'], ['d1', 'em']]},
        {'name': 't', 'metric': 'x_str', 'subsets': [['d2', 'f1']]},
        {'name': 't', 'metric': 'x', 'subsets': [['t', 'x_json'], ['t', 'x_str']]},
        {'name': 't', 'metric': 'overall', 'subsets': [['t', 'x'], ['d1', 'f1']]},
        {'name': 't', 'metric': 'weighed', 'subsets': [['d1', 'f1'], ['d2', 'f1']], 'weights': {'d1': 60, 'd2': 20}},
    ]
    assert columns_of(groups) == {
        ('t', 'x_json'): {('d1', 'f1'): 0.5, ('d1', 'em'): 0.5},
        ('t', 'x_str'): {('d2', 'f1'): 1.0},
        ('t', 'x'): {('d1', 'f1'): 0.25, ('d1', 'em'): 0.25, ('d2', 'f1'): 0.5},
        ('t', 'overall'): {('d1', 'f1'): 0.625, ('d1', 'em'): 0.125, ('d2', 'f1'): 0.25},
        ('t', 'weighed'): {('d1', 'f1'): 0.75, ('d2', 'f1'): 0.25},
    }
