"""Answers that want to break the scorer: each is scored, without an exception (``test_hostile_readers.py``: fast)."""

from __future__ import annotations

import json
from itertools import cycle

import pytest

from opencompass_tooleval.benchmarks.teval.data import Record
from opencompass_tooleval.benchmarks.teval.reading import POSTPROCESSORS, PROTOCOLS, SCORINGS, Protocol
from opencompass_tooleval.benchmarks.teval.scoring import score_answers
from opencompass_tooleval.core.calls.answer import as_answer
from opencompass_tooleval.core.scoring.scorer import ExactSimilarity
from tests.benchmarks.hostile import HOSTILE
from tests.benchmarks.teval.support import make_record, offline_similarity
from tests.benchmarks.teval.test_differential import GOLDS, INSTRUCT_JSON, MARKS, PLAN_RAW, call_raw

STRING = {**INSTRUCT_JSON, 'template': MARKS[0], 'meta_data': {'response_format': 'string'}}
EMPTY_MARKS = {**STRING, 'template': MARKS[2]}
RECORDS: dict[str, Record] = {
    'instruct_json': make_record('instruct', INSTRUCT_JSON),
    'instruct_string': make_record('instruct', STRING),
    'instruct_no_marks': make_record('instruct', EMPTY_MARKS),
    'plan_json': make_record('plan_json', PLAN_RAW),
    'plan_str': make_record('plan_str', {**PLAN_RAW, 'meta': {**PLAN_RAW['meta'], 'prompt_type': 'str'}}),
    'reason_str': make_record('reason_str', call_raw(GOLDS[0], 'str')),
    'retrieve_str': make_record('retrieve_str', call_raw(GOLDS[0], 'str')),
    'understand_str': make_record('understand_str', call_raw(GOLDS[0], 'str')),
    'call': make_record('reason_retrieve_understand_json', call_raw(GOLDS[0], 'json')),
    'review_str': make_record('review_str', {'template': '', 'ground_truth': {'answer': 'A', 'thought': ''}}),
}


@pytest.mark.parametrize('kind', RECORDS)
def test_hostile_answers_are_scored(kind: str, capfd: pytest.CaptureFixture[str]) -> None:
    record = RECORDS[kind]
    for (name, text), protocol in zip(HOSTILE.items(), cycle(PROTOCOLS), strict=False):
        for scoring in SCORINGS:
            answer = POSTPROCESSORS[protocol](as_answer(text))
            (score,) = score_answers([record], [answer], Protocol(protocol, scoring), ExactSimilarity())
            detail = score.to_detail()
            assert set(detail['values']) == set(record.subset.metrics)
            assert all(value is None or 0 <= value <= 1 for value in detail['values'].values())
            assert detail['reason'], name
            assert json.loads(json.dumps(detail, allow_nan=False, ensure_ascii=False).encode('utf-8')) == detail
    assert 'pwned' not in capfd.readouterr().out


def test_hostile_answers_reach_the_real_encoder() -> None:
    record = RECORDS['call']
    answers = [HOSTILE[name] for name in ('surrogates', 'nul', 'nan_in_an_object', 'sets_in_an_object', 'deep_args')]
    scores = score_answers([record] * len(answers), list(map(as_answer, answers)), Protocol('v1'), offline_similarity())
    assert [score.parse_method for score in scores] == ['json', 'none', 'json', 'literal', 'none']
