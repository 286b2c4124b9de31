"""Golden cases of scoring, written from the metrics' definitions, and aggregates."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.ultratool.reading import SCORINGS, Protocol
from opencompass_tooleval.benchmarks.ultratool.score_steps import error_type
from opencompass_tooleval.benchmarks.ultratool.scoring import aggregate_scores, breakdown, score_answer, score_answers
from opencompass_tooleval.core.calls.answer import Answer
from tests.benchmarks.support import cases
from tests.benchmarks.ultratool.support import make_record

SCORING = cases('ultratool_scoring')
TOOLSET = [{'name': 't', 'arguments': {'properties': {'x': {}}}}]


@pytest.mark.parametrize('case', SCORING, ids=lambda case: f'{case["source"]} [{case["scoring"]}]')
def test_golden(case: dict[str, Any]) -> None:
    record = make_record(case['subset'], case['raw'])
    score = score_answer(record, case['answer'], Protocol(case['scoring'], 'span'))
    assert list(score.values) == list(record.subset.metrics)
    assert {name: score.values[name] for name in case['values']} == pytest.approx(case['values'], abs=1e-12)
    assert score.reason == case['reason']
    assert dict(score.codes()) == case['codes']
    json.dumps(score.to_detail(), allow_nan=False)


def usage(values: list[str], domain: str, record_id: str) -> Any:
    steps = [{'step': f'1.{i} a', 'tool': 't', 'param': {'x': value}} for i, value in enumerate(values)]
    return make_record('tool_usage', {'input': steps, 'toolset': TOOLSET, 'reference': steps}, record_id, domain)


def answer(values: list[str]) -> str:
    return json.dumps([{'step': f'1.{i}', 'tool': 't', 'param': {'x': value}} for i, value in enumerate(values)])


def test_local_metrics_are_means_over_steps_not_over_samples() -> None:
    records = [usage(['a'], 'Train', '0'), usage(['a', 'b', 'c'], 'Alarm', '1')]
    scores = score_answers(records, [answer(['a']), answer(['x', 'y', 'z'])], Protocol())
    with pytest.raises(ValueError, match='2 records, but 1 answers'):
        score_answers(records, ['[]'], Protocol())
    metrics = records[0].subset.metrics
    total = aggregate_scores(scores, metrics)
    assert total.metrics['local_levenshtein'] == 25.0
    # a ratio of sums over two samples: residuals 1 - 0.25 and 0 - 0.75
    assert total.standard_errors['local_levenshtein'] == pytest.approx(100 * math.sqrt(2 * 2 * 0.75**2) / 4)
    said = breakdown(scores, metrics)
    assert said['steps'] == 4
    assert said['domains']['Train'] == {
        'samples': 1,
        'local_levenshtein': 100.0,
        'json_rate': 100.0,
        'json_rate_unrepaired': 100.0,
    }
    assert said['domains']['Alarm']['local_levenshtein'] == 0.0
    assert said['codes'] == {'args:wrong': 3}
    assert said['parse_methods'] == {'as_is': 2}


def test_the_five_error_types_of_the_paper() -> None:
    assert error_type('parse:not_json') == 'incorrect_json'
    assert error_type('parse:no_brackets') == 'not_following_instructions'
    assert error_type('answer:empty') == 'not_following_instructions'
    assert error_type('name:unknown_tool') == 'hallucinations'
    assert error_type('args:extra') == 'redundant_outputs'
    assert error_type('step:missing') == 'incomplete_outputs'
    assert error_type('args:wrong') is None


@pytest.mark.parametrize('scoring', SCORINGS)
def test_infrastructure_failures_score_nothing_under_their_name(scoring: str) -> None:
    score = score_answer(usage(['a'], '', '0'), Answer('', 'infra:timeout'), Protocol(scoring))
    assert score.reason == 'infra:timeout'
    assert set(score.values.values()) == {0.0}


STEPS = [{'step': '1.1 one', 'tool': 't'}, {'step': '1.2 two', 'tool': 'u'}]


@pytest.mark.parametrize(
    ('subset', 'gold', 'message', 'shown'),
    [
        ('tool_usage_awareness', ['0', '1'], [0, '1'], {'1.1': 0, '1.2': 1}),
        ('tool_selection', ['t', 'u_v'], ['t', 'u\\_v'], {'1.1': 't', '1.2': 'u_v'}),
        ('tool_creation', [{'name': 'a'}, {'name': 'b'}], [{'name': 'a'}, {'name': 'b'}], None),
    ],
)
def test_what_is_read_has_the_shape_of_gold(subset: str, gold: list[Any], message: list[Any], shown: Any) -> None:
    """Steps count by their number: another text or order is no difference."""
    reference = [{**step, 'tool': tool} for step, tool in zip(STEPS, gold, strict=True)]
    record = make_record(subset, {'input': reference, 'toolset': TOOLSET, 'reference': reference})
    items = [{'step': f'1.{i} in other words', 'tool': tool} for i, tool in enumerate(message, 1)]
    answered = json.dumps([{'step': '9 no such', 'tool': 'x'}, *reversed(items)])
    detail = score_answer(record, answered, Protocol('strict'), []).to_detail()
    assert detail['gold'] == (shown or {'1.1': {'name': 'a'}, '1.2': {'name': 'b'}})
    assert detail['parsed'] == detail['gold']
    assert [other['reason'] for other in detail['other_steps']] == ['step:wrong_step']
    half = score_answer(record, json.dumps(items[1:]), Protocol('strict'), []).to_detail()
    assert half['parsed'] == {'1.2': detail['gold']['1.2']}
    assert score_answer(record, 'no list', Protocol('strict'), []).parsed is None


TASKS = ('tool_usage_awareness', 'tool_selection', 'tool_usage')
SHAPES = [
    ('a list in a list', lambda items: json.dumps([items]), ('tool_selection', 'tool_usage')),
    ('objects, one per line', lambda items: '\n'.join(map(json.dumps, items)), ('tool_usage',)),
    ('a leading blank', lambda items: json.dumps(items).replace('"1.', '" 1.'), ()),
    ('a tab behind the number', lambda items: json.dumps(items).replace(' x"', '\\tx"'), ()),
    ('the number alone', lambda items: json.dumps(items).replace(' x"', '"'), TASKS),
]


@pytest.mark.parametrize('subset', TASKS)
@pytest.mark.parametrize(('write', 'counting'), [case[1:] for case in SHAPES], ids=[case[0] for case in SHAPES])
def test_shapes_of_answers_that_count_officially(write: Any, counting: tuple[str, ...], subset: str) -> None:
    tool = '1' if subset == 'tool_usage_awareness' else 't'
    items = [{'step': f'1.{i} x', 'tool': tool, 'param': {'x': 'a'}} for i in (1, 2)]
    record = make_record(subset, {'input': items, 'toolset': TOOLSET, 'reference': items})
    score = score_answer(record, write(items), Protocol('official', 'span'))
    assert score.values[record.subset.metrics[0]] == float(subset in counting)


def test_arguments_read_have_the_shape_of_gold() -> None:
    detail = score_answer(usage(['a', 'b'], '', '0'), answer(['a', 'c']), Protocol()).to_detail()
    assert detail['gold'] == {'1.0': {'x': 'a'}, '1.1': {'x': 'b'}}
    assert detail['parsed'] == {'1.0': {'x': 'a'}, '1.1': {'x': 'c'}}


@pytest.mark.parametrize(('subset', 'rate'), [('tool_usage_awareness', 1), ('tool_selection', 0), ('tool_usage', 0)])
def test_a_bare_number_is_bad_json_where_the_published_scorer_stops(subset: str, rate: int) -> None:
    item = {'step': '1.1 x', 'tool': 't', 'param': {'x': 'a'}}
    record = make_record(subset, {'input': [item], 'toolset': TOOLSET, 'reference': [{**item, 'tool': '1'}]})
    assert score_answer(record, '7', Protocol()).values['json_rate'] == rate
