"""T-Eval with native calls: the demo records and, if they exist, the real APIs; by hand-computed scores."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from opencompass_tooleval.benchmarks.teval.data import Sample, load_samples, native_subset, parse_payload
from opencompass_tooleval.benchmarks.teval.prompts import (
    INSTRUCT_SYSTEM,
    NEXT_CALL_SYSTEM,
    NativeSample,
    native_sample,
    tool_schema,
)
from opencompass_tooleval.benchmarks.teval.reading import Protocol
from opencompass_tooleval.benchmarks.teval.scoring import score_native_answers
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.one_call import keeps_to
from opencompass_tooleval.core.calls.tool_calls import ToolCall, read_answer
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.core.scoring.scorer import ExactSimilarity
from opencompass_tooleval.tool_docs.api_list import find_api_list
from tests.cli.conftest import Command, tooleval

__all__ = ['tooleval']  # a fixture

ROOT = Path(__file__).resolve().parents[3]
DEMO, SHARED = ROOT / 'opencompass_tooleval' / 'demo', ROOT.parent / 'shared'
INSTRUCT, STEP = 'instruct', 'reason_retrieve_understand_json'
LIST_OPEN = ToolCall('MuseumGuide.list_open', {'city': 'Ghent', 'date': '2025-04-12', 'limit': 3})
RETURNS = '\nReturns: '
THOUGHT = 'First I have to know which museums in Ghent are open on 12 April 2025.'


def demo_samples(subset: str, language: str = 'EN') -> list[Sample]:
    suffix = '_zh' if language == 'ZH' else ''
    return list(load_samples(DEMO / 'teval' / language / f'{subset}_v2{suffix}.json', subset))


def demo(subset: str, language: str = 'EN') -> list[NativeSample]:
    return [native_sample(sample, language) for sample in demo_samples(subset, language)]


def score(subset: str, answer: Answer, number: int = 0) -> SampleScore:
    record = parse_payload(demo(subset)[number].payload, subset, native=True)
    return score_native_answers([record], [answer], Protocol('v2'), ExactSimilarity())[0]


def called(**arguments: Any) -> Answer:
    return Answer('', calls=(ToolCall(LIST_OPEN.name, {'date': '2025-04-12', **arguments}),))


@pytest.mark.parametrize('language', ['EN', 'ZH'])
@pytest.mark.parametrize('subset', [INSTRUCT, STEP])
def test_gold_calls_are_right(subset: str, language: str) -> None:
    for sample in demo(subset, language):
        content, calls = read_answer(sample.gold_answer)
        record = parse_payload(sample.payload, subset, native=True)
        (scored,) = score_native_answers([record], [Answer(content, calls=calls)], Protocol('v1'), ExactSimilarity())
        assert scored.reason == 'ok' and set(scored.values) == set(native_subset(subset).metrics)
        assert set(scored.values.values()) == {1.0}


def test_what_is_asked_is_the_request_and_the_steps_so_far_as_calls() -> None:
    instruct, first, second = demo(INSTRUCT)[0], demo(STEP)[0], demo(STEP)[1]
    assert [message.role for message in instruct.messages] == ['system', 'user']
    assert instruct.messages[0].content == INSTRUCT_SYSTEM['EN']
    (tool,) = instruct.tools.tools
    types = {name: part['type'] for name, part in tool.parameters['properties'].items()}
    assert (tool.name, types) == (LIST_OPEN.name, {'city': 'string', 'date': 'string', 'limit': 'number'})
    assert tool.parameters['required'] == ['city', 'date']
    assert first.messages[0].content == NEXT_CALL_SYSTEM['EN'] and len(first.messages) == 2
    assert first.tools.tools[-1].name == 'FinishAction' and first.tools.parallel is False
    call = ToolCall(LIST_OPEN.name, LIST_OPEN.arguments, 'call_0')
    assert second.messages[2] == Message('assistant', THOUGHT, (call,))
    assert (second.messages[3].role, second.messages[3].call_id) == ('tool', 'call_0')
    assert second.messages[3].content.startswith('{"museums"')
    assert len(second.messages) == 4


@pytest.mark.parametrize('language', ['EN', 'ZH'])
@pytest.mark.parametrize('subset', [INSTRUCT, STEP])
def test_tools_say_what_the_prompt_says_that_they_return(subset: str, language: str) -> None:
    returned = [
        {api['name']: api['return_data'] for api in span.apis if api.get('return_data')}
        for sample in demo_samples(subset, language)
        if (span := find_api_list(sample.messages[0].content))
    ]
    offered = [
        {tool.name: json.loads(text) for tool in sample.tools.tools if (text := tool.description.partition(RETURNS)[2])}
        for sample in demo(subset, language)
    ]
    assert offered == returned and any(returned)


@pytest.mark.parametrize(
    ('answer', 'values', 'reason'),
    [
        (Answer('', calls=(LIST_OPEN,)), (1, 1), 'ok'),
        (Answer('MuseumGuide.list_open(city="Ghent")'), (0, 0), 'call:none'),
        (Answer('<think>I wonder'), (0, 0), 'answer:truncated_reasoning'),
        (Answer('', 'infra:timeout'), (0, 0), 'infra:timeout'),
        (Answer('', calls=(LIST_OPEN, LIST_OPEN)), (0, 1), 'call:several'),
        (Answer('', calls=(ToolCall('MuseumGuide.list', LIST_OPEN.arguments),)), (0, 0.75), 'name:unknown_tool'),
        (Answer('', calls=(ToolCall(LIST_OPEN.name, '{"city": "Gh'),)), (0, 0.25), 'args:not_an_object'),
        (called(city=7, limit=3), (1, 0.75), 'call:schema'),
        (called(city='Gent', limit=3), (1, 0.75), 'args:wrong'),
    ],
)  # fmt: skip
def test_instruct_by_hand(answer: Answer, values: tuple[float, float], reason: str) -> None:
    scored = score(INSTRUCT, answer)
    assert (tuple(scored.values.values()), scored.reason) == (values, reason)


@pytest.mark.parametrize(
    ('answer', 'values', 'reason'),
    [
        (Answer(THOUGHT, calls=(LIST_OPEN,)), (1, 1, 1 / (1 + 1e-5 / 3), 1), 'ok'),
        (Answer(f'<think>hm</think>{THOUGHT}', calls=(LIST_OPEN,)), (1, 1, 1 / (1 + 1e-5 / 3), 1), 'ok'),
        (Answer('', calls=(LIST_OPEN,)), (0, 1, 1 / (1 + 1e-5 / 3), 1), 'thought:differs'),
        (Answer(THOUGHT), (0, 0, 0, 0), 'call:none'),
        (Answer(THOUGHT, calls=(ToolCall('FinishAction', {}),)), (1, 0, 0, 1), 'name:wrong'),
        (Answer(THOUGHT, calls=(ToolCall('finish', {}), LIST_OPEN)), (1, 0, 0, 0), 'call:several'),
    ],
)
def test_a_step_by_hand(answer: Answer, values: tuple[float, ...], reason: str) -> None:
    scored = score(STEP, answer)
    assert tuple(scored.values.values()) == pytest.approx(values)
    assert scored.reason == reason


def test_arguments_that_are_no_json_are_not_right_where_none_are_asked_for() -> None:
    record_id, raw, *_ = json.loads(demo(STEP)[0].payload)
    gold = {'thought': '', 'name': 'FinishAction', 'args': {}}
    record = parse_payload(json.dumps([record_id, {**raw, 'ground_truth': gold}]), STEP, native=True)
    answers = [Answer('', calls=(ToolCall('FinishAction', arguments),)) for arguments in ({}, 'none')]
    right, wrong = score_native_answers([record] * 2, answers, Protocol('v2'), ExactSimilarity())
    assert (right.values['args'], wrong.values['args'], wrong.reason) == (1.0, 0.0, 'args:not_an_object')
    unknown = Answer('', calls=(ToolCall('Finish', 'none'),))
    (wrong,) = score_native_answers([record], [unknown], Protocol('v2'), ExactSimilarity())
    assert (wrong.values['args'], wrong.reason) == (0.0, 'name:unknown_tool')


def test_recorded_calls_are_scored_by_the_command(tooleval: Command, tmp_path: Path) -> None:
    file, out = tmp_path / 'answers.jsonl', tmp_path / 'scores.json'
    with file.open('w', encoding='utf-8') as stream:
        for number, sample in enumerate(demo_samples(INSTRUCT)):
            _, (call,) = read_answer(native_sample(sample, 'EN').gold_answer)
            right = {'name': call.name, 'arguments': call.arguments}
            wrong = [[], [right, right], [{**right, 'name': 'buy'}], [{**right, 'arguments': '{"start": "Gent'}]]
            calls = wrong[number] if number < len(wrong) else [right]
            stream.write(json.dumps({'id': sample.record.id, 'prediction': '', 'calls': calls}) + '\n')
    data = DEMO / 'teval' / 'EN' / 'instruct_v2.json'
    done = tooleval('score', 'teval', INSTRUCT, file, '--data', data, '--method', 'function_calling', '--json', out)
    assert done.code == 0, done.err
    result = json.loads(out.read_text(encoding='utf-8'))
    wrong_ones = dict.fromkeys(('call:none', 'call:several', 'name:unknown_tool', 'args:not_an_object'), 1)
    assert result['reasons'] == {'ok': 22, **wrong_ones}
    assert result['metrics']['json_format_metric'] == pytest.approx(100 * 22 / 26)


def test_other_subsets_ask_for_no_calls() -> None:
    with pytest.raises(ValueError, match='review_str'):
        native_subset('review_str')


@pytest.mark.skipif(not SHARED.is_dir(), reason='the real data is not at hand')
def test_the_real_apis_and_gold_calls() -> None:
    raw: dict[str, Any] = json.loads((SHARED / 'data/teval/EN/plan_json_v1.json').read_text(encoding='utf-8'))
    counts: Counter[bool] = Counter()
    for record in raw.values():
        span = find_api_list(record['origin_prompt'][0]['content'])
        assert span is not None
        schemas = {api['name']: tool_schema(api).parameters for api in span.apis}
        for schema in schemas.values():
            Draft202012Validator.check_schema(dict(schema))
        for api in span.apis:
            shown = tool_schema(api).description.removeprefix(api['description'] + RETURNS)
            assert json.loads(shown) == api['return_data']
        calls = [step for step in record['ground_truth'] if step['name'] != 'FinishAction']
        counts.update(keeps_to(step['args'], schemas[step['name']]) for step in calls)
    # 32 of the gold calls break what the prompts document, such as numbers in quotes: no point is lost by that alone.
    assert counts == {True: 2628, False: 32}
