"""Messages: roles, neighbours, native calls, and parts of a request that a prompt lacks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.messages import Message, messages_text, normalise, tool_messages
from opencompass_tooleval.core.calls.one_call import NO_CALL, why_no_call
from opencompass_tooleval.core.calls.prompt_parts import GENERATION, RESULTS, lost_parts
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.models.conversation import ToolEvalConversationTemplate


@pytest.mark.parametrize(('messages', 'role_map', 'expected'), [
    pytest.param([('user', 'a\n'), ('user', '\nb')], {}, [('user', 'a\n\n\nb')], id='nothing is stripped'),
    pytest.param([('user', 'a'), ('function', 'b')], {'function': 'user'}, [('user', 'a\nb')], id='map, then merge'),
    pytest.param([('user', 'a'), ('assistant', ''), ('user', 'b')], {}, [('user', 'a\nb')], id='drop, then merge'),
    pytest.param([('user', ' '), ('assistant', 'b')], {}, [('user', ' '), ('assistant', 'b')], id='a blank stays'),
])  # fmt: skip
def test_normalise(messages: list[tuple[str, str]], role_map: dict[str, str], expected: list[tuple[str, str]]) -> None:
    assert normalise([Message(*message) for message in messages], role_map) == [Message(*item) for item in expected]


def test_neighbours_stay_apart_where_they_shall() -> None:
    messages = [Message('system', 's'), Message('user', 'a'), Message('assistant', ''), Message('user', 'b')]
    assert normalise(messages, {'system': 'user'}, merge=False) == [Message('user', text) for text in 'sab']


@pytest.mark.parametrize(('messages', 'says'), [
    ([('function', 'a')], r"^role 'function' is not one of system, user, assistant$"),
    ([('tool', '')], r"^role 'tool' is not one of"),
    ([('user', '')], r'^the conversation is empty$'),
    ([], r'^the conversation is empty$'),
])  # fmt: skip
def test_errors(messages: list[tuple[str, str]], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        normalise([Message(*message) for message in messages], {})


def ids(*given: str, earlier: Sequence[str] = ()) -> list[str]:
    calls = tuple(ToolCall('a', {'n': number}, call_id) for number, call_id in enumerate(given))
    before = [Message('assistant', '', (ToolCall('a', {}, call_id),)) for call_id in earlier]
    first, *told = tool_messages(Answer('', calls=calls), [str(n) for n in range(len(calls))], before)
    assert [call.arguments for call in first.calls] == [call.arguments for call in calls]
    assert [message.call_id for message in told] == [call.id for call in first.calls]
    assert [message.content for message in told] == [str(n) for n in range(len(calls))]
    return [call.id for call in first.calls]


def test_every_call_has_its_reply_and_an_id() -> None:
    answer = Answer('<think>hm</think>I look', calls=(ToolCall('a', {}, 'x'), ToolCall('b', {'n': 1}, 'y')))
    assert tool_messages(answer, ['one', 'two']) == (
        Message('assistant', 'I look', answer.calls),
        Message('tool', 'one', call_id='x'),
        Message('tool', 'two', call_id='y'),
    )
    assert ids('', '') == ['call00000', 'call00001']
    assert ids('', '', earlier='abcdefg') == ['call00007', 'call00008']
    assert ids('same', 'same', 'other') == ['same', 'call00000', 'other']
    assert ids('call00000', '') == ['call00000', 'call00001']
    # Only an id that an earlier call has is changed, and to none that a later one has.
    assert ids('call_0', 'x', earlier=['call_0', 'call_1']) == ['call_2', 'x']
    assert ids('functions.f:0', 'functions.f:0', 'functions.f:1') == ['functions.f:0', 'functions.f:2', 'functions.f:1']
    assert ids('call_09', earlier=['call_09']) == ['call_10']
    assert ids('abcdefgh9', earlier=['abcdefgh9']) == ['call00001']  # Mistral takes nine letters and digits alone
    assert ids('9' * 5000, earlier=['9' * 5000]) == [f'{"9" * 4991}1000000000']
    with pytest.raises(ValueError, match='zip'):
        tool_messages(Answer('', calls=(ToolCall('a', {}),)), [])


@pytest.mark.parametrize('arguments', ['{"input": [1, 2, 3, 4, 5, 6, 7, 8', [1, 2]])
def test_arguments_that_are_no_object_are_repeated_in_one(arguments: Any) -> None:
    """SmolLM2's call of ``multiply_``, cut: sent back as it was, llama.cpp refused the next round with status 500."""
    answer = Answer('', finish_reason='length', calls=(ToolCall('multiply_', arguments, 'x', '{"input": [1, 2'),))
    first, _ = tool_messages(answer, ['there is no list of numbers'])
    (call,) = first.calls
    assert call.arguments == {'unreadable_arguments': arguments}
    row = {'record_id': 'r', 'source': 's', 'idx': 0, 'gold_answer': '', 'messages': messages_text([first])}
    (message,) = ToolEvalConversationTemplate().generate_item(row).as_request()
    assert json.loads(message['tool_calls'][0]['function']['arguments']) == call.arguments


def test_why_there_is_no_call() -> None:
    answers = (Answer('I would look it up'), Answer('<think>which'), Answer('', 'infra:timeout'))
    assert list(map(why_no_call, answers)) == [NO_CALL, 'answer:truncated_reasoning', 'infra:timeout']


TAIL = '<|im_start|>assistant\n'


@pytest.mark.parametrize('last', ['And now?', 'assistant', '', '{"a": "b\\nc"}'])
@pytest.mark.parametrize('more', ['', '<think>\n', '<think>\n\n</think>\n\n'])
def test_a_generation_prompt_is_at_the_end(last: str, more: str) -> None:
    turns = (('user', 'How?'), ('assistant', 'So.'), ('user', last))
    messages = [{'role': role, 'content': content} for role, content in turns]
    prompt = ''.join(f'<|im_start|>{role}\n{content}<|im_end|>\n' for role, content in turns)
    assert lost_parts(prompt + TAIL + more, messages, [], TAIL) == []
    assert lost_parts(prompt, messages, [], TAIL) == ([GENERATION] if last else [])


def test_a_text_may_be_escaped_as_in_json() -> None:
    messages = [{'role': 'tool', 'content': 'Zeile 1\n第二行 "x"'}]
    for is_ascii in (True, False):
        shown = json.dumps({'content': messages[0]['content']}, ensure_ascii=is_ascii)
        assert lost_parts(f'<tool>{shown}</tool>', messages, []) == []
    assert lost_parts('<tool></tool>', messages, []) == [RESULTS]
