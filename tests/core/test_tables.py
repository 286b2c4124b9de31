"""core/tables: columns by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from opencompass_tooleval.catalogue.tables import (
    CORRELATIONS,
    column_error,
    columns_of,
    errors_of,
    without_samples,
)
from opencompass_tooleval.core.scoring.aggregate import aggregate
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.core.statistics.intervals import Score


def test_columns_are_resolved_down_to_data_sets() -> None:
    groups: list[dict[str, Any]] = [
        {'name': 't', 'metric': 'x_json', 'subsets': [['d1', 'f1'], ['d1', 'em']]},
        {'name': 't', 'metric': 'x_str', 'subsets': [['d2', 'f1']]},
        {'name': 't', 'metric': 'x', 'subsets': [['t', 'x_json'], ['t', 'x_str']]},
        {'name': 't', 'metric': 'overall', 'subsets': [['t', 'x'], ['d1', 'f1']]},
        {'name': 't', 'metric': 'weighed', 'subsets': [['d1', 'f1'], ['d2', 'f1']], 'weights': {'d1': 60, 'd2': 20}},
        {'name': 'mmlu', 'subsets': ['mmlu_law', 'mmlu_physics']},
        {'name': 'mmlu', 'metric': 'accuracy', 'subsets': ['mmlu_law', 'mmlu_physics']},
        {'name': 'both', 'subsets': [['d1', 'f1'], ['mmlu_law', 'accuracy']]},
    ]
    assert columns_of(groups) == {
        ('t', 'x_json'): {('d1', 'f1'): 0.5, ('d1', 'em'): 0.5},
        ('t', 'x_str'): {('d2', 'f1'): 1.0},
        ('t', 'x'): {('d1', 'f1'): 0.25, ('d1', 'em'): 0.25, ('d2', 'f1'): 0.5},
        ('t', 'overall'): {('d1', 'f1'): 0.625, ('d1', 'em'): 0.125, ('d2', 'f1'): 0.25},
        ('t', 'weighed'): {('d1', 'f1'): 0.75, ('d2', 'f1'): 0.25},
    }


def result_of(trials: int, queries: Sequence[str] = (), **values: Any) -> dict[str, Any]:
    scores = []
    for trial in range(trials):
        for place in range(len(next(iter(values.values()))[0])):
            of_record = {metric: by_trial[trial][place] for metric, by_trial in values.items()}
            scores.append(SampleScore(f'r{place}', of_record, 'ok', query=queries[place] if queries else ''))
    total = aggregate(scores, list(values))
    return {**total.metrics, 'standard_errors': total.standard_errors, 'details': [one.to_detail() for one in scores]}


def error_of(column: Mapping[Score, float], **results: Mapping[str, Any]) -> float | None:
    bare = without_samples(results.items(), [column])
    assert not any('details' in result for result in bare.values())
    errors = {(name, metric): error for name, result in bare.items() for metric, error in errors_of(result).items()}
    return column_error(column, errors, {name: result.get(CORRELATIONS, {}) for name, result in bare.items()})


@pytest.mark.parametrize('trials', [1, 3])
def test_scores_of_the_same_records_have_the_error_of_their_mean(trials: int) -> None:
    generator = np.random.default_rng(trials)
    x = generator.random((trials, 40))
    y = np.clip(x + generator.normal(0, 0.3, x.shape), 0, 1)
    whole = (0.7 * x + 0.3 * y).mean(axis=0)
    found = error_of({('d', 'x'): 0.7, ('d', 'y'): 0.3}, d=result_of(trials, x=x.tolist(), y=y.tolist()))
    assert found == pytest.approx(100 * whole.std(ddof=1) / np.sqrt(40))
    opposite = error_of({('d', 'x'): 0.5, ('d', 'y'): 0.5}, d=result_of(trials, x=x.tolist(), y=(1 - x).tolist()))
    assert opposite == pytest.approx(0, abs=1e-6)


def test_two_formats_of_different_records_are_independent() -> None:
    """T-Eval's instruct, three trials: half of the records have two JSON metrics, the others two of the text."""
    generator = np.random.default_rng(0)
    drawn = (generator.random((4, 3, 60)) < 0.6).astype(float)
    halves = [[[*trial[:30], *[None] * 30] for trial in drawn[place].tolist()] for place in (0, 1)]
    halves += [[[*[None] * 30, *trial[30:]] for trial in drawn[place].tolist()] for place in (2, 3)]
    names = ('json_format', 'json_args', 'string_format', 'string_args')
    values: dict[str, Any] = dict(zip(names, halves, strict=True))
    result = result_of(3, **values)
    of_format = [drawn[:2, :, :30].mean(axis=(0, 1)), drawn[2:, :, 30:].mean(axis=(0, 1))]
    error = np.hypot(*(100 * records.std(ddof=1) / np.sqrt(30) for records in of_format)) / 2
    assert error_of({('d', name): 0.25 for name in names}, d=result) == pytest.approx(error)
    assert error < 0.8 * sum(0.25 * value for value in result['standard_errors'].values())


def test_data_sets_that_ask_the_same_queries_have_the_error_of_their_mean() -> None:
    """T-Eval's plan in JSON and text: the same queries in another order; records alone have equal ids and no query."""
    generator = np.random.default_rng(2)
    x = generator.random(40)
    y = np.clip(x + generator.normal(0, 0.3, 40), 0, 1)
    queries = [f'q{i}' for i in range(40)]
    column = {('d', 'x'): 0.5, ('e', 'x'): 0.5}
    shared = error_of(column, d=result_of(1, queries, x=[x]), e=result_of(1, queries[::-1], x=[y[::-1]]))
    assert shared == pytest.approx(100 * ((x + y) / 2).std(ddof=1) / np.sqrt(40))
    alone = error_of(column, d=result_of(1, x=[x]), e=result_of(1, x=[y]))
    assert alone == pytest.approx(50 * np.hypot(x.std(ddof=1), y.std(ddof=1)) / np.sqrt(40))


def test_steps_of_one_query_are_one_cluster() -> None:
    """Reason, retrieve, understand: the error of a mean over steps is that of a mean over queries with as many."""
    values = np.random.default_rng(3).random((20, 6))
    queries = [f'q{place // 6}' for place in range(120)]
    result = result_of(1, queries, x=[values.ravel()])
    error = 100 * values.mean(1).std(ddof=1) / np.sqrt(20)
    assert result['standard_errors']['x'] == pytest.approx(error)
    assert error_of({('d', 'x'): 1.0}, d=result) == pytest.approx(error)
    assert result_of(1, ['q'] * 3, x=[[0.0, 1.0, 1.0]])['standard_errors'] == {'x': None}


def test_what_is_not_known_has_no_error() -> None:
    one, two = ({'x': 50.0, 'y': 50.0, 'standard_errors': {'x': 2.0, 'y': error}} for error in (3.0, None))
    assert error_of({('d', 'x'): 0.5, ('e', 'y'): 0.5}, d=one, e=one) == pytest.approx(np.hypot(1, 1.5))
    assert error_of({('d', 'x'): 0.5, ('d', 'y'): 0.5}, d=one) is None, 'without samples nobody knows their sum'
    assert error_of({('d', 'x'): 0.5, ('e', 'y'): 0.5}, d=one, e=two) is None
