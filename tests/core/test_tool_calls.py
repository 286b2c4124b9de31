"""Native calls as values, from any content of servers and files."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer, extras, with_extras
from opencompass_tooleval.core.calls.messages import Message, messages_text, normalise, read_messages
from opencompass_tooleval.core.calls.one_call import keeps_to, one_call
from opencompass_tooleval.core.calls.tool_calls import (
    MAX_ARGUMENT_CHARS,
    ToolCall,
    calls_payload,
    calls_text,
    make_call,
    read_answer,
    read_calls,
    write_answer,
)
from opencompass_tooleval.core.scoring.usage import Usage, read_usage, total_usage

CALLS = (ToolCall('search', {'q': 'Katzen'}, 'call_1'), ToolCall('finish', 'not json'))


ARGUMENTS: list[tuple[Any, Any, str]] = [
    ('{"q":1}', {'q': 1}, '{"q":1}'),
    ({'q': 1}, {'q': 1}, '{\n  "q": 1\n}'),
    ('', {}, ''),
    (None, {}, '{}'),
    ('null', {}, 'null'),
    ('[1]', [1], '[1]'),
    ('{"q": ', '{"q": ', '{"q": '),
    ('{"a": NaN}', {'a': 'nan'}, '{"a": NaN}'),
]


@pytest.mark.parametrize(('arguments', 'expected', 'written'), ARGUMENTS)
def test_arguments_are_read_or_stay_text_and_come_back_from_the_journal(
    arguments: Any, expected: Any, written: str
) -> None:
    call = make_call('search', arguments)
    assert (call.arguments, call.arguments_text) == (expected, written)
    row = json.loads(json.dumps(extras(Answer('', calls=(call,)))))
    (back,) = with_extras(Answer(''), row).calls
    assert (back, back.arguments_text) == (call, written)
    assert calls_payload([call]) == [{'name': 'search', 'arguments': call.arguments}]  # and nowhere else


@pytest.mark.parametrize(('arguments', 'expected'), [
    ('[' * 100_000, '[' * 100_000),
    ('"' + 'a' * MAX_ARGUMENT_CHARS + '"', '"' + 'a' * (MAX_ARGUMENT_CHARS - 1)),
    ('"\\ud800"', '\\ud800'),
], ids=['deep', 'long', 'half a letter'])  # fmt: skip
def test_hostile_arguments(arguments: str, expected: str) -> None:
    assert make_call('search', arguments).arguments == expected
    json.dumps(calls_payload([make_call('search', arguments)]), allow_nan=False).encode('utf-8')
    assert [make_call(name, '{}', name) for name in (None, 7, ['a'], {})] == [ToolCall('', {})] * 4


@pytest.mark.parametrize('text', ['', '<think>So.</think>', 'So.'])
@pytest.mark.parametrize('has_content', [False, True])
def test_an_empty_content_comes_back_from_the_journal(text: str, has_content: bool) -> None:
    row = json.loads(json.dumps(extras(Answer(text, calls=CALLS, has_content=has_content))))
    assert ('has_content' in row) == (has_content and text != 'So.')  # there the text says it
    assert with_extras(Answer(text), row).has_content == ('has_content' in row)


def test_calls_travel_through_rows_answers_and_messages() -> None:
    assert read_calls(json.loads(json.dumps(calls_payload(CALLS)))) == CALLS
    assert read_answer(write_answer('text', CALLS)) == ('text', CALLS)
    answer = Answer('text', None, 'stop', calls=CALLS, usage=Usage(3, 4, seconds=0.5, requests=2))
    back = with_extras(Answer('text', None, 'stop'), json.loads(json.dumps(extras(answer))))
    assert (back.calls, back.usage) == (CALLS, answer.usage)
    messages = [Message('assistant', '', CALLS), Message('tool', 'nothing', call_id='call_1'), Message('user', 'so?')]
    assert read_messages(messages_text(messages)) == messages
    assert normalise([Message('user', 'a'), *messages, Message('user', 'b')], {'tool': 'user'}) == [
        Message('user', 'a'),
        *messages[:2],
        Message('user', 'so?\nb'),
    ]
    # A message without calls is written as before.
    assert messages_text([Message('user', 'a')]) == '[{"role": "user", "content": "a"}]'
    assert calls_text(()) == ''
    assert calls_text(CALLS[:1]) == '[{"arguments": {"q": "Katzen"}, "name": "search"}]'


WRITTEN_7 = [{'name': 'search', 'arguments': {}, 'written': 7}]


@pytest.mark.parametrize('value', ['text', 3, [{}], [{'name': 1}], ['search'], {'name': 'search'}, WRITTEN_7])
def test_rows_that_hold_no_calls_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="'calls'"):
        read_calls(value)


SCHEMAS = {'search': {'type': 'object', 'properties': {'q': {'type': 'string'}}, 'required': ['q']}}


@pytest.mark.parametrize(('calls', 'reason'), [
    ([], 'call:none'),
    ([ToolCall('search', {'q': 'a'})], ''),
    ([ToolCall('search', {'q': 'a'}), ToolCall('search', {'q': 'a'})], 'call:several'),
    ([ToolCall('sarch', {'q': 'a'})], 'name:unknown_tool'),
    ([ToolCall('search', '{"q": ')], 'args:not_an_object'),
    ([ToolCall('search', {'q': 1})], 'call:schema'),
])  # fmt: skip
def test_what_is_wrong_with_the_calls_of_an_answer(calls: list[ToolCall], reason: str) -> None:
    one = one_call(calls, SCHEMAS)
    assert (one.call, one.reason) == (calls[0] if calls else None, reason)


def test_a_total_knows_what_all_of_its_parts_know() -> None:
    assert read_usage([]) is None
    assert read_usage({'prompt': -1, 'completion': True, 'seconds': float('nan'), 'requests': 0}) == Usage()
    assert read_usage({'prompt': 5, 'counted': True, 'seconds': 1}) == Usage(prompt=5, counted=True, seconds=1.0)
    first, second = Usage(1, 2, 3, seconds=0.5, requests=2), Usage(4, 5, counted=True, seconds=1.0)
    total = Usage(5, 7, 3, counted=True, seconds=1.5, requests=3, incomplete=('reasoning',))
    assert total_usage([first, second]) == total
    assert total_usage([None]) is None and total_usage([]) is None
    known = ('prompt', 'completion', 'seconds')  # of no tokens there is no part
    assert total_usage([Usage(1, 2, 3, seconds=0.5, requests=2), None]) == Usage(
        1, 2, 3, seconds=0.5, requests=3, incomplete=known
    )


def test_a_reference_to_a_url_is_not_fetched() -> None:
    with socket.create_server(('127.0.0.1', 0)) as server:
        reached = threading.Event()

        def accept() -> None:
            try:
                server.accept()
                reached.set()
            except OSError:  # closed at the end
                return

        threading.Thread(target=accept, daemon=True).start()
        url = f'http://127.0.0.1:{server.getsockname()[1]}/schema.json'
        with pytest.raises(Exception, match='Unresolvable'):
            keeps_to({'a': 1}, {'properties': {'a': {'$ref': url}}})
        assert not reached.wait(0.2)


def test_a_reference_within_the_schema_is_followed() -> None:
    schema = {'properties': {'a': {'$ref': '#/$defs/A'}}, '$defs': {'A': {'type': 'integer'}}}
    assert keeps_to({'a': 1}, schema) and not keeps_to({'a': 'x'}, schema)
