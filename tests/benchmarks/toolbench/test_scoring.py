"""Candidate tools and their choice, calls checked against the documentation, and the judged success rate."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.toolbench.data import (
    Choice,
    FinalAnswer,
    Request,
    find_file,
    load_final_answers,
    parse_choice,
    parse_final_answer,
    parse_request,
)
from opencompass_tooleval.benchmarks.toolbench.prompts import (
    PUBLISHED_SELECTION,
    PUBLISHED_SYSTEM,
    SUCCESS,
    calls_prompt,
    choose,
    make_choices,
    make_requests,
    match_instructions,
    open_tools,
    published_selection,
    rank_others,
    selection_prompt,
)
from opencompass_tooleval.benchmarks.toolbench.scoring import (
    SuccessGrading,
    ToolBenchScorer,
    question_of,
    score_calls,
    score_choice,
)
from opencompass_tooleval.benchmarks.toolbench.task import (
    ToolEvalToolBenchDataset,
    ToolEvalToolBenchSuccessEvaluator,
    ToolEvalToolBenchTrajectories,
)
from opencompass_tooleval.core.calls.answer import Answer, as_answer, clean
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.text.jsonable import answer_digest
from opencompass_tooleval.judging.judge_item import prompt_hash
from opencompass_tooleval.judging.judgement import Judgement, Opinion, Unread
from opencompass_tooleval.judging.yes_no import read_reply
from opencompass_tooleval.results.variants import gains_of
from opencompass_tooleval.tool_docs.instruction_formats import dump_instructions
from opencompass_tooleval.tool_docs.template import sample_value, template_instruction
from tests.benchmarks.hostile import HOSTILE
from tests.benchmarks.support import digest, write_rows
from tests.benchmarks.toolbench.support import DEMO, Words, demo
from tests.instructions.shared_data import DATA, real
from tests.judging.support import Script, Scripted, away, evaluate, scripted

SIZES = (5, 10, 20, 50)


def choices(file: Path, size: int, seed: int = 0) -> list[Choice]:
    return make_choices(open_tools(file, 'G1'), size, seed, Words())


def test_those_most_like_the_request_come_first() -> None:
    tools = ['a', 'b', 'c', 'd']
    texts = ['red', 'red green', 'blue', 'red']
    assert rank_others(['red', 'blue sky'], ['b', 'a'], tools, texts, Words()) == [['a', 'd', 'c'], ['c', 'b', 'd']]


def test_sets_are_nested_and_the_same_each_time() -> None:
    file = real('toolbench/G1_instruction.json')
    by_size = {size: choices(file, size) for size in SIZES}
    assert all(len(made) == 163 for made in by_size.values())
    for smaller, larger in pairwise(SIZES):
        for few, many in zip(by_size[smaller], by_size[larger], strict=True):
            assert len(set(few.candidates)) == smaller
            assert set(few.candidates) < set(many.candidates)
            assert few.gold in few.candidates
    assert choices(file, 20) == by_size[20]
    other = choices(file, 20, seed=1)
    assert [sorted(choice.candidates) for choice in other] == [sorted(choice.candidates) for choice in by_size[20]]
    assert [choice.candidates for choice in other] != [choice.candidates for choice in by_size[20]]


def test_the_place_says_nothing_of_the_right_tool() -> None:
    others = [f'other {i}' for i in range(9)]
    places = [choose('gold', others, 5, f'0/{record}').index('gold') for record in range(1000)]
    assert all(150 < places.count(place) < 250 for place in range(5))


def test_too_few_tools() -> None:
    with pytest.raises(DataError, match=r'G1_instruction.json.*10 candidates need as many tools, but there are 7'):
        choices(DEMO / 'G1_instruction.json', 10)
    with pytest.raises(DataError, match='no request needs only a single tool'):
        make_choices(open_tools(DEMO / 'G2_category.json', 'G2'), 5, 0, Words())


def test_both_variants_ask_the_same_with_other_words() -> None:
    file, instructions = DEMO / 'G1_instruction.json', DEMO / 'instructions.json'
    documented, instructed = open_tools(file, 'G1'), open_tools(file, 'G1', instructions)
    assert make_choices(documented, 5, 0, Words()) == make_choices(instructed, 5, 0, Words())
    choice = choices(file, 5)[1]
    before, after = (
        selection_prompt(map(of.described, choice.candidates), choice.query) for of in (documented, instructed)
    )
    for prompt in (before, after):
        assert choice.query in prompt and '5 tools' in prompt
        assert all(f'{name}: ' in prompt or f'{name}\n' in prompt for name in choice.candidates)
    assert 'Rate limit' in before and 'Rate limit' not in after
    assert documented.provenance['tools'] == 'documentation'
    assert set(instructed.provenance) - set(documented.provenance) == {'instructions', 'instructions_sha256'}


def test_tools_without_instruction_are_listed(tmp_path: Path) -> None:
    entries = json.loads((DEMO / 'instructions.json').read_text(encoding='utf-8'))
    del entries[0]
    del entries[1]['tool_guidelines']['Convert']
    file = tmp_path / 'instructions.json'
    file.write_text(json.dumps(entries), encoding='utf-8')
    with pytest.raises(DataError, match=r'2 tools or APIs have no instruction: Harbour Tides, Coin Press: Conv.*FIX'):
        match_instructions(file, demo('G1').tools, 'FIX')


CHOICE = Choice('r', 'a request', 'Loaf Finder', ('Verse Box ', 'Loaf Finder', 'C++ Runner', '{"a": 1}', 'Coin  Press'))


@pytest.mark.parametrize(
    ('answer', 'parse_method'),
    [
        ('{"tool": "Loaf Finder"}', 'literal'),
        ("{'tool': 'Loaf Finder'}", 'literal'),
        ('{"tool": "Loaf Finder", "sure": true}', 'json'),
        ('[{"tool": " Loaf  Finder "}]', 'literal'),
        ('```json\n{"tool": "Loaf Finder"}\n```', 'fence'),
        ('Not {"tool": "Coin Press"}, but {"tool": "Loaf Finder"} since it bakes [sic].', 'prose'),
        ('**Loaf Finder**.', 'bare'),
        ('<think>{"tool": "Coin Press"}</think>{"tool": "Loaf Finder"}', 'literal'),
        ({'tool': 'Loaf Finder'}, 'value'),
    ],
)
def test_right(answer: Any, parse_method: str) -> None:
    score = score_choice(CHOICE, answer)
    assert score.values == {'accuracy': 1.0, 'tool_name_error_rate': 0.0}
    assert (score.reason, score.parse_method) == ('ok', parse_method)
    assert score.parsed == score.gold == 'Loaf Finder'


@pytest.mark.parametrize(
    ('answer', 'reason', 'unknown'),
    [
        ('{"tool": "Verse Box"}', 'name:wrong', 0.0),
        ('C++ Runner', 'name:wrong', 0.0),
        ('{"tool": "loaf finder"}', 'name:unknown_tool', 1.0),  # names are to be written exactly as they are shown
        ('{"tool": "Loaf Finder, Coin Press"}', 'name:unknown_tool', 1.0),
        ('["Loaf Finder", "Coin Press"]', 'parse:no_choice', 0.0),  # all of them is no choice
        ('I cannot help.', 'answer:refused', 0.0),
        ('{"tool": ""}', 'parse:no_choice', 0.0),
        ('', 'answer:empty', 0.0),
        ('<think>Loaf Finder', 'answer:truncated_reasoning', 0.0),
        (Answer('', 'infra:timeout'), 'infra:timeout', 0.0),
    ],
)
def test_wrong(answer: Any, reason: str, unknown: float) -> None:
    score = score_choice(CHOICE, answer)
    assert score.values == {'accuracy': 0.0, 'tool_name_error_rate': unknown}
    assert score.reason == reason


def test_the_oracle_is_always_right() -> None:
    made = choices(real('toolbench/G1_instruction.json'), 50)
    assert [parse_choice(choice.to_payload()) for choice in made] == made
    assert {score_choice(choice, choice.gold_answer).reason for choice in made} == {'ok'}


def test_hostile_choices() -> None:
    for text in HOSTILE.values():
        score = score_choice(CHOICE, text)
        assert score.values['accuracy'] == 0.0
        assert score.reason.split(':')[0] in {'parse', 'answer', 'name'}
        for scored in (score, score_choice(numbered(), text)):
            json.dumps(scored.to_detail(), allow_nan=False).encode('utf-8')


def numbered(**changes: Any) -> Choice:
    return Choice(**{'id': 'r', 'query': 'q', 'gold': 'B', 'candidates': ('A', 'B'), 'ids': (7, 12), **changes})


@pytest.mark.parametrize(
    ('answer', 'reason', 'parsed'),
    [
        ('{"ID": 12}', 'ok', 'B'),
        ('I take the second.\n\n  {"ID": 12}\n', 'ok', 'B'),
        ('{"ID": 7}', 'name:wrong', 'A'),
        ('{"ID": 99}', 'name:unknown_tool', 'ID 99'),
        ('{"ID": [12]}', 'name:unknown_tool', 'ID [12]'),
        ('{"id": 12}', 'id:missing', None),
        ('{"ID": 12}\n\nThis is it.', 'parse:not_json', None),
        ('```\n{"ID": 12}\n```', 'parse:not_json', None),
        ('{"ID": null}', 'parse:not_a_literal', None),
        ('', 'answer:empty', None),
        (Answer('', 'infra:timeout'), 'infra:timeout', None),
    ],
)
def test_choices_by_number(answer: str, reason: str, parsed: str | None) -> None:
    score = score_choice(numbered(), answer)
    assert (score.reason, score.parsed) == (reason, parsed)
    assert score.values == {
        'accuracy': float(reason == 'ok'),
        'tool_name_error_rate': float(reason == 'name:unknown_tool'),
    }


def test_the_prompt_by_number_is_the_published_one() -> None:
    """The digest is that of ``toolbench.choose_tool`` in ``expected/easytool/prompts.json``, both its messages."""
    filled = PUBLISHED_SELECTION.format(tools='{Too_list}', query='{question}')
    assert digest(f'{PUBLISHED_SYSTEM}\n{filled}') == '417769c72e234b2d'
    expected = DATA.parent / 'expected' / 'easytool' / 'prompts.json'
    if expected.exists():
        for script in ('toolbench', 'toolbench_retrieve'):
            system, human = json.loads(expected.read_text(encoding='utf-8'))[script]['choose_tool']
            assert (system, human.replace('{{', '{').replace('}}', '}')) == (PUBLISHED_SYSTEM, filled)
    text = published_selection([(7, 'Sells {bread}.'), (12, 'Bakes.')], 'Who?')[1].content
    assert 'Tool List:\nID: 7\nSells {bread}.\nID: 12\nBakes.\n\nPlease note' in text


def test_numbers_are_those_of_the_instructions_or_of_the_file(tmp_path: Path) -> None:
    data = DEMO / 'G1_instruction.json'
    documented = open_tools(data, 'G1')
    choice = documented.numbered(make_choices(documented, 5, 0, Words())[0])
    places = {name: place for place, name in enumerate(documented.data.tools, start=1)}
    assert list(choice.ids) == [places[name] for name in choice.candidates]
    assert parse_choice(choice.to_payload()) == choice
    assert score_choice(choice, choice.gold_answer).reason == 'ok'
    tools = [replace(template_instruction(doc), id=100 + n) for n, doc in enumerate(documented.data.tools.values())]
    (tmp_path / 'tools.json').write_text(dump_instructions(tools), encoding='utf-8')
    instructed = open_tools(data, 'G1', tmp_path / 'tools.json')
    again = instructed.numbered(make_choices(instructed, 5, 0, Words())[0])
    assert list(again.ids) == [99 + int(place) for place in choice.ids] and again.candidates == choice.candidates
    instruction = template_instruction(documented.data.tools[choice.gold])
    assert instructed.described_alone(choice.gold) == instruction.description


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
    answers = [Answer(json.dumps([TIDE, STOPS, POEM, bad])), Answer(json.dumps([bad])), Answer('no calls')]
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
    whole = SCORER.total(SCORER.score_records([REQUEST], [Answer('-')]))
    assert list(whole.metrics.values()) == [0.0] * 3 and set(whole.standard_errors.values()) == {None}


def test_variants_can_be_compared_with_an_interval() -> None:
    """The details of both say what every call scored, so that the summarizer finds the rates in them."""
    bad = json.dumps([TIDE, {**TIDE, 'api': 'Low Tide'}])
    results = []
    for answers in ([bad, bad], [json.dumps([TIDE]), bad]):
        scores = SCORER.score_records([REQUEST] * 2, list(map(Answer, answers)))
        details = [{**score.to_detail(), 'id': str(row)} for row, score in enumerate(scores)]
        results.append({**SCORER.total(scores).metrics, 'details': details})
    compared = gains_of('calls', *results)
    assert [one.metric for one in compared] == list(METRICS)
    assert all(one.interval is not None and one.interval.pairs == 2 for one in compared)


@pytest.mark.parametrize('name', ['G2', 'G3'])
def test_the_oracle_makes_no_error(name: str) -> None:
    requests = make_requests(open_tools(real(f'toolbench/{find_file(name).file}'), name))
    assert [parse_request(request.to_payload()) for request in requests] == requests
    scores = SCORER.score_records(requests, [Answer(request.gold_answer) for request in requests])
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


def test_hostile_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


__all__ = ['away', 'scripted']  # fixtures

PAPER = DATA.parent / 'papers' / 'easytool.md'


# The prompt


def test_the_prompt_is_the_papers_word_for_word() -> None:
    if not PAPER.is_file():
        pytest.skip('the paper is not in ../shared/papers beside the repository')
    printed = PAPER.read_text(encoding='utf-8').replace('```', '')
    assert ''.join(SUCCESS.split()) in ''.join(printed.split())


def test_what_is_filled_in_is_no_placeholder() -> None:
    prompt = question_of('1', 'What is {answer}?', '{question} %s {0} \\1').prompt
    assert prompt.endswith('question: What is {answer}?\nThis is the response: {question} %s {0} \\1\nOutput:')
    assert len(prompt_hash(SUCCESS)) == 12


# Replies


@pytest.mark.parametrize(
    ('reply', 'success', 'why'),
    [
        ('{"Reason": "It does.", "Choice": "Yes"}', True, 'It does.'),
        ("{'reason': 'x', 'choice': 'YES'}", True, 'x'),
        ('```json\n{"Reason": "x", "Choice": "no."}\n```', False, 'x'),
        ('Here you are: {"Reason": "x", "Choice": "Yes"} Bye.', True, 'x'),
        ('<think>{"Choice": "No"}</think>{"Reason": "x", "Choice": "Yes"}', True, 'x'),
        ('YES', True, ''),
        ('{"Reason": "It "is" done.", "Choice": "Yes"}', True, 'It "is" done.'),  # quotes that are not escaped
        ('{"Reason": "cut off, "Choice": "No"', False, 'cut off'),
        ('{"Reason": "The text says \\"Choice\\": \\"No\\".", "Choice": "Yes"}', True, 'The text says "Choice": "No".'),
    ],
)
def test_replies(reply: str, success: bool, why: str) -> None:
    assert read_reply(reply) == Opinion('yes' if success else 'no', 'success', why)


@pytest.mark.parametrize(
    'reply',
    [
        '',
        'I am not sure.',
        '{"Reason": "x", "Choice": "Maybe"}',
        '{"Reason": "x", "Choice": "Yes or No"}',
        '{"Reason": "broken " quotes, "Choice": "Yes"} {"Choice": "No"}',
        '<think>{"Choice": "Yes"}',
        'Yes, since the answer is no good',
    ],
)
def test_what_says_neither_is_never_a_no(reply: str) -> None:
    assert isinstance(read_reply(reply), Unread)


def test_hostile_replies() -> None:
    assert {type(read_reply(text)) for text in HOSTILE.values()} == {Unread}


# Trajectories


def test_every_shape_of_trajectories_is_read(tmp_path: Path) -> None:
    expected = [FinalAnswer('7', 'When?', 'Now.'), FinalAnswer('8', 'Where?', '')]
    asked = {'7': {'query': 'When?', 'final_answer': 'Now.'}, '8': {'query': 'Where?', 'final_answer': ''}}
    queries = {key: row['query'] for key, row in asked.items()}
    shapes: dict[str, Any] = {
        'list': [{'id': 7, **asked['7']}, {'id': 8, 'question': 'Where?', 'answer': ''}],
        'toolbench': {key: {'query': row['query'], 'answer': row} for key, row in asked.items()},
        'answer_generation': {key: {'answer_generation': row} for key, row in asked.items()},
        'opencompass': {
            key: {'prediction': row['final_answer'], 'record_id': key, 'infra': None} for key, row in asked.items()
        },
    }
    for name, content in shapes.items():
        file = tmp_path / f'{name}.json'
        file.write_text(json.dumps(content), encoding='utf-8')
        assert load_final_answers(file, queries) == expected, name
    lines = write_rows(tmp_path / 'lines.jsonl', shapes['list'])
    assert load_final_answers(lines) == expected
    one = write_rows(tmp_path / 'one.jsonl', shapes['list'][:1])
    assert load_final_answers(one) == expected[:1]
    assert [parse_final_answer(one.to_payload()) for one in expected] == expected


@pytest.mark.parametrize(
    ('rows', 'message'),
    [
        ([{'id': 1, 'answer': 'x'}], "record '1': the trajectory has no 'query'"),
        ([{'id': 1, 'query': 'q'}], "record '1': the trajectory has no text in 'final_answer'"),
        ([{'id': 1, 'query': 'q', 'answer': 'x', 'infra': 'late'}], "record '1': 'infra'"),
        ([{'id': 1, 'query': 'q', 'answer': 'x'}] * 2, "record '1': two trajectories"),
        ([3, 4], "record '0': the trajectory is not an object"),
        ([], 'contains no trajectories'),
    ],
)
def test_damaged_trajectories_are_named(rows: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message) as caught:
        load_final_answers(write_rows(tmp_path / 'f.jsonl', rows))
    assert 'f.jsonl' in str(caught.value)


# Judgements and scores


def said(record_id: str, success: bool, why: str = '', digest: str = '') -> Judgement[Opinion]:
    found = Opinion('yes' if success else 'no', 'success', why)
    return Judgement(record_id, found=found, answer_digest=digest)


def test_scores_and_their_reasons() -> None:
    one = FinalAnswer('1', 'q', 'a')

    def scored(answer: Answer | str, judgement: Judgement | None) -> tuple[float | None, str]:
        score = SuccessGrading([], []).score_answer(one, as_answer(answer), [judgement] if judgement else [])
        return score.values['success_rate'], score.reason

    yes, no = said('1', True, 'w'), said('1', False)
    assert scored('a', yes) == (1.0, 'ok')
    assert scored('a', no) == (0.0, 'judge:no')
    assert scored('a', Judgement('1', status='unjudged')) == (None, 'judge:unjudged')
    assert scored('a', None) == (None, 'judge:unjudged')
    assert scored(' ', None) == (0.0, 'answer:empty')
    assert scored('x' * 200_001, yes) == (0.0, 'answer:too_long')
    assert scored(Answer('', 'infra:timeout'), None) == (0.0, 'infra:timeout')
    assert scored(clean(Answer('<think>never ends')), None) == (0.0, 'answer:truncated_reasoning')
    detail = SuccessGrading([], []).score_answer(one, Answer('a'), [yes]).to_detail()
    assert (detail['parsed'], detail['gold'], detail['why']) == ('a', None, 'w')  # the request is no gold answer


def test_judgements_survive_a_file(tmp_path: Path) -> None:
    trajectories = [FinalAnswer(str(i), 'q', '' if i == 1 else 'a') for i in range(150)]
    answers = [Answer(one.answer) for one in trajectories]
    judgements = [said(str(i), i % 3 == 0, f'why {i}', answer_digest('a')) for i in range(2, 150)]
    grading = SuccessGrading(trajectories, answers)
    asked = [judgement for judgement, _ in grading.items]
    rows = grading.rows([asked[0].with_verdict(Unread('no_judgement')), asked[1], *judgements])
    loaded = SuccessGrading((), ()).read(write_rows(tmp_path / 'judgements.jsonl', rows))
    assert [judgement.status for judgement in loaded[:3]] == ['unjudged', 'missing', 'judged']
    assert loaded[2:] == judgements
    assert grading.check(grading.score(loaded)) == grading.score(judgements)


def test_reasons_are_bounded_text(tmp_path: Path) -> None:
    verdict = read_reply(json.dumps({'Reason': 'x' * 100_000, 'Choice': 'Yes'}))
    assert isinstance(verdict, Opinion) and len(verdict.why) == 4_000 and verdict.why.endswith('x…')
    reply = '{"Reason": {"tone": ["ok", 1]}, "Choice": "No"}'
    assert read_reply(reply) == Opinion('no', 'success', '{"tone": ["ok", 1]}')
    file = write_rows(
        tmp_path / 'own.jsonl', [{'id': '1', 'success': True}, {'id': '2', 'success': False, 'why': 'x' * 5_000}]
    )
    assert [len(judgement.found.why) for judgement in SuccessGrading((), ()).read(file)] == [0, 4_000]


@pytest.mark.parametrize(
    ('rows', 'message'),
    [
        ([{'id': '1', 'status': 'perhaps', 'success': True}], "'status'"),
        ([{'id': '1', 'success': 1}], "'success' must be"),
        ([{'id': '1', 'status': 'unjudged', 'success': True}], "'success' must be"),
        ([{'id': '1', 'success': True}] * 2, 'judged twice'),
    ],
)
def test_damaged_judgements_are_named(rows: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=f"f.jsonl: record '1': .*{message}"):
        SuccessGrading((), ()).read(write_rows(tmp_path / 'f.jsonl', rows))


def test_judgements_may_be_replies_and_content_in_parts_is_its_text(tmp_path: Path) -> None:
    parts = [{'type': 'text', 'text': 'It is '}, {'type': 'text', 'text': '7.'}]
    file = write_rows(tmp_path / 'f.jsonl', [{'id': '1', 'query': 'q', 'final_answer': parts}])
    assert [trajectory.answer for trajectory in load_final_answers(file)] == ['It is 7.']
    rows = [{'id': '1', 'reply': '{"Reason": "r", "Choice": "Yes"}'}, {'id': '2', 'reply': 'hm'}]
    unread = Judgement('2', status='unjudged', fault='unread')
    assert SuccessGrading((), ()).read(write_rows(file, rows)) == [said('1', True, 'r'), unread]
    reply = [{'type': 'text', 'text': '{"Choice": '}, {'type': 'text', 'text': '"Yes"}'}]
    assert SuccessGrading((), ()).read(write_rows(file, [{'id': '1', 'reply': reply}])) == [said('1', True)]
    with pytest.raises(DataError, match=r"f.jsonl: record '1': .*part of type 'audio'"):
        SuccessGrading((), ()).read(write_rows(file, [{'id': '1', 'reply': [*reply, {'type': 'audio'}]}]))


def test_a_failure_that_is_stored_is_one(scripted: Script, tmp_path: Path) -> None:
    rows = [{'id': f'r{i}', 'query': 'q', 'final_answer': '' if i else 'a'} for i in range(2)]
    rows[1]['infra'] = 'infra:timeout'
    dataset = ToolEvalToolBenchTrajectories.load(str(write_rows(tmp_path / 'stored.jsonl', rows)))
    evaluator = ToolEvalToolBenchSuccessEvaluator(judge_cfg=scripted(lambda *_: '{"Reason": "r", "Choice": "Yes"}'))
    result = evaluate(evaluator, dataset, list(dataset['gold_answer']))
    assert result['reasons'] == {'ok': 1, 'infra:timeout': 1}
    assert result['samples'] == {'all': 2, 'infra': 1}
    assert Scripted.asked == ['r0']


def test_without_a_judge_it_says_what_to_set() -> None:
    with pytest.raises(ValueError, match=r'the success rate needs a judge: .*OC_JUDGE_MODEL'):
        ToolEvalToolBenchSuccessEvaluator()


def test_trajectories_without_requests_take_them_from_a_test_file(tmp_path: Path) -> None:
    file = write_rows(tmp_path / 'p.jsonl', [{'record_id': '201', 'prediction': 'At ten.'}])
    (row,) = ToolEvalToolBenchTrajectories.load(str(file), data=str(DEMO / 'G2_category.json'))
    assert 'skating in Leeds' in row['messages']


def test_calls_look_for_no_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TOOLEVAL_ENCODER', str(tmp_path / 'none'))
    assert len(ToolEvalToolBenchDataset.load(str(DEMO), 'calls_g2')) == 3
    with pytest.raises(ValueError, match='ToolEvalToolBenchTrajectories'):
        ToolEvalToolBenchDataset.load(str(DEMO), 'success')
