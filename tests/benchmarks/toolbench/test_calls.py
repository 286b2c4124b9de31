"""Calls checked against the documentation: error rates over calls, and answers without any."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.toolbench.data import Request, find_file, parse_request
from opencompass_tooleval.benchmarks.toolbench.prompts import calls_prompt, make_requests, open_tools
from opencompass_tooleval.benchmarks.toolbench.scoring import ToolBenchScorer, score_calls
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.results.variants import gains_of
from opencompass_tooleval.tool_docs.template import sample_value
from tests.benchmarks.hostile import HOSTILE
from tests.benchmarks.toolbench.support import DEMO
from tests.instructions.shared_data import real

METRICS = ('error_free_rate', 'tool_name_error_rate', 'parameter_error_rate')
SCORER = ToolBenchScorer('calls_g3')


def demo_requests(name: str = 'G3') -> list[Request]:
    return make_requests(open_tools(DEMO / find_file(name).file, name))


REQUEST = demo_requests()[0]
"""Harbour Tides, Stop Watch, and Verse Box with a blank behind its name."""

TIDE = {'tool': 'Harbour Tides', 'api': 'High Tide', 'parameters': {'harbour': 'Whitby', 'date': '2024-06-02'}}
STOPS = {'tool': 'Stop Watch', 'api': 'Stops Near', 'parameters': {'latitude': 54.49, 'longitude': -0.61}}
POEM = {'tool': 'Verse Box', 'api': 'Random Poem', 'parameters': {}}


def call(base: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    return {**base, 'parameters': {**base['parameters'], **parameters}}


@pytest.mark.parametrize(
    'answer',
    [
        json.dumps([TIDE, STOPS, POEM]),
        f'First {json.dumps([STOPS])}, or rather {json.dumps([TIDE])}',
        json.dumps([{'tool_name': 'Harbour Tides', 'api_name': 'Harbours'}]),
        json.dumps([{'tool': 'Harbour Tides', 'api': 'High Tide', 'arguments': TIDE['parameters']}]),
        json.dumps([call(STOPS, latitude='54.49')]),  # a number may be text: it is sent as such
        json.dumps([call(TIDE, metres=True), call(TIDE, metres='true'), call(TIDE, metres='false')]),
        [TIDE],
    ],
)
def test_without_errors(answer: Any) -> None:
    score = score_calls(REQUEST, answer)
    assert score.values == {'error_free_rate': 1.0, 'tool_name_error_rate': 0.0, 'parameter_error_rate': 0.0}
    assert score.reason == 'ok'
    assert score.calls and not any(call.codes for call in score.calls)


@pytest.mark.parametrize(
    ('wrong', 'code', 'name', 'parameter'),
    [
        ({**TIDE, 'tool': 'Harbor Tides'}, 'name:unknown_tool', 1, 0),
        ({**TIDE, 'api': 'Low Tide'}, 'name:unknown_api', 1, 0),
        ({**TIDE, 'tool': 'Coin Press', 'api': 'Convert'}, 'name:unknown_tool', 1, 0),  # not of this request
        ({'api': 'High Tide', 'parameters': {}}, 'name:missing', 1, 0),
        ('High Tide', 'name:missing', 1, 0),
        ({**TIDE, 'parameters': {'harbour': 'Whitby'}}, 'args:missing', 0, 1),
        (call(TIDE, wind=True), 'args:hallucinated_argument', 0, 1),
        (call(STOPS, latitude='north'), 'args:wrong_type', 0, 1),
        (call(TIDE, metres='yes'), 'args:wrong_type', 0, 1),
        (call(TIDE, harbour=None), 'args:wrong_type', 0, 1),
        ({**TIDE, 'parameters': ['Whitby']}, 'args:not_an_object', 0, 1),
        ({**TIDE, 'parameters': '{"harbour": "Whitby"}'}, 'args:not_an_object', 0, 1),
    ],
)
def test_an_error_counts_once_per_call(wrong: Any, code: str, name: int, parameter: int) -> None:
    score = score_calls(REQUEST, json.dumps([STOPS, wrong]))
    assert [score.values[metric] for metric in METRICS] == [0.0, name / 2, parameter / 2]
    assert score.reason == code
    assert [call.codes for call in score.calls] == [(), (code,)]


def test_calls_and_gold_have_one_shape() -> None:
    """Parameters have no gold answer: they are held against the documentation, call by call."""
    said = [{'tool_name': ' '.join(['Harbour ', ' Tides']), 'api_name': 'High Tide'}, {'api': 'x'}, 'High Tide']
    detail = score_calls(REQUEST, json.dumps(said)).to_detail()
    names = [list(pair) for pair in REQUEST.relevant]
    assert detail['gold'] == names
    assert detail['parsed'] == [['Harbour Tides', 'High Tide'], [None, 'x'], [None, None]]
    assert ['Harbour Tides', 'High Tide'] in names
    assert [step['call'] for step in detail['steps']] == said


def test_a_default_that_does_not_fit_its_own_type_may_be_repeated() -> None:
    """Vimeo's ``per_page`` in the published file is a NUMBER with a sentence as default."""
    requests = make_requests(open_tools(real('toolbench/G3_instruction.json'), 'G3'))
    request, signature = next((r, s) for r in requests for s in r.inventory if s.api == 'GetChannelVideos')
    parameter = next(p for p in signature.optional if p.name == 'per_page')
    needed = {one.name: sample_value(one) for one in signature.required}
    for value, wrong in ((parameter.default, False), ('many', True), ('20', False), (20, False)):
        said = {'tool': 'Vimeo', 'api': 'GetChannelVideos', 'parameters': {**needed, 'per_page': value}}
        assert bool(score_calls(request, json.dumps([said])).values['parameter_error_rate']) == wrong


@pytest.mark.parametrize(
    ('answer', 'reason'),
    [
        ('[]', 'call:none'),
        ('I need no tool for that.', 'call:none'),
        ('', 'answer:empty'),
        (Answer('', 'infra:server'), 'infra:server'),
        (json.dumps([POEM] * 101), 'parse:too_many_calls'),
    ],
)
def test_who_calls_nothing_makes_no_error_but_is_not_free_of_them(answer: str, reason: str) -> None:
    score = score_calls(REQUEST, answer)
    assert score.values == {'error_free_rate': 0.0, 'tool_name_error_rate': None, 'parameter_error_rate': None}
    assert (score.reason, score.calls, score.parse_method) == (reason, (), 'none')


def test_rates_are_over_all_calls() -> None:
    """One answer of four calls with one error and one of a single call with one: 2 of 5, not the mean of 1/4 and 1."""
    bad = {**TIDE, 'api': 'Low Tide'}
    answers = [json.dumps([TIDE, STOPS, POEM, bad]), json.dumps([bad]), 'no calls']
    scores = SCORER.score_records([replace(REQUEST, id=name) for name in 'abc'], answers)
    whole = SCORER.total(scores)
    assert whole.metrics == {'error_free_rate': 0.0, 'tool_name_error_rate': 40.0, 'parameter_error_rate': 0.0}
    assert whole.reasons == {'name:unknown_api': 2, 'call:none': 1}
    assert whole.standard_errors['tool_name_error_rate'] == pytest.approx(100 * 0.24, abs=1)
    said = SCORER.breakdown(scores)
    assert (said['calls'], said['without_calls'], said['codes']) == (5, 1, {'name:unknown_api': 2})
    assert said['relevant_called'] == pytest.approx(100 * 3 / 9)


def test_nobody_called_anything() -> None:
    """OpenCompass's summarizer stops where models differ in the metrics that have a number."""
    whole = SCORER.total(SCORER.score_records([REQUEST], ['-']))
    assert list(whole.metrics.values()) == [0.0] * 3 and set(whole.standard_errors.values()) == {None}


def test_variants_can_be_compared_with_an_interval() -> None:
    """The details of both say what every call scored, so that the summarizer finds the rates in them."""
    bad = json.dumps([TIDE, {**TIDE, 'api': 'Low Tide'}])
    results = []
    for answers in ([bad, bad], [json.dumps([TIDE]), bad]):
        scores = SCORER.score_records([REQUEST] * 2, answers)
        details = [{**score.to_detail(), 'id': str(row)} for row, score in enumerate(scores)]
        results.append({**SCORER.total(scores).metrics, 'details': details})
    compared = gains_of('calls', *results)
    assert [one.metric for one in compared] == list(METRICS)
    assert all(one.interval is not None and one.interval.pairs == 2 for one in compared)


@pytest.mark.parametrize('name', ['G2', 'G3'])
def test_the_oracle_makes_no_error(name: str) -> None:
    requests = make_requests(open_tools(real(f'toolbench/{find_file(name).file}'), name))
    assert [parse_request(request.to_payload()) for request in requests] == requests
    scores = SCORER.score_records(requests, [request.gold_answer for request in requests])
    whole = SCORER.total(scores)
    assert whole.metrics == {'error_free_rate': 100.0, 'tool_name_error_rate': 0.0, 'parameter_error_rate': 0.0}
    assert SCORER.breakdown(scores)['relevant_called'] == 100.0


def test_prompts_show_the_apis_of_the_request_and_no_others() -> None:
    file, instructions = DEMO / 'G2_category.json', DEMO / 'instructions.json'
    documented, instructed = open_tools(file, 'G2'), open_tools(file, 'G2', instructions)
    request = make_requests(documented)[0]
    assert make_requests(instructed)[0] == request
    before, after = (calls_prompt(of.callable(request), request.query) for of in (documented, instructed))
    for prompt in (before, after):
        assert request.query in prompt
        assert all(name in prompt for one in request.inventory for name in (one.tool, one.api))
        assert 'Stops Near' not in prompt  # an API of Stop Watch that this request does not have
        assert '"city"' in prompt and '"minutes"' not in prompt  # nor the shape of responses
    assert '"Example"' in after and '"Example"' not in before
    assert "'Rink Rates' has 2 APIs" in after  # whole tools keep their description; it would list others else
    assert "'Stop Watch' has" not in after


def test_hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in HOSTILE.values():
        score = score_calls(REQUEST, text)
        assert score.values['error_free_rate'] == 0.0
        assert score.reason.split(':')[0] in {'parse', 'answer', 'name', 'call'}
        json.dumps(score.to_detail(), allow_nan=False).encode('utf-8')
    assert not list(tmp_path.iterdir())


def test_numbers_that_no_float_holds_and_values_that_json_has_not() -> None:
    for latitude in (10**400, str(10**400)):
        score = score_calls(REQUEST, json.dumps([call(STOPS, latitude=latitude)]))
        assert score.calls[0].codes == ()
        json.dumps(score.to_detail(), allow_nan=False)
    score = score_calls(REQUEST, json.dumps([{**STOPS, 'parameters': {'latitude': float('nan'), 'height': 3}}]))
    assert score.values['parameter_error_rate'] == 1.0  # several faults are one error
    assert score.calls[0].codes == ('args:missing', 'args:hallucinated_argument', 'args:wrong_type')
    json.dumps(score.to_detail(), allow_nan=False)
