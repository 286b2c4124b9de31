"""evaluators/evaluator: the checks around a score, and the result that OpenCompass gets."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import opencompass
import pytest
from datasets import Dataset, concatenate_datasets

from opencompass_tooleval import __version__
from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalDataset, ToolEvalTEvalEvaluator
from opencompass_tooleval.benchmarks.ultratool.score_steps import StepsScore
from opencompass_tooleval.benchmarks.ultratool.scoring import aggregate_scores
from opencompass_tooleval.catalogue.benchmark import part_of
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.core.text.jsonable import texts_digest
from opencompass_tooleval.evaluators.evaluator import (
    ToolEvalEvaluator,
    as_dataset,
    check_record_ids,
)

DEMO = 'tooleval:demo/teval/EN'


class Equality(ToolEvalEvaluator):
    """1 for an answer that equals its reference."""

    metrics = ('right',)

    def score_samples(self, references: Sequence[str], answers: Sequence[Answer]) -> list[SampleScore]:
        scores = []
        for number, (gold, answer) in enumerate(zip(references, answers, strict=True)):
            right = answer.text == gold
            scores.append(SampleScore(f'r{number}', {'right': float(right)}, 'ok' if right else 'x:wrong', answer.text))
        return scores

    def provenance(self) -> dict[str, Any]:
        return {'benchmark': 'test'}


class ById(Equality):
    """The same, whose records are named by their gold."""

    def score_samples(self, references: Sequence[str], answers: Sequence[Answer]) -> list[SampleScore]:
        scores = super().score_samples(references, answers)
        names = {'w': 'r0', 'x': 'r1', 'y': 'r2', 'z': 'r3'}
        return [replace(score, id=names[gold]) for score, gold in zip(scores, references, strict=True)]


def evaluate(
    evaluator: ToolEvalEvaluator, dataset: Dataset, answers: Sequence[str], runs: int | None = None, **changes: Any
) -> dict[str, Any]:
    """Calls it as OpenCompass's evaluation task does; without ``runs``, the data set is repeated for all answers."""
    repeats = 1 if runs else len(answers) // len(dataset)
    rows = concatenate_datasets([dataset] * repeats)
    columns = {
        'predictions': answers,
        'references': rows['record'],
        'record_id': list(rows['record_id']),
        'infra': [None] * len(rows),
        **changes,
    }
    return evaluator.evaluate(1, runs or repeats, rows, **columns)


def numbered(*golds: str) -> Dataset:
    return Dataset.from_list([{'record_id': f'r{i}', 'record': gold} for i, gold in enumerate(golds)])


MISFITS = [
    (['a', 'c'], '1 missing: b; 1 out of place: b)'),
    (['a', 'b', 'b', 'c'], '1 doubled: b; 1 out of place: c)'),
    (['a', 'b', 'c', 'd'], '(1 unknown: d)'),
    (['c', 'a', 'b'], '(3 out of place: a, b, c)'),
    ([], '(3 missing: a, b, c)'),
]


def test_record_ids_that_do_not_fit_are_named() -> None:
    for found, says in MISFITS:
        with pytest.raises(ValueError, match='predictions do not belong to the data set') as caught:
            check_record_ids(['a', 'b', 'c'], found)
        assert says in str(caught.value)
        assert str(caught.value).endswith('Delete the predictions file and run again.')
    check_record_ids(['a', 'b', 'b'], ('a', 'b', 'b'))
    with pytest.raises(ValueError, match=r'\(100 missing: 0, 1, 2, 3, 4\)'):
        check_record_ids([str(i) for i in range(100)], [])


def test_scores_and_ids_that_do_not_fit() -> None:
    for ids in ('', 'a', 'ba', 'aa'):
        with pytest.raises(ValueError, match='a fault of opencompass_tooleval'):
            Equality().summarize([SampleScore(name, {'right': 1.0}, 'ok') for name in ids], ['a', 'b'])
    with pytest.raises(ValueError, match='2 out of place: r0, r1'):
        evaluate(Equality(), numbered('x', 'y'), ['x', 'y'], record_id=['r1', 'r0'])

    class Reversed(Equality):
        def score_samples(self, references: Sequence[str], answers: Sequence[Answer]) -> list[SampleScore]:
            return super().score_samples(references, answers)[::-1]

    with pytest.raises(ValueError, match='a fault of opencompass_tooleval'):
        evaluate(Reversed(), numbered('x', 'y'), ['x', 'y'])


@pytest.mark.parametrize(('asked', 'runs'), [(2, 1), (2, 3), (3, 1), (3, 2)])
def test_a_result_says_of_how_many_records_it_is_a_part(asked: int, runs: int) -> None:
    rows = as_dataset([{'record_id': f'r{i}', 'record': gold} for i, gold in enumerate('xyz')])
    result = evaluate(Equality(), rows.select(range(asked)), ['x'] * asked * runs)
    part = {'of': 3} if asked < 3 else {}
    assert result['samples'] == {'all': asked * runs, 'infra': 0, **part}
    assert part_of('d', result) == ((2, 3) if part else None)


def test_only_published_data_has_a_published_size() -> None:
    result = {'samples': {'all': 5}, 'provenance': {'benchmark': 'ultratool', 'subset': 'tool_usage'}}
    assert part_of('tooleval-ultratool-tool_usage_en', result) == (5, 1000)
    assert part_of('demo-ultratool-tool_usage_en', result) is None


def test_one_run() -> None:
    result = evaluate(Equality(), numbered('x', 'y', 'z'), ['x', 'no', 'z'])
    details = result.pop('details')
    assert [(detail['id'], detail['parsed']) for detail in details] == [('r0', 'x'), ('r1', 'no'), ('r2', 'z')]
    assert not any('trial' in detail for detail in details)
    assert result == {
        'right': pytest.approx(200 / 3),
        'standard_errors': {'right': pytest.approx(100 / 3)},
        'reasons': {'ok': 2, 'x:wrong': 1},
        'samples': {'all': 3, 'infra': 0},
        'provenance': {
            'benchmark': 'test',
            'clustered_by': 'record',
            'records_sha256': texts_digest(['x', 'y', 'z']),
            'opencompass_tooleval': __version__,
            'opencompass': opencompass.__version__,
        },
    }


def test_data_and_prompts_are_in_the_provenance() -> None:
    def digests(records: list[str], messages: list[str]) -> tuple[str, str]:
        rows = numbered(*records).add_column('messages', messages)
        provenance = evaluate(Equality(), rows, records)['provenance']
        return provenance['records_sha256'], provenance['prompts_sha256']

    plain = digests(['x', 'y'], ['a', 'b'])
    assert plain == digests(['x', 'y'], ['a', 'b']) and len(plain[0]) == 64
    assert digests(['x', 'z'], ['a', 'b'])[1] == plain[1] != digests(['x', 'y'], ['a', 'c'])[1]
    assert digests(['xy', ''], ['a', 'b'])[0] not in {plain[0], digests(['', 'xy'], ['a', 'b'])[0]}


def test_two_runs_are_averaged() -> None:
    result = evaluate(Equality(), numbered('x', 'y'), ['x', 'y', 'no', 'y'])
    assert result['right'] == 75.0
    assert result['runs'] == [{'right': 100.0}, {'right': 50.0}]
    assert result['standard_errors'] == {'right': pytest.approx(25.0)}  # the records have 50 and 100
    assert result['reasons'] == {'ok': 3, 'x:wrong': 1}
    assert result['samples'] == {'all': 4, 'infra': 0}
    assert [detail['id'] for detail in result['details']] == ['r0', 'r1', 'r0', 'r1']
    assert [detail['values']['right'] for detail in result['details']] == [1.0, 1.0, 0.0, 1.0]
    # OpenCompass's summarizer makes a row of each number at the top level.
    assert [key for key, value in result.items() if isinstance(value, (int, float))] == ['right']
    assert 'error' not in result
    assert result['trials'] == {
        'n': 2,
        'success': [],
        'same_answers': 1,
        'metrics': {'right': {'avg@2': {'value': 75.0, 'standard_error': pytest.approx(25.0), 'records': 2}}},
    }


def test_runs_are_told_by_the_ids_of_records() -> None:
    """Three runs of four records, cut in the middle of the second, and rows of all runs mixed."""
    rows = concatenate_datasets([numbered('w', 'x', 'y', 'z')] * 3)
    answers = ['w', 'x', 'no', 'no', 'w', 'no', 'no', 'no', 'w', 'no', 'no', 'z']

    def evaluated(positions: Sequence[int], n: int) -> dict[str, Any]:
        return evaluate(ById(), rows.select(positions), [answers[position] for position in positions], n)

    whole = evaluated(range(12), 3)
    assert whole['runs'] == [{'right': 50.0}, {'right': 25.0}, {'right': 50.0}]
    means = [1, 1 / 3, 0, 1 / 3]
    assert whole['standard_errors']['right'] == pytest.approx(100 * statistics.stdev(means) / 2)
    mixed = evaluated([8, 3, 0, 2, 1, 7, 4, 6, 5, 11, 10, 9], 3)
    assert sorted(run['right'] for run in mixed['runs']) == [25.0, 50.0, 50.0]
    assert mixed['standard_errors'] == whole['standard_errors']
    assert [detail['id'] for detail in mixed['details']] == ['r0', 'r3', 'r2', 'r1'] * 3
    assert mixed['samples'] == {'all': 12, 'infra': 0}
    for positions, n, count in ((range(10), 3, 2), (range(4), 2, 4), (range(3), 3, 3)):
        with pytest.raises(ValueError, match=rf'^n={n} asks for every record {n} times, but {count} of \d are not'):
            evaluated(positions, n)


def test_the_error_of_a_mean_over_steps_is_clustered_by_record() -> None:
    def total(*scores: tuple[str, tuple[float, ...]]) -> float | None:
        given = [StepsScore(id=name, values={'m': None}, reason='ok', flat={'m': values}) for name, values in scores]
        return aggregate_scores(given, ['m']).standard_errors['m']

    once = (('a', (1.0, 0.0)), ('b', (1.0,)), ('c', (0.0,)))
    assert total(*once, *once) == pytest.approx(total(*once))  # the same again says nothing new
    assert total(*once, ('a', (0.0, 1.0)), ('b', (0.0,)), ('c', (1.0,))) == pytest.approx(0)


def test_review() -> None:
    dataset = ToolEvalTEvalDataset.load(DEMO, 'review_str_v2')
    evaluator = ToolEvalTEvalEvaluator('review_str_v2', pred_postprocessor={'type': 'tooleval_teval_v2'})
    golds = [json.loads(record)[1]['ground_truth']['answer'] for record in dataset['record']]
    answers = [f'<think>Answer: E or F</think>Answer: {gold}' for gold in golds]
    answers[1], answers[2] = 'Answer: F', ''
    infra = [None, None, None, 'infra:timeout', None, None]
    result = evaluate(evaluator, dataset, answers, infra=infra)
    assert result['parse_rate'] == result['review_quality'] == pytest.approx(50.0)
    assert [detail['id'] for detail in result['details']] == dataset['record_id']
    reasons = [detail['reason'] for detail in result['details']]
    assert reasons == ['ok', 'parse:no_choice', 'answer:empty', 'infra:timeout', 'ok', 'ok']
    assert result['details'][3]['values'] == {'parse_rate': 0.0, 'review_quality': 0.0}
    assert result['reasons'] == {'ok': 3, 'parse:no_choice': 1, 'answer:empty': 1, 'infra:timeout': 1}
    assert result['samples'] == {'all': 6, 'infra': 1}
    assert result['provenance']['subset'] == 'review_str'
    assert result['provenance']['encoder'] is None
    json.dumps(result, allow_nan=False)


def test_infra_reason_scores_0_also_beside_a_right_answer() -> None:
    dataset = ToolEvalTEvalDataset.load(DEMO, 'review_str_v2')
    result = evaluate(
        ToolEvalTEvalEvaluator('review_str_v2'), dataset, list(dataset['gold_answer']), infra=['infra:server'] * 6
    )
    assert (result['review_quality'], result['reasons']) == (0.0, {'infra:server': 6})
    assert result['samples'] == {'all': 6, 'infra': 6}


def test_absent_instruct_format_is_not_measured() -> None:
    dataset = ToolEvalTEvalDataset.load(DEMO, 'instruct_v2')
    dataset = dataset.filter(lambda row: row['record_id'].endswith('_json'))
    assert len(dataset) > 1
    result = evaluate(ToolEvalTEvalEvaluator('instruct_v2'), dataset, list(dataset['gold_answer']))
    assert [result[name] for name in ('json_format_metric', 'json_args_em_metric')] == [100.0, 100.0]
    assert [result[name] for name in ('string_format_metric', 'string_args_em_metric')] == [None, None]
    assert result['standard_errors']['string_format_metric'] is None
    assert list(result)[:2] == ['json_args_em_metric', 'string_args_em_metric'], 'the main metrics first'
    assert math.isfinite(result['standard_errors']['json_format_metric'])


class RightAnswers(ById):
    """The same, whose answers are right or wrong."""

    subset = SimpleNamespace(metrics=('right',), binary_metrics=('right',))


def test_trials_have_their_average_and_both_estimators() -> None:
    answers = ['w', 'x', 'no', 'no', 'w', 'no', 'no', 'no', 'w', 'no', 'no', 'z']
    result = evaluate(RightAnswers(), numbered('w', 'x', 'y', 'z'), answers)
    assert list(result)[-2:] == ['trials', 'details']
    trials = result['trials']
    assert (trials['n'], trials['success'], trials['same_answers']) == (3, [], 2)
    by_kind = trials['metrics']['right']
    assert list(by_kind) == ['avg@3', 'pass@1', 'pass@2', 'pass@3', 'pass^1', 'pass^2', 'pass^3']
    error = result['standard_errors']['right']
    assert by_kind['avg@3'] == {'value': result['right'], 'standard_error': error, 'records': 4}
    assert by_kind['pass^2'] == {'value': 25.0, 'standard_error': pytest.approx(25.0), 'records': 4}
    assert [detail['trial'] for detail in result['details']] == [0] * 4 + [1] * 4 + [2] * 4
    json.dumps(result)


def test_instruct_is_right_as_a_whole_where_all_that_applies_is_full() -> None:
    dataset = ToolEvalTEvalDataset.load(DEMO, 'instruct_v2')
    evaluator = ToolEvalTEvalEvaluator('instruct_v2', pred_postprocessor={'type': 'tooleval_teval_v2'})
    golds = list(dataset['gold_answer'])
    result = evaluate(evaluator, dataset, [*golds, '', *golds[1:]])
    assert result['reasons']['ok'] == 2 * len(golds) - 1
    by_kind = result['trials']['metrics']['success']
    share = 100 / len(golds)
    assert by_kind['avg@2']['value'] == pytest.approx(100 - share / 2)
    assert (by_kind['pass@2']['value'], by_kind['pass^2']['value']) == (pytest.approx(100), pytest.approx(100 - share))
