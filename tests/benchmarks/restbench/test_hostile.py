"""Answers that want to break the scorer: each gets an error code, and nothing is run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.scoring import score_answer
from tests.benchmarks.hostile import HOSTILE
from tests.benchmarks.restbench.support import make_record

RECORD = make_record(['GET /search/movie', 'GET /movie/{movie_id}'])


def test_hostile(capfd: pytest.CaptureFixture[str]) -> None:
    for name, text in HOSTILE.items():
        score = score_answer(RECORD, text)
        detail = json.dumps(score.to_detail(), allow_nan=False, ensure_ascii=False).encode('utf-8')
        assert score.values['correct_path_rate'] == 0.0
        assert score.reason.partition(':')[0] in {'parse', 'answer', 'name', 'calls'}, (name, score.reason)
        assert len(detail) < 2_000_000
    assert 'pwned' not in capfd.readouterr().out


@pytest.mark.parametrize('answer', [None, 5, {}, [None], [[['GET /search/movie']]], [float('nan')], b'GET /x'])
def test_answers_that_are_no_text(answer: Any) -> None:
    score = score_answer(RECORD, answer)
    assert score.reason.startswith('parse:')
    json.dumps(score.to_detail(), allow_nan=False)
