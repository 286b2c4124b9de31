"""Conversations as OpenAI's API documents them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.traces import reading
from opencompass_tooleval.extras.traces.conversation import MAX_MESSAGES, Conversation
from opencompass_tooleval.extras.traces.reading import read_traces

WEATHER = {
    'type': 'function',
    'function': {
        'name': 'get_current_weather',
        'description': 'Get the current weather in a given location',
        'parameters': {
            'type': 'object',
            'properties': {
                'location': {'type': 'string', 'description': 'The city and state, e.g. San Francisco, CA'},
                'unit': {'type': 'string', 'enum': ['celsius', 'fahrenheit']},
            },
            'required': ['location'],
        },
    },
}
ASKED: list[dict[str, Any]] = [
    {'role': 'developer', 'content': 'You are a helpful assistant.'},
    {'role': 'user', 'content': [{'type': 'text', 'text': "What's the weather like in Boston today?"}]},
]
CALL = {
    'id': 'call_abc123',
    'type': 'function',
    'function': {'name': 'get_current_weather', 'arguments': '{\n"location": "Boston, MA"\n}'},
}
CALLS = {'role': 'assistant', 'content': None, 'tool_calls': [CALL]}
RESULT = {'role': 'tool', 'tool_call_id': 'call_abc123', 'content': '{"temperature": 22}'}
ANSWER = {'role': 'assistant', 'content': 'It is 22 degrees in Boston.'}
WHOLE = [*ASKED, CALLS, RESULT, ANSWER]


def read(folder: Path, *rows: Any) -> list[Conversation]:
    """Reads rows as JSON lines; all of them can be read."""
    traces = read_traces([write(folder, *rows)])
    assert not traces.left_out
    return traces.conversations


def write(folder: Path, *rows: Any) -> Path:
    file = folder / 'chat.jsonl'
    file.write_text(''.join(f'{row if isinstance(row, str) else json.dumps(row)}\n' for row in rows))
    return file


def calls_of(conversation: Conversation) -> list[tuple[str, Any, str | None]]:
    return [(call.name, call.arguments, result) for step in conversation.steps for call, result in step.calls]


BOSTON = [('get_current_weather', {'location': 'Boston, MA'}, '{"temperature": 22}')]


def test_a_row_of_a_fine_tuning_file(tmp_path: Path) -> None:
    (one,) = read(tmp_path, {'messages': WHOLE, 'tools': [WEATHER], 'parallel_tool_calls': False})
    assert one.location == 'chat.jsonl, line 1'
    assert (one.system, one.query) == ('You are a helpful assistant.', "What's the weather like in Boston today?")
    assert calls_of(one) == BOSTON
    assert one.final_answer == 'It is 22 degrees in Boston.'
    assert one.tools is not None
    (tool,) = one.tools
    assert (tool.name, dict(tool.parameters)) == ('get_current_weather', WEATHER['function']['parameters'])  # type: ignore[index]
    assert (one.model, one.usage, one.errors, one.goes_on) == ('', None, None, False)


def test_a_request_with_its_answer(tmp_path: Path) -> None:
    answer = {
        'id': 'chatcmpl-abc123',
        'object': 'chat.completion',
        'model': 'gpt-4o-mini-2024-07-18',
        'choices': [{'index': 0, 'message': CALLS, 'logprobs': None, 'finish_reason': 'tool_calls'}],
        'usage': {'prompt_tokens': 82, 'completion_tokens': 17, 'total_tokens': 99},
    }
    request = {'model': 'gpt-4o-mini', 'messages': ASKED, 'tools': [WEATHER]}
    batch = {'custom_id': 'r-1', 'request': {'body': request}, 'response': {'status_code': 200, 'body': answer}}
    for row in ({'request': request, 'response': answer}, batch, {**request, **answer}):
        (one,) = read(tmp_path, row)
        assert one.model == 'gpt-4o-mini-2024-07-18'
        assert one.usage is not None and (one.usage.prompt, one.usage.completion) == (82, 17)
        assert calls_of(one) == [(*BOSTON[0][:2], None)]  # the result is not in this request
        assert one.final_answer == ''


def test_the_older_form_with_function_call(tmp_path: Path) -> None:
    messages = [
        ASKED[1],
        {'role': 'assistant', 'content': None, 'function_call': CALL['function']},
        {'role': 'function', 'name': 'get_current_weather', 'content': '{"temperature": 22}'},
        ANSWER,
    ]
    (one,) = read(tmp_path, {'messages': messages, 'functions': [WEATHER['function']]})
    assert calls_of(one) == BOSTON
    assert one.tools is not None and [tool.name for tool in one.tools] == ['get_current_weather']


def test_items_of_responses(tmp_path: Path) -> None:
    items = [
        {'role': 'user', 'content': [{'type': 'input_text', 'text': 'Weather in Boston?'}]},
        {'type': 'reasoning', 'id': 'rs_1', 'summary': []},
        {'type': 'function_call', 'call_id': 'c1', 'name': 'w', 'arguments': '{"location": "Boston"}'},
        {'type': 'function_call', 'call_id': 'c2', 'name': 'w', 'arguments': '{"location": "Paris"}'},
        {'type': 'function_call_output', 'call_id': 'c2', 'output': 'rain'},
        {'type': 'function_call_output', 'call_id': 'c1', 'output': 'sun'},
    ]
    answer_item = {
        'type': 'message',
        'role': 'assistant',
        'content': [{'type': 'output_text', 'text': 'Sun and rain.'}],
    }
    row = {'model': 'gpt-5', 'instructions': 'Be brief.', 'input': items, 'output': [answer_item]}
    (one,) = read(tmp_path, {**row, 'tools': [{'type': 'web_search'}, {**WEATHER['function'], 'name': 'w'}]})  # type: ignore[dict-item]
    assert (one.system, one.query, one.final_answer) == ('Be brief.', 'Weather in Boston?', 'Sun and rain.')
    assert [(call.arguments, result) for call, result in one.steps[0].calls] == [
        ({'location': 'Boston'}, 'sun'),
        ({'location': 'Paris'}, 'rain'),
    ]
    assert one.tools is not None and [tool.name for tool in one.tools] == ['w']


def test_requests_that_repeat_the_earlier_messages_are_one_conversation(tmp_path: Path) -> None:
    rows = [{'messages': WHOLE[:3]}, {'messages': WHOLE}, {'messages': [*ASKED, ANSWER]}]
    traces = read_traces([write(tmp_path, *rows)])
    assert [len(one.messages) for one in traces.conversations] == [5, 3]
    assert traces.beginnings == 1


def test_only_the_first_request_is_the_run(tmp_path: Path) -> None:
    again = [{'role': 'user', 'content': 'And in Paris?'}, CALLS, RESULT, {'role': 'assistant', 'content': 'Rain.'}]
    (one,) = read(tmp_path, {'messages': [*WHOLE, *again]})
    assert one.goes_on and one.final_answer == 'It is 22 degrees in Boston.'
    assert calls_of(one) == BOSTON and len(one.all_steps) == 4


def test_what_is_missing_is_unknown_and_no_tools_are_none(tmp_path: Path) -> None:
    unknown, none = read(tmp_path, {'messages': WHOLE}, {'messages': [*ASKED, ANSWER], 'tools': []})
    assert unknown.tools is None
    assert none.tools == ()


def test_parts_that_are_no_text_are_shown_as_their_type(tmp_path: Path) -> None:
    parts = [{'type': 'image_url', 'image_url': {'url': 'data:...'}}, {'type': 'text', 'text': 'What is this?'}]
    (one,) = read(tmp_path, {'messages': [{'role': 'user', 'content': parts}, ANSWER]})
    assert one.query == '[image_url]\nWhat is this?'


@pytest.mark.parametrize(
    ('row', 'why'),
    [
        ('{"messages": [', 'it cannot be read as JSON'),
        ('{"a": 1}', "it has no list 'messages' or 'input'"),
        ('[1, 2]', "it has no list 'messages' or 'input'"),
        ({'messages': [1]}, 'message 0 is no object'),
        ({'messages': [{'content': 'x'}]}, 'a message has no role'),
        ({'messages': [ANSWER]}, 'it has no text of a user before an answer'),
        ({'messages': ASKED}, 'it has no answer of a model'),
        ({'messages': [*ASKED, *[ANSWER] * MAX_MESSAGES]}, f'it has more than {MAX_MESSAGES} messages'),
        ('{"messages": ' + '[' * 5000, 'nested too deeply'),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_left_out(tmp_path: Path, row: Any, why: str) -> None:
    traces = read_traces([write(tmp_path, {'messages': WHOLE}, row)])
    assert len(traces.conversations) == 1
    (line,) = traces.left_out
    assert line.startswith('chat.jsonl, line 2: ') and why in line
    first = read_traces([write(tmp_path, row, {'messages': WHOLE})])
    assert first.left_out == [line.replace('line 2', 'line 1')]
    with pytest.raises(DataError, match='no conversation can be read'):
        read_traces([write(tmp_path, row)])


@pytest.mark.parametrize('text', ['1\n' * 11, '[' + '1,' * 10 + '1]'])
def test_a_file_has_a_bounded_number_of_lines(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, 'MAX_ROWS', 10)
    with pytest.raises(DataError, match='it has more than 10 lines'):
        read_traces([write(tmp_path, text)])
    monkeypatch.setattr(reading, 'MAX_ROWS', 11)
    monkeypatch.setattr(reading, 'MAX_CONVERSATIONS', 10)
    with pytest.raises(DataError, match='it has more than 10 conversations'):
        read_traces([write(tmp_path, text)])
