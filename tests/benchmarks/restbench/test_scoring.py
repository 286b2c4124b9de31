"""Golden cases of scoring, written from the metrics' definitions, and aggregates."""

from __future__ import annotations

import json
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.restbench.data import TABLE, gold_answer
from opencompass_tooleval.benchmarks.restbench.scoring import breakdown, score_answer, score_answers
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.aggregate import aggregate
from tests.benchmarks.hostile import HOSTILE
from tests.benchmarks.restbench.support import loaded, make_record
from tests.benchmarks.support import cases

SCORING = cases('restbench_scoring')
SEARCH, MOVIE = 'GET /search/movie', 'GET /movie/{movie_id}'


@pytest.mark.parametrize('case', SCORING, ids=lambda case: case['source'])
def test_golden(case: dict[str, Any]) -> None:
    record = make_record(case['solution'], case.get('repaired'), case.get('gold', 'official'))
    score = score_answer(record, case['answer'])
    assert score.values == case['values']
    assert score.reason == case['reason']
    assert score.gold == list(record.path)
    json.dumps(score.to_detail(), allow_nan=False)


def test_details_say_what_was_read_and_how() -> None:
    score = score_answer(make_record([SEARCH, MOVIE]), '1. get /search/movie?query=x\n2. GET /film/5\n3. GET /movie/7')
    detail = score.to_detail()
    assert detail['as_written'] == ['get /search/movie?query=x', 'GET /film/5', 'GET /movie/7']
    assert detail['parsed'] == [SEARCH, 'GET /film/5', MOVIE]
    assert detail['unknown_tools'] == ['GET /film/5']
    assert detail['rules'] == ['method_case', 'query']
    assert detail['parse_method'] == 'lines'
    assert detail['gold'] == [SEARCH, MOVIE]


def test_totals() -> None:
    records = [make_record([SEARCH, MOVIE]), make_record([SEARCH]), make_record([SEARCH])]
    answers = [f'["{SEARCH}", "GET /movie/5"]', '["GET /search/film"]', Answer('', 'infra:timeout')]
    scores = score_answers(records, answers)
    total = aggregate(scores, TABLE[0].metrics)
    assert list(total.metrics.values()) == pytest.approx([100 / 3, 100 / 3])
    assert total.reasons == {'infra:timeout': 1, 'name:unknown_tool': 1, 'ok': 1}
    assert total.infra == 1
    assert breakdown(scores) == {
        'steps': {'gold': 4, 'answered': 3},
        'exact_paths': 1,
        'unknown_tools': 1,
        'parse_methods': {'literal': 2, 'none': 1},
        'rules': {},
        'lengths': {
            '1': {'samples': 2, 'correct_path_rate': 0.0},
            '2': {'samples': 1, 'correct_path_rate': 100.0},
        },
    }


def test_there_is_one_answer_per_record() -> None:
    with pytest.raises(ValueError, match='1 records, but 2 answers'):
        score_answers([make_record([SEARCH])], ['[]', '[]'])


@pytest.mark.parametrize('gold', ['official', 'repaired'])
@pytest.mark.parametrize('name', ['tmdb', 'spotify'])
def test_on_the_real_records(name: str, gold: str) -> None:
    records, errata = loaded(name, gold)
    metrics = TABLE[0].metrics

    def rates(answers: list[str]) -> tuple[float | None, ...]:
        return tuple(aggregate(score_answers(records, answers), metrics).metrics.values())

    unlisted = sum(erratum.kind == 'unlisted' for erratum in errata) if gold == 'official' else 0
    assert rates([gold_answer(record.path) for record in records]) == (100.0, 100 * unlisted / len(records))
    concrete = [gold_answer([step.replace('{', '').replace('}', '7') for step in r.repaired]) for r in records]
    faulty = len({erratum.record for erratum in errata}) if gold == 'official' else 0
    assert rates(concrete) == (pytest.approx(100 * (1 - faulty / len(records))), 0.0)
    for place in (0, -1):
        shorter = [[step for step in record.path if step != record.path[place]] for record in records]
        assert rates([gold_answer(path) for path in shorter])[0] == 0.0
    turned = [record for record in records if list(record.path) != list(record.path)[::-1]]
    backwards = [score_answer(record, gold_answer(record.path[::-1])) for record in turned]
    assert not any(score.values['correct_path_rate'] for score in backwards)
    published = rates([gold_answer(record.published) for record in records])
    lost = 100 / 57 if name == 'spotify' else 0
    assert gold == 'official' or published == (pytest.approx(100 - lost), pytest.approx(lost))
    padded = [gold_answer([*record.tools[:20], *record.path, *record.tools[:20]]) for record in records]
    assert rates(padded)[0] == 100.0


def test_hostile(capfd: pytest.CaptureFixture[str]) -> None:
    for name, text in HOSTILE.items():
        score = score_answer(make_record([SEARCH, MOVIE]), text)
        detail = json.dumps(score.to_detail(), allow_nan=False, ensure_ascii=False).encode('utf-8')
        assert score.values['correct_path_rate'] == 0.0
        assert score.reason.partition(':')[0] in {'parse', 'answer', 'name', 'calls'}, (name, score.reason)
        assert len(detail) < 2_000_000
    assert 'pwned' not in capfd.readouterr().out


@pytest.mark.parametrize('answer', [None, 5, {}, [None], [[['GET /search/movie']]], [float('nan')], b'GET /x'])
def test_answers_that_are_no_text(answer: Any) -> None:
    score = score_answer(make_record([SEARCH, MOVIE]), answer)
    assert score.reason.startswith('parse:')
    json.dumps(score.to_detail(), allow_nan=False)
