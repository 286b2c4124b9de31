"""Answers that want to break the scorer: each gets an error code, and nothing is run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.scoring import score_answer
from tests.benchmarks.restbench.support import make_record

RECORD = make_record(['GET /search/movie', 'GET /movie/{movie_id}'])
STEP = '"GET /search/movie", '

HOSTILE: dict[str, str] = {
    'code': '["GET /search/movie", __import__("os").system("echo pwned")]',
    'code_alone': '__import__("os").system("echo pwned")',
    'power': '[9**9**9**9]',
    'huge_number': '[0x' + 'f' * 100_000 + ']',
    'a_megabyte': 'GET /search/movie\n' * 60_000,
    'nested_1e5': '[' * 100_000 + ']' * 100_000,
    'opened_1e5': '[' * 100_000,
    'deep_lists': '[' + ('[' * 90 + ']' * 90 + ',') * 500 + ']',
    'braces': '{"a":' * 30_000,
    'many_lists': '["GET /x"] ' * 18_000,
    'many_lists_cut': '["GET /x", ' * 18_000,
    'many_steps': f'[{STEP * 9_000}]',
    'many_lines': 'GET /search/movie\n' * 11_000,
    'many_arrows': 'GET /a -> ' * 19_000,
    'arrows_alone': '->' * 90_000,
    'one_long_step': '["GET /' + 'a/' * 90_000 + '"]',
    'blanks': ' ' * 150_000 + 'x',
    'bullets': '- ' * 90_000,
    'numbers': '1. ' * 60_000,
    'quotes': '["' + "'" * 150_000,
    'fences': '```' * 60_000,
    'thoughts': '<think>' * 25_000,
    'nul': '["GET /search/movie\x00", "\x00"]',
    'surrogates': '["GET /\udc80\ud800"]',
    'escaped_surrogates': r'["GET /\ud800", "GET /movie/\udfff"]',
    'nan': '[NaN, Infinity, -Infinity]',
    'format': '["GET /{0.__class__.__mro__}", "GET /movie/{movie_id!r}"]',
}


def test_hostile(capfd: pytest.CaptureFixture[str]) -> None:
    for name, text in HOSTILE.items():
        score = score_answer(RECORD, text)
        detail = json.dumps(score.to_detail(), allow_nan=False, ensure_ascii=False).encode('utf-8')
        assert score.values['correct_path_rate'] == 0.0
        assert score.reason.partition(':')[0] in {'parse', 'answer', 'name', 'path'}, (name, score.reason)
        assert len(detail) < 2_000_000
    assert 'pwned' not in capfd.readouterr().out


@pytest.mark.parametrize('answer', [None, 5, {}, [None], [[['GET /search/movie']]], [float('nan')], b'GET /x'])
def test_answers_that_are_no_text(answer: Any) -> None:
    score = score_answer(RECORD, answer)
    assert score.reason.startswith('parse:')
    json.dumps(score.to_detail(), allow_nan=False)
