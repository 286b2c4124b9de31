"""Conversations as Anthropic's API documents them: blocks of content, a system prompt beside them, ``input_schema``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.trajectory import parse_trajectory
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.traces.reading import read_traces
from tests.cli.conftest import Command, read_lines
from tests.cli.conftest import tooleval as tooleval
from tests.extras.traces.test_openai_chat import WHOLE, calls_of, read, write

TOOL = {
    'name': 'get_weather',
    'description': 'Get the current weather in a given location',
    'input_schema': {
        'type': 'object',
        'properties': {'location': {'type': 'string', 'description': 'The city and state'}},
        'required': ['location'],
    },
}


def use(number: int, location: str) -> dict[str, Any]:
    return {'type': 'tool_use', 'id': f'toolu_{number}', 'name': 'get_weather', 'input': {'location': location}}


def result(number: int, content: Any, **more: Any) -> dict[str, Any]:
    return {'type': 'tool_result', 'tool_use_id': f'toolu_{number}', 'content': content, **more}


ASKED: list[dict[str, Any]] = [
    {'role': 'user', 'content': 'What is the weather in Paris and in Atlantis?'},
    {
        'role': 'assistant',
        'content': [
            {'type': 'thinking', 'thinking': 'Two calls.', 'signature': 'EqQ='},
            {'type': 'text', 'text': 'I look it up.'},
            use(1, 'Paris'),
            use(2, 'Atlantis'),
        ],
    },
    {
        'role': 'user',
        'content': [
            result(1, [{'type': 'text', 'text': '15 degrees'}, {'type': 'image', 'source': {}}]),
            result(2, 'there is no such city', is_error=True),
        ],
    },
]
ANSWER = {
    'id': 'msg_1',
    'type': 'message',
    'role': 'assistant',
    'model': 'claude-sonnet',
    'content': [{'type': 'text', 'text': 'It has 15 degrees in Paris.'}],
    'stop_reason': 'end_turn',
    'usage': {'input_tokens': 5, 'cache_read_input_tokens': 100, 'cache_creation_input_tokens': 7, 'output_tokens': 9},
}
REQUEST = {
    'model': 'claude-sonnet',
    'max_tokens': 1024,
    'system': [{'type': 'text', 'text': 'You know the weather.'}],
    'messages': ASKED,
    'tools': [TOOL, {'type': 'web_search_20250305', 'name': 'web_search'}],
}
CALLS = [
    ('get_weather', {'location': 'Paris'}, '15 degrees\n[image]'),
    ('get_weather', {'location': 'Atlantis'}, 'there is no such city'),
]


@pytest.mark.parametrize(
    'row',
    [
        {'request': REQUEST, 'response': ANSWER},
        {**REQUEST, 'response': ANSWER},
        {**REQUEST, 'system': 'You know the weather.', 'messages': [*ASKED, ANSWER]},
    ],
)
def test_a_request_with_its_response(tmp_path: Path, row: Any) -> None:
    (one,) = read(tmp_path, row)
    assert (one.system, one.query) == ('You know the weather.', 'What is the weather in Paris and in Atlantis?')
    assert (one.model, one.final_answer, one.goes_on) == ('claude-sonnet', 'It has 15 degrees in Paris.', False)
    assert calls_of(one) == CALLS
    assert one.steps[0].text == 'I look it up.'
    assert one.errors == {'toolu_2': 'tool_error'}
    assert one.tools is not None and [tool.name for tool in one.tools] == ['get_weather', 'web_search']
    assert one.tools[0].parameters['required'] == ['location']


def test_cached_tokens_are_tokens_of_the_prompt(tmp_path: Path) -> None:
    (one,) = read(tmp_path, {'request': {**REQUEST, 'messages': ASKED[:1]}, 'response': ANSWER})
    assert one.usage is not None and (one.usage.prompt, one.usage.completion) == (112, 9)


def test_ids_that_begin_anew_are_of_their_turn(tmp_path: Path) -> None:
    second = [
        {'role': 'assistant', 'content': [use(2, 'Rome')]},
        {'role': 'user', 'content': [result(2, '20 degrees')]},
    ]
    (one,) = read(tmp_path, {**REQUEST, 'messages': [*ASKED, *second, ANSWER]})
    assert calls_of(one) == [*CALLS, ('get_weather', {'location': 'Rome'}, '20 degrees')]
    calls = [call.id for step in one.steps for call, _ in step.calls]
    assert one.errors == {calls[1]: 'tool_error'} and len(set(calls)) == 3


def test_the_command_counts_the_calls(tooleval: Command, tmp_path: Path) -> None:
    done = tooleval(
        'import', 'traces', write(tmp_path, {'request': REQUEST, 'response': ANSWER}), '--out', tmp_path / 'o'
    )
    assert done.code == 0, done.err
    assert 'results: 0 of 2 calls have none in the trace' in done.out and 'go on' not in done.out
    (row,) = read_lines(tmp_path / 'o' / 'predictions.jsonl')
    run = parse_trajectory(row['prediction'])
    assert [[call.error for call in step.calls] for step in run.steps] == [['', 'tool_error'], []]


GENERATION = {
    'id': '1',
    'traceId': 't',
    'type': 'GENERATION',
    'input': [{'role': 'user', 'content': 'x'}],
    'output': {},
}
RUN = {'id': '1', 'run_type': 'llm', 'inputs': {'messages': []}, 'outputs': {}}
PHOENIX = {'attributes.llm.input_messages': [], 'attributes.openinference.span.kind': 'LLM'}


@pytest.mark.parametrize(
    ('row', 'program'),
    [
        (GENERATION, 'Langfuse'),
        ({'id': 't', 'observations': [GENERATION], 'input': [{'role': 'user', 'content': 'x'}]}, 'Langfuse'),
        (RUN, 'LangSmith'),
        (PHOENIX, 'OpenInference'),
        ({'contents': [{'role': 'user', 'parts': [{'text': 'x'}]}]}, 'Gemini'),
        ({'custom_id': '1', 'result': {'type': 'succeeded', 'message': ANSWER}}, "Anthropic's Message Batches"),
    ],
)
def test_other_programs_are_refused_by_name(tmp_path: Path, row: Any, program: str) -> None:
    with pytest.raises(DataError, match=f'in the form of {program}.*log the requests'):
        read_traces([write(tmp_path, row)])


def test_one_log_without_answers_does_not_stop_a_folder(tooleval: Command, tmp_path: Path) -> None:
    folder = tmp_path / 'logs'
    folder.mkdir()
    for name, text in {
        'a.jsonl': json.dumps({'messages': WHOLE[:2]}),
        'b.jsonl': json.dumps({'messages': WHOLE}),
        'c.eval': 'no zip',
        'd.json': json.dumps({'eval': {}, 'version': 2, 'status': 'error'}),
    }.items():
        (folder / name).write_text(text)
    done = tooleval('import', 'traces', folder, '--out', tmp_path / 'out')
    assert done.code == 0, done.err
    assert done.out.startswith('1 conversations') and '3 left out:' in done.out
    for name in ('a.jsonl', 'c.eval', 'd.json'):
        assert name in done.out
    with pytest.raises(DataError, match='the file is missing'):
        read_traces([folder, tmp_path / 'none.jsonl'])
