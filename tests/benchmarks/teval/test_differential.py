"""Sample by sample against OpenCompass's own T-Eval evaluators, with the same encoder."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from opencompass_tooleval.benchmarks.teval.data import Sample
from opencompass_tooleval.benchmarks.teval.prompts import gold_answer
from opencompass_tooleval.benchmarks.teval.reading import Protocol, postprocess_v1
from opencompass_tooleval.benchmarks.teval.scoring import score_answer, score_answers
from opencompass_tooleval.core.calls.answer import Answer, as_answer
from opencompass_tooleval.core.scoring.aggregate import aggregate
from opencompass_tooleval.core.scoring.noise import damage
from opencompass_tooleval.core.scoring.result import SampleScore
from tests.benchmarks.teval.support import (
    make_record,
    offline_similarity,
    raw_of,
    real_samples,
    reference,
    reference_sample,
    reference_values,
    repeats_a_step,
)
from tests.official import Recorder

TOLERANCE = 1e-6
V1 = Protocol('v1')
RELAXED = settings(derandomize=True, deadline=None, max_examples=30, suppress_health_check=list(HealthCheck))


def assert_same(score: SampleScore, expected: dict[str, float]) -> None:
    applicable = {metric: value for metric, value in score.values.items() if value is not None}
    assert set(applicable) == set(expected), score
    for metric, value in expected.items():
        assert abs(applicable[metric] - value) < TOLERANCE, (score, metric, value)


def noisy_answers(samples: list[Sample], noise: float) -> list[str]:
    """The gold answers, a share of them damaged, as OpenCompass would hand them to its evaluator."""
    answers = []
    for sample in samples:
        rng = Random(sample.record.id)
        gold = gold_answer(sample.record)
        answers.append(postprocess_v1(Answer(damage(gold, rng) if rng.random() < noise else gold)).text)
    return answers


def compare_real(kind: str, samples: list[Sample], noise: float) -> None:
    answers = noisy_answers(samples, noise)
    scores = score_answers(
        [sample.record for sample in samples], list(map(as_answer, answers)), V1, offline_similarity()
    )
    results = []
    for sample, answer, score in zip(samples, answers, scores, strict=True):
        if score.reason == 'plan:only_finish':
            with pytest.raises((RuntimeError, ValueError, IndexError)):  # the reference crashes here
                reference_values(kind, raw_of(sample), answer)
            results.append(dict(score.values))
            continue
        results.append(reference_values(kind, raw_of(sample), answer))
        assert_same(score, results[-1])
    total = aggregate(scores, samples[0].record.subset.metrics)
    for metric, mean in total.metrics.items():
        assert mean == pytest.approx(100 * np.mean([result[metric] for result in results]), abs=1e-4)


PLANS = ('plan_json', 'plan_str')
OF_PLANS = (
    'plans, sample by sample, beside the evaluator of OpenCompass',
    'a plan of nothing but its end is 0; that evaluator raises an error',
)


@pytest.mark.official('T-Eval', *OF_PLANS)
@pytest.mark.parametrize(
    ('subset', 'noise', 'is_whole'),
    [
        ('plan_json', 0.6, False),
        *(pytest.param(subset, noise, True, marks=pytest.mark.long) for subset in PLANS for noise in (0.0, 0.6)),
    ],
)
def test_real_plans(subset: str, noise: float, is_whole: bool, record_property: Recorder) -> None:
    samples = real_samples(subset)
    repeated = [sample for sample in samples if repeats_a_step(sample)]
    assert len(repeated) == 16
    compared = samples if is_whole else [*repeated[:6], *samples[:6]]
    record_property('cases', len(compared))
    compare_real('plan', compared, noise)


@pytest.mark.official('T-Eval', 'reviews, sample by sample, beside the evaluator of OpenCompass')
@pytest.mark.parametrize('noise', [0.0, 0.6])
def test_all_real_reviews(noise: float, record_property: Recorder) -> None:
    record_property('cases', len(real_samples('review_str')))
    compare_real('review', real_samples('review_str'), noise)


TEXT = st.text(st.characters(max_codepoint=0xFFFF, blacklist_categories=['Cs']), max_size=60)
NAMES = st.sampled_from(['Map.route', 'Map.get', 'Map.get_route', 'Weather.now', 'FinishAction', 'nothing'])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
WRAPPED = [
    '{}',
    '```json\n{}\n```',
    'Sure:\n```json\n{}\n```\nDone.',
    '```json```json\n{}',
    'I think {} is it',
    '{{{}}}',
]
WRAPPERS = st.sampled_from([*WRAPPED, '{} {}', '\n\n{}', "'{}'", '[{}]', '{}<|im_end|>more'])


def written(value: Any) -> st.SearchStrategy[str]:
    return st.sampled_from([json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value), str(value) + ','])


def answers_near(values: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    """Answers that hold such values, wrapped, cut, or not at all."""
    whole = st.builds(
        lambda text, wrapper: wrapper.replace('{}', text) if wrapper != '{{{}}}' else '{' + text + '}',
        values.flatmap(written),
        WRAPPERS,
    )
    cut = st.builds(lambda text, share: text[: int(len(text) * share)], whole, st.floats(0, 1))
    return whole | cut | TEXT | st.just('') | st.just('x' * 5000)


STEP = st.fixed_dictionaries(
    {'id': st.integers(-3, 9) | VALUES, 'name': NAMES | VALUES, 'args': st.just({'a': 1}) | VALUES}
)
GOOD_STEP = st.fixed_dictionaries(
    {'id': st.integers(0, 9), 'name': NAMES, 'args': st.sampled_from([{}, {'place': 'Rome'}, {'place': 'Oslo'}, 'x'])}
)
PLAN_RAW: dict[str, Any] = {
    'meta': {'prompt_type': 'json', 'API_list': ['Map.get', 'Map.get_route', 'Weather.now', 'Map.route']},
    'ground_truth': [
        {'id': 0, 'name': 'Map.route', 'args': {'place': 'Rome'}, 'prev': []},
        {'id': 1, 'name': 'Weather.now', 'args': {'place': 'Rome'}, 'prev': [0]},
        {'id': 2, 'name': 'Map.route', 'args': {'place': 'Oslo'}, 'prev': [1]},
        {'id': 3, 'name': 'FinishAction', 'args': {}, 'prev': [2]},
    ],
}


def compare_generated(kind: str, subset: str, raw: dict[str, Any], answer: str) -> None:
    score = score_answer(make_record(subset, raw), as_answer(answer), V1, offline_similarity())
    if score.reason == 'plan:only_finish':
        with pytest.raises((RuntimeError, ValueError, IndexError)):
            reference_values(kind, raw, answer)
        return
    assert_same(score, reference_values(kind, raw, answer))


GOLD_ARGS = {'place': 'Rome', 'days': 2, 'exact': True, 'note': '', 'tags': ['a', 'b'], 'none': None}
ARGS = st.one_of(
    st.just(GOLD_ARGS),
    st.dictionaries(st.sampled_from([*GOLD_ARGS, 'other']), st.sampled_from([*GOLD_ARGS.values(), 1, '2']) | VALUES),
    VALUES,
)
INSTRUCT_JSON = {
    'template': {'thought': 'goal', 'action': 'name', 'args': 'args'},
    'meta_data': {'response_format': 'json'},
    'ground_truth': {'action': 'Map.route', 'args': GOLD_ARGS},
}


PARTS = ('thought_start', 'thought_end', 'action_start', 'action_end', 'args_start', 'args_end')
MARKS = [
    dict(zip(PARTS, ('Thought: ', '\n', 'Action: ', '\n', 'Args: ', ''), strict=True)),
    dict(zip(PARTS, ('<think>', '</think>', '<call>', '</call>', '<args>', '</args>'), strict=True)),
    dict.fromkeys(PARTS, ''),
    dict.fromkeys(PARTS, ';'),
]


GOLDS = [
    {'thought': 'Find the way to Rome.', 'name': 'Map.route', 'args': GOLD_ARGS},
    {'thought': 'Everything is known, so finish.', 'name': 'FinishAction', 'args': {}},
]
GOLD_TEXTS = st.sampled_from([*GOLDS, json.dumps(GOLDS[0]), repr(GOLDS[1])])


def call_raw(gold: Any, answer_format: str) -> dict[str, Any]:
    return {'template': '', 'meta_data': {'response_format': answer_format}, 'ground_truth': gold}


EQUAL_ARGS = {'id': 7}
TOOLS = st.sampled_from(['Map.route', 'Map.get_route', 'Map.get', 'Weather.now'])
Case = tuple[str, str, dict[str, Any], str]


def cases(kind: str, subset: str, raws: st.SearchStrategy[Any], answers: st.SearchStrategy[str]) -> Any:
    return st.tuples(st.just(kind), st.just(subset), raws, answers)


def of_golds(kind: str, subset: str, answers: st.SearchStrategy[Any], answer_format: str = 'str') -> Any:
    """The same for a single call, whose gold is a dict or text."""
    return cases(kind, subset, GOLD_TEXTS.map(lambda gold: call_raw(gold, answer_format)), answers)


def equal_steps(names: list[str]) -> dict[str, Any]:
    """Gold steps with equal arguments, an API called twice: no two steps are equal, and still matchings tie."""
    steps = [{'id': i, 'name': name, 'args': EQUAL_ARGS, 'prev': []} for i, name in enumerate(names)]
    return {**PLAN_RAW, 'ground_truth': steps}


def as_plan(steps: list[tuple[str, dict[str, Any]]]) -> str:
    return json.dumps([{'id': i, 'name': name, 'args': str(args)} for i, (name, args) in enumerate(steps)])


def marked(marks: dict[str, str]) -> Any:
    """Answers with these marks around their parts, and pieces of such answers."""
    piece = st.sampled_from([*marks.values(), *marks.values(), 'Map.route', str(GOLD_ARGS), '{}', ' ']) | TEXT
    free = st.lists(piece, max_size=14).map(''.join)
    begin = f'{marks["thought_start"]}go{marks["thought_end"]}{marks["action_start"]} Map.route{marks["action_end"]}'
    args = ARGS.map(str) | ARGS.flatmap(written)
    whole = args.map(lambda text: f'{begin}{marks["args_start"]}{text}{marks["args_end"]}')
    raw = {**INSTRUCT_JSON, 'template': marks, 'meta_data': {'response_format': 'string'}}
    return cases('instruct', 'instruct', st.just(raw), free | whole | st.tuples(free, whole, free).map(''.join))


STEP_ARGS = st.sampled_from([EQUAL_ARGS, {'id': 8}, {'id': 12}, {}])
LINES = st.lists(st.tuples(TEXT, NAMES, TEXT).map(' '.join), max_size=6)
CALLS = st.fixed_dictionaries({}, optional={'thought': TEXT | VALUES, 'name': NAMES | VALUES, 'args': ARGS})
INSTRUCTED = st.fixed_dictionaries({}, optional={'goal': TEXT, 'name': NAMES | VALUES, 'args': ARGS})
SIMILAR = TEXT | st.sampled_from([str(GOLD_ARGS), json.dumps(GOLDS[0]), GOLDS[0]['thought']])
CHOSEN = st.lists(st.sampled_from(['Answer', ':', '：', ' ', 'A', 'B', 'Because', '\n', '(', '"']) | TEXT, max_size=6)
NAMED = st.lists(NAMES | TEXT | st.sampled_from(['.', ' ', '`', 'Map', 'a.b']), max_size=6).map(''.join)
GENERATED: dict[str, st.SearchStrategy[Case]] = {
    'plans whose weights add up the same': cases(
        'plan',
        'plan_json',
        st.lists(TOOLS, min_size=2, max_size=4).map(equal_steps),
        st.lists(st.tuples(TOOLS, STEP_ARGS), min_size=1, max_size=5).map(as_plan),
    ),
    'plans, json': cases(
        'plan',
        'plan_json',
        st.just(PLAN_RAW),
        answers_near(st.lists(GOOD_STEP, max_size=6) | st.lists(STEP, max_size=4) | VALUES),
    ),
    'plans, str': cases(
        'plan',
        'plan_str',
        st.just({**PLAN_RAW, 'meta': {**PLAN_RAW['meta'], 'prompt_type': 'str'}}),
        st.tuples(st.sampled_from(['\n', '. ', '.']), LINES).map(lambda drawn: drawn[0].join(drawn[1])),
    ),
    'instruct, json': cases('instruct', 'instruct', st.just(INSTRUCT_JSON), answers_near(INSTRUCTED | VALUES)),
    'instruct, string': st.sampled_from(MARKS).flatmap(marked),
    'calls': of_golds(
        'call', 'reason_retrieve_understand_json', answers_near(st.sampled_from(GOLDS) | CALLS | VALUES), 'json'
    ),
    'thoughts': of_golds('reason', 'reason_str', SIMILAR),
    'arguments': of_golds('understand', 'understand_str', SIMILAR),
    'names': of_golds('retrieve', 'retrieve_str', NAMED),
    'reviews': cases(
        'review',
        'review_str',
        st.sampled_from('ABCDE').map(lambda gold: call_raw({'answer': gold, 'thought': ''}, 'str')),
        CHOSEN.map(''.join),
    ),
}


@pytest.mark.parametrize('name', GENERATED)
def test_generated(name: str) -> None:
    slow = name.startswith('plans') or name in ('thoughts', 'arguments')

    @settings(RELAXED, max_examples=25 if slow else 60)
    @given(GENERATED[name])
    def compare(case: Case) -> None:
        compare_generated(*case)

    compare()


@RELAXED
@given(st.text(max_size=80) | st.sampled_from(['```json\n{"a": 1}```', '{{1}}', 'x\nuser: y', '[INST]', ' `a` ']))
def test_postprocessor_is_opencompass_one(text: str) -> None:
    from opencompass.datasets.teval import teval_postprocess

    assume('<think>' not in text and '</think>' not in text)
    assert postprocess_v1(Answer(text)).text == teval_postprocess(text)


def test_aggregate_of_instruct_is_the_reference_before_rounding() -> None:
    string = {**INSTRUCT_JSON, 'template': MARKS[0], 'meta_data': {'response_format': 'string'}}
    raws = [INSTRUCT_JSON, string, INSTRUCT_JSON]
    answers = [json.dumps({'goal': '', 'name': 'Map.route', 'args': {'place': 'Rome'}}), 'nonsense', '{}']
    scores = [
        score_answer(make_record('instruct', raw), as_answer(answer), V1)
        for raw, answer in zip(raws, answers, strict=True)
    ]
    evaluator = reference('instruct')
    results = [
        evaluator._evaluate(reference_sample('instruct', raw, answer))
        for raw, answer in zip(raws, answers, strict=True)
    ]
    total = aggregate(scores, make_record('instruct', INSTRUCT_JSON).subset.metrics)
    for metric, value in evaluator._post_process(results).items():
        assert value == pytest.approx(total.metrics[metric] / 100, abs=5e-5)  # it rounds to four digits
