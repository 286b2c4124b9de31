"""Golden cases, written from the definitions of both protocols; similarity is exact."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.teval.data import TABLE, Sample, load_samples
from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from opencompass_tooleval.benchmarks.teval.reading import POSTPROCESSORS, PROTOCOLS, SCORINGS, Protocol
from opencompass_tooleval.benchmarks.teval.scoring import MAX_STEPS, score_answer, score_answers
from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.scoring.scorer import ExactSimilarity, Similarity
from opencompass_tooleval.core.text.reading import parse_literal
from tests.benchmarks.support import cases
from tests.benchmarks.teval.support import ROOT, make_record, offline_similarity, real_samples, repeats_a_step

CASES = cases('teval_scoring')
DEMO = ROOT / 'opencompass_tooleval' / 'demo' / 'teval'


@pytest.mark.parametrize('case', CASES, ids=lambda case: f'{case["source"]} [{case["scoring"]}]')
def test_golden(case: dict[str, Any]) -> None:
    record = make_record(case['subset'], case['raw'])
    score = score_answer(
        record, as_answer(case['answer']), Protocol(case['protocol'], case['scoring']), ExactSimilarity()
    )
    assert score.values == pytest.approx(case['values'], abs=1e-12)
    assert list(score.values) == list(record.subset.metrics)
    assert score.reason == case['reason']


@pytest.mark.parametrize('scoring', SCORINGS)
@pytest.mark.parametrize('protocol', PROTOCOLS)
@pytest.mark.parametrize('file', sorted(DEMO.rglob('*.json')), ids=lambda file: file.stem)
def test_gold_answers_of_the_demo_score_full(file: Path, protocol: str, scoring: str) -> None:
    samples = load_samples(file, next(s.name for s in TABLE if file.stem.startswith(f'{s.name}_v2')))
    answers = [POSTPROCESSORS[protocol](as_answer(gold_answer(sample.record))) for sample in samples]
    rules = Protocol(protocol, scoring)
    for score in score_answers([sample.record for sample in samples], answers, rules, offline_similarity()):
        assert score.reason == 'ok', score
        for metric, value in score.values.items():
            least = 1 - 2e-5 if (metric, protocol, scoring) == ('args', 'v2', 'official') else 1 - 1e-6
            assert value is None or value >= least, score


def assert_full_when_strict(samples: Sequence[Sample], similarity: Similarity) -> None:
    answers = [POSTPROCESSORS['v1'](as_answer(gold_answer(sample.record))) for sample in samples]
    scores = score_answers([sample.record for sample in samples], answers, Protocol('v1', 'strict'), similarity)
    assert [score.id for score in scores if score.reason != 'ok'] == []


@pytest.mark.parametrize(
    'subset', [*(pytest.param(name, marks=pytest.mark.long) for name in ('plan_json', 'plan_str')), 'review_str']
)
def test_gold_answers_of_the_real_data_score_full_when_strict(subset: str) -> None:
    """With the encoder those that are the hardest: where a plan holds a step twice."""
    samples = real_samples(subset)
    assert_full_when_strict(samples, ExactSimilarity())
    hard = [sample for sample in samples if repeats_a_step(sample)] if subset != 'review_str' else samples
    assert_full_when_strict([*hard, *samples[:20]], offline_similarity())


@pytest.mark.parametrize('subset', [subset.name for subset in TABLE])
def test_what_is_no_answer_scores_nothing_under_its_name(subset: str) -> None:
    sample = load_samples(DEMO / 'EN' / f'{subset}_v2.json', subset)[0]
    gold = gold_answer(sample.record)
    for scoring in SCORINGS:
        for answer, reason in (
            (Answer('', 'infra:timeout'), 'infra:timeout'),
            (as_answer('<think>' + gold), 'answer:truncated_reasoning'),
            (as_answer('<|channel|>analysis<|message|>' + gold), 'answer:truncated_reasoning'),
        ):
            read = POSTPROCESSORS['v2'](answer)
            score = score_answer(sample.record, read, Protocol('v2', scoring), ExactSimilarity())
            assert score.reason == reason
            assert {value for value in score.values.values() if value is not None} == {0.0}


def _as_people_write(text: str) -> str:
    """JSON from a Chinese keyboard, saved by an editor of Windows; texts of JSON stay as they are."""
    plain = json.dumps(parse_literal(text).value, ensure_ascii=False, separators=(',', ':'), indent=1)
    return '\ufeff' + plain.replace('{\n', '｛\n').replace('": ', '"： ').replace('":', '"：').replace('\n', '\r\n')


@pytest.mark.parametrize('subset', ['instruct', 'plan_json', 'reason_retrieve_understand_json', 'understand_str'])
def test_strict_reads_full_width_json(subset: str) -> None:
    samples = load_samples(DEMO / 'EN' / f'{subset}_v2.json', subset)
    sample = next(sample for sample in samples if sample.record.format != 'string')
    answer = POSTPROCESSORS['v2'](as_answer(_as_people_write(gold_answer(sample.record))))
    official, strict = (
        score_answer(sample.record, answer, Protocol('v2', scoring), ExactSimilarity()) for scoring in SCORINGS
    )
    assert official.reason != 'ok'
    assert strict.reason == 'ok'


def test_an_empty_thought_scores_its_cosine_officially_and_nothing_when_strict() -> None:
    raw = {'template': '', 'ground_truth': {'thought': 'Go.', 'name': 'a.b', 'args': {}}}
    record = make_record('reason_str', raw)
    official = score_answer(record, Answer(''), Protocol('v1'), offline_similarity())
    strict = score_answer(record, Answer(''), Protocol('v1', 'strict'), offline_similarity())
    assert (official.reason, strict.reason) == ('answer:empty', 'answer:empty')
    assert official.values['thought'] > 0.05
    assert strict.values['thought'] == 0.0


def test_steps_beyond_the_limit_still_cost_precision() -> None:
    steps = [{'id': i, 'name': f'x{i}' if i else 'a.b', 'args': "{'x': 1}"} for i in range(2 * MAX_STEPS)]
    score = score_answer(make_record('plan_json', PLAN), Answer(json.dumps(steps)), Protocol('v1'), ExactSimilarity())
    assert score.values['precision'] == 1 / (2 * MAX_STEPS)
    assert score.values['recall'] == 1.0


def test_a_missing_encoder_is_an_error_not_a_zero() -> None:
    sample = load_samples(DEMO / 'EN' / 'plan_json_v2.json', 'plan_json')[0]
    with pytest.raises(ValueError, match='plan_json under protocol v2 needs a sentence encoder'):
        score_answers([sample.record], [Answer('[]')], Protocol('v2'))


def test_subsets_without_comparison_need_no_encoder_and_rules_are_known() -> None:
    needing = {p: [s.name for s in TABLE if Protocol(p).needs_encoder(s)] for p in PROTOCOLS}
    for rules in (('v3', 'official'), ('v1', 'lenient')):
        with pytest.raises(ValueError, match='is not one of'):
            Protocol(*rules)
    compared = ['plan_json', 'plan_str', 'reason_str', 'reason_retrieve_understand_json']
    assert needing == {'v1': [*compared[:3], 'understand_str', compared[3]], 'v2': compared}


ROUTE = {'thought': 'Find the way.', 'name': 'Map.route', 'args': {'place': 'Rome'}}
STEPS = [{'id': 0, 'name': 'a.b', 'args': {'x': 1}}, {'id': 1, 'name': 'FinishAction', 'args': {}}]
PLAN = {'meta': {'prompt_type': 'json', 'API_list': []}, 'ground_truth': STEPS}
ACTION = {'action': 'Map.route', 'args': {'place': 'Rome'}}
KEYS = {'thought': 'Why', 'action': 'Tool', 'args': 'With'}
INSTRUCT = {'template': KEYS, 'meta_data': {'response_format': 'json'}, 'ground_truth': ACTION}


@pytest.mark.parametrize(
    ('subset', 'raw', 'answer', 'shown'),
    [
        ('review_str', {'ground_truth': {'answer': 'A', 'thought': 't'}}, 'A', 'A'),
        ('reason_str', {'ground_truth': ROUTE}, 'Find the way.', {'thought': 'Find the way.'}),
        ('retrieve_str', {'ground_truth': ROUTE}, 'Map.route', {'name': 'Map.route'}),
        ('understand_str', {'ground_truth': ROUTE}, "{'place': 'Rome'}", {'args': "{'place': 'Rome'}"}),
        ('reason_retrieve_understand_json', {'ground_truth': ROUTE}, json.dumps(ROUTE), ROUTE),
        ('instruct', INSTRUCT, '{"Why": "never compared", "Tool": "Map.route", "With": {"place": "Rome"}}', ACTION),
        # numbered otherwise, and without the end that does not count
        ('plan_json', PLAN, json.dumps([{**STEPS[0], 'id': 7}]), [{'name': 'a.b', 'args': "{'x': 1}"}]),
    ],
)
def test_what_is_read_from_a_right_answer_is_what_gold_shows(
    subset: str, raw: dict[str, Any], answer: str, shown: Any
) -> None:
    """The sample browser holds them against each other, argument by argument."""
    record = make_record(subset, {'template': '', **raw})
    detail = score_answer(record, as_answer(answer), Protocol('v1'), ExactSimilarity()).to_detail()
    assert (detail['reason'], detail['parsed'], detail['gold']) == ('ok', shown, shown)
    unread = score_answer(record, Answer('', 'infra:timeout'), Protocol('v1'), ExactSimilarity())
    assert (unread.parsed, unread.gold) == (None, shown)
