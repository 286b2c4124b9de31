"""Replies in the formats that servers send."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.scoring.prices import Budget, Prices
from opencompass_tooleval.core.scoring.usage import Usage, read_usage, total_usage
from opencompass_tooleval.core.scoring.usage_summary import summary_of
from opencompass_tooleval.findings.of_results import unclear_tokens
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.reply import Reply, StreamReader, answer_of, read_message
from tests.growth import in_linear_time

JSON, EVENTS = 'application/json', 'text/event-stream; charset=utf-8'


def read_reply(body: bytes, content_type: str, offers_tools: bool = False) -> Answer:
    """The answer in the body of a response."""
    return answer_of(read_message(body, content_type), offers_tools)


def reply(finish: str | None = 'stop', **message: Any) -> bytes:
    return json.dumps({'choices': [{'index': 0, 'message': message, 'finish_reason': finish}]}).encode()


def stream(*deltas: dict[str, Any], finish: str | None = 'stop', end: str = 'data: [DONE]\n\n') -> bytes:
    choices = [*({'index': 0, 'delta': delta} for delta in deltas), {'index': 0, 'delta': {}, 'finish_reason': finish}]
    return (''.join(f'data: {json.dumps({"choices": [choice]})}\n\n' for choice in choices) + end).encode()


def call(name: str | None, arguments: str, **more: Any) -> dict[str, Any]:
    """A tool call, or a piece of one."""
    return {**more, 'type': 'function', 'function': {'name': name, 'arguments': arguments}}


def _stream_of(message: dict[str, Any], finish: str) -> bytes:
    return stream(message, finish=finish)


ENDS = {
    **dict.fromkeys(('MAX_TOKENS', 'max_tokens', 'model_length', 'model_context_window_exceeded'), 'length'),
    **dict.fromkeys(('STOP', 'end_turn', 'eos'), 'stop'),
    **{word: word for word in ('parse_error', 'repetition', 'a reason of tomorrow')},
}
"""``finish_reason`` of an answer that counts -> the stored one."""
BROKEN = ('error', 'abort', 'network_error', 'insufficient_system_resource')
FILTERED = (
    'content_filter',
    'content_filter: PROHIBITED_CONTENT',
    'CONTENT_FILTER',
    'sensitive',
    'SAFETY',
    'PROHIBITED_CONTENT',
)
BALANCE = 'balance is used up'

TWO_CALLS = '[{"arguments": {"q": "猫"}, "name": "search"}, {"arguments": "{broken", "name": "open"}]'


@pytest.mark.parametrize(('body', 'content_type', 'expected', 'finish'), [
    pytest.param(reply(content='hi'), JSON, 'hi', 'stop', id='plain'),
    pytest.param(reply(content='hi').replace(b'[', b'[{"index": 1, "message": {"content": "no"}}, ', 1), JSON, 'hi',
        'stop', id='of two choices the one with index 0'),
    pytest.param(b'\xef\xbb\xbf' + reply(content='hi'), JSON, 'hi', 'stop', id='BOM'),
    pytest.param(reply(content='hi', reasoning_content='t', reasoning='t'), JSON, '<think>t</think>hi', 'stop',
        id='both'),
    pytest.param(reply(content=None, reasoning='t'), JSON, '<think>t', 'stop', id='content null'),
    pytest.param(reply('length', content=None, reasoning='t'), JSON, '<think>t', 'length', id='thoughts cut'),
    pytest.param(reply('length', content='hal'), JSON, 'hal', 'length', id='cut'),
    pytest.param(reply(content=None, refusal='I cannot'), JSON, 'I cannot', 'stop', id='refusal'),
    pytest.param(reply('tool_calls', content='', tool_calls=[call('search', '{"q": "猫"}'), call('open', '{broken')]),
        JSON, TWO_CALLS, 'tool_calls', id='calls'),
    pytest.param(reply('tool_calls', content='\n\n', reasoning='t', tool_calls=[call('f', '{}')]), JSON,
        '<think>t</think>[{"arguments": {}, "name": "f"}]', 'tool_calls', id='thoughts and calls'),
    pytest.param(reply(content='hi', tool_calls=[call('f', '{}')]), JSON, 'hi', 'stop', id='text beside calls'),
    pytest.param(stream({'content': 'a\u2028b'}).replace(b'\\u2028', '\u2028'.encode()), EVENTS, 'a\u2028b', 'stop',
        id='U+2028'),
    pytest.param(b': wait\r\n\r\n' + stream({'content': 'hi'}).replace(b'\n', b'\r\n'), JSON, 'hi', 'stop',
        id='called JSON'),
    pytest.param(stream({'content': 'hi'}, end=''), EVENTS, 'hi', 'stop', id='no [DONE]'),
    pytest.param(reply(None, content='hi')[:-1] + b', "usage": {"prompt_tokens": 7}}', JSON, 'hi', None,
        id='usage without finish_reason'),
    pytest.param(stream({'content': 'hi'}) + b'data: {"choices": [{"index": 1, "delta": {"content": "no"}}]}', EVENTS,
        'hi', 'stop', id='another choice in a stream'),
    *(
        pytest.param(form({'content': ''}, f'{front}MALFORMED_FUNCTION_CALL'), kind, '', 'malformed_function_call',
            id=f'malformed {kind[:6]} {front}')
        for form, kind in ((lambda message, finish: reply(finish, **message), JSON), (_stream_of, EVENTS))
        for front in ('', 'function_call_filter: ')
    ),
    *(
        pytest.param(form({'content': 'hi'}, finish), kind, 'hi', end, id=f'{kind[:6]} {finish}')
        for form, kind in ((lambda message, finish: reply(finish, **message), JSON), (_stream_of, EVENTS))
        for finish, end in ENDS.items()
    ),
])  # fmt: skip
def test_an_answer(body: bytes, content_type: str, expected: str, finish: str | None) -> None:
    answer = read_reply(body, content_type)
    assert (answer.text, answer.reason, answer.finish_reason) == (expected, None, finish)


@pytest.mark.parametrize(('body', 'content_type', 'reason', 'words'), [
    (reply(content=''), JSON, 'infra:empty', 'no content, finish_reason stop'),
    (reply('content_filter', content=None), JSON, 'infra:filter', 'content_filter'),
    (b'<html>', 'text/html', 'infra:bad_response', 'a page of HTML: 6 bytes of text/html: <html>'),
    (b'\n <!DOCTYPE html><title lang="en">Open\x1b[2J\n UI</title>', '', 'infra:bad_response',
     r'a page of HTML with the title "Open\x1b[2J UI"'),
    (b'<html><title>' + b'x' * 5000, '', 'infra:bad_response', f'a page of HTML with the title "{"x" * 80}..."'),
    (b'<title>no page</title>', '', 'infra:bad_response', '22 bytes of no content type: <title>no page'),
    (b'', '', 'infra:bad_response', '0 bytes of no content type'),
    (b'{"choices": []}', JSON, 'infra:bad_response', 'no choice with a message'),
    (b'{"choices": [{"message": "hi"}]}', JSON, 'infra:bad_response', 'no choice with a message'),
    (b'{"choices": ["hi"]}', JSON, 'infra:bad_response', 'no first choice'),
    (reply(None, content='hi'), JSON, 'infra:server', 'neither finish_reason nor usage'),
    (b'[' * 200_000, JSON, 'infra:bad_response', 'bytes of application/json: [[['),
    (b'{"error": ' + b'[' * 900 + b']' * 900 + b'}', JSON, 'infra:', '[[['),
    (b'"hi"', JSON, 'infra:bad_response', 'no object'),
    (stream({'content': 'hi'}, finish=None, end=''), EVENTS, 'infra:server', 'ends without finish_reason'),
    (stream({'content': 'hi'}, finish=None), EVENTS, 'infra:server', 'ends without finish_reason'),
    *((reply(word, content='half of'), JSON, 'infra:server', f'finish_reason {word}') for word in BROKEN),
    *((stream({'content': 'half'}, finish=word), EVENTS, 'infra:server', word) for word in BROKEN),
    *((reply(word, content='half of'), JSON, 'infra:filter', 'filtered') for word in FILTERED),
    *((stream({'content': 'half'}, finish=word), EVENTS, 'infra:filter', 'filtered') for word in FILTERED),
    (b'{"choices": [{"message": null, "finish_reason": "content_filter"}]}', JSON, 'infra:filter', 'filtered'),
    (b'{"choices": [], "prompt_filter_results": [{"filtered":true}]}', JSON, 'infra:filter', 'filtered'),
    (_stream_of({'content': 'half'}, 'stop').replace(b'"delta": {},', b'"error": {"code": 502, "message": "gone"},'),
     EVENTS, 'infra:server', 'gone'),
    (b': nothing\n\n', EVENTS, 'infra:bad_response', 'no choice in the stream'),
    (b'data: {"cho\n\n', EVENTS, 'infra:bad_response', 'Unterminated string'),
    (b'data: {"error": "he said "no""}', EVENTS, 'infra:server', 'he said'),
    (b'{"error": {"message": "overloaded", "code": 529}}', JSON, 'infra:server', 'overloaded'),
    (b'{"error": {"message": "maximum context length is 9", "code": 400}}', JSON, 'infra:truncated', 'maximum'),
])  # fmt: skip
def test_no_answer(body: bytes, content_type: str, reason: str, words: str) -> None:
    with pytest.raises(Failure) as failed:
        read_reply(body, content_type)
    assert failed.value.reason.startswith(reason)
    assert words in failed.value.words
    assert len(failed.value.words) < 500


@pytest.mark.parametrize(('body', 'reason', 'ends'), [
    *(
        ({'error': error}, 'infra:bad_request', True)
        for error in (
            {'message': BALANCE, 'code': 402},
            {'message': BALANCE, 'code': '402'},
            {'message': 'x', 'type': 'insufficient_quota', 'code': 429},
            {'message': 'x', 'code': 'invalid_api_key'},
            BALANCE,
        )
    ),
    ({'choices': None, 'error': {'message': BALANCE, 'code': 402}}, 'infra:bad_request', True),
    ({'choices': [{'message': {'content': ''}, 'error': {'code': 402}}]}, 'infra:bad_request', True),
    ({'code': 'Arrearage', 'message': 'Access denied'}, 'infra:bad_request', True),
    ({'error_code': 17, 'error_msg': 'Open api daily request limit reached'}, 'infra:bad_request', True),
    ({'choices': None, 'base_resp': {'status_code': 1008, 'status_msg': 'no'}}, 'infra:bad_request', True),
    ({'error': {'code': 'unsupported_parameter', 'message': 'x'}}, 'infra:bad_request', False),
    ({'error': {'code': '1301', 'message': 'x'}}, 'infra:filter', False),
    ({'code': 'DataInspectionFailed', 'message': 'x'}, 'infra:filter', False),
    ({'error_code': 18, 'error_msg': 'Open api qps request limit reached'}, 'infra:rate_limit', False),
    ({'error': {'message': 'x', 'code': 17}}, 'infra:server', False),
    ({'error': f'{BALANCE} is in the prompt {"x" * 200}'}, 'infra:server', False),
    ({'error': {'message': 'gone', 'code': 502}}, 'infra:server', False),
])  # fmt: skip
def test_an_error_with_status_200(body: dict[str, Any], reason: str, ends: bool) -> None:
    for content, kind in ((json.dumps(body), JSON), (f'data: {json.dumps(body)}\n\ndata: [DONE]\n\n', EVENTS)):
        with pytest.raises(Failure) as failed:
            read_reply(content.encode(), kind)
        assert (failed.value.reason, failed.value.ends) == (reason, ends)
        assert failed.value.again == reason.endswith(('server', 'rate_limit')) and not failed.value.no_connection


@pytest.mark.parametrize(('deltas', 'finish', 'usage', 'is_lost'), [
    ([{'tool_calls': []}], 'tool_calls', {}, True),  # vLLM 54701: the parser lost the call
    ([{'tool_calls': []}], 'stop', {}, True),
    ([{'tool_calls': []}, {'content': 'hi'}], 'stop', {}, False),
    ([{'tool_calls': [], 'reasoning': 't'}], 'stop', {}, True),
    ([{'tool_calls': [], 'reasoning': 't'}], 'length', {}, False),  # the model never finished its thoughts
    ([{'content': ''}], 'stop', {'completion_tokens': 6}, True),
    ([{'content': ''}], 'stop', {'completion_tokens': 5}, False),
    ([{'content': ''}], 'length', {'completion_tokens': 64}, False),
    ([{'reasoning': 't'}], 'stop', {'completion_tokens': 64}, False),  # may all be thoughts
    ([{'reasoning': 't'}], 'stop',
     {'completion_tokens': 64, 'completion_tokens_details': {'reasoning_tokens': 0}}, False),  # not counted apart
    ([{'tool_calls': []}], 'stop', {'completion_tokens': 1}, False),
    ([{'reasoning': 't'}], 'stop',
     {'completion_tokens': 64, 'completion_tokens_details': {'reasoning_tokens': 40}}, True),
    ([{'reasoning': 't'}], 'stop',
     {'completion_tokens': 64, 'completion_tokens_details': {'reasoning_tokens': 60}}, False),
    ([{'content': ''}], 'MALFORMED_FUNCTION_CALL', {'completion_tokens': 64}, False),
    ([{'content': ''}], 'stop', {'completion_tokens': 0, 'total_tokens': 99}, False),  # Gemini: the rest is thoughts
])  # fmt: skip
def test_a_stream_that_lost_its_answer_is_no_answer(
    deltas: list[dict[str, Any]], finish: str, usage: dict[str, Any], is_lost: bool
) -> None:
    end = f'data: {json.dumps({"choices": [], "usage": {"prompt_tokens": 9, **usage}})}\n\n'
    body = stream(*deltas, finish=finish, end=end)
    with pytest.raises(Failure, match='parser') if is_lost else nullcontext():
        assert read_reply(body, EVENTS, offers_tools=True).reason is None


def test_an_answer_beside_members_of_errors_or_tools() -> None:
    choices = [{'index': 0, 'message': {'content': 'hi'}, 'finish_reason': 'stop'}]
    body = {'choices': choices, 'code': 0, 'message': 'ok', 'error': None, 'base_resp': {'status_code': 0}}
    assert read_reply(json.dumps(body).encode(), JSON).text == 'hi'
    answer = read_reply(reply(content=''), JSON, offers_tools=True)
    assert (answer.text, answer.calls, answer.reason, answer.finish_reason) == ('', (), None, 'stop')
    for finish in ('content_filter', 'error'):
        with pytest.raises(Failure):
            read_reply(reply(finish, content=None), JSON, offers_tools=True)
    streamed = stream({'content': 'hi'}).replace(b'"delta": {}', b'"delta": {}, "usage": {"prompt_tokens": 7}')
    assert read_message(streamed, EVENTS).tokens('prompt') == 7


@pytest.mark.parametrize(('usage', 'expected'), [
    ({'prompt_tokens': 0, 'completion_tokens': 0}, (None, None)),
    ({'prompt_tokens': 0, 'completion_tokens': 3}, (None, 3)),
    ({'prompt_tokens': 5, 'completion_tokens': 0}, (5, 0)),
])  # fmt: skip
def test_a_usage_of_zero_is_not_reported(usage: dict[str, int], expected: tuple[int | None, int | None]) -> None:
    answer = read_reply(reply(content='hi')[:-1] + f', "usage": {json.dumps(usage)}}}'.encode(), JSON)
    assert answer.usage and (answer.usage.prompt, answer.usage.completion) == expected


@pytest.mark.parametrize(('usage', 'expected'), [
    # prompt, completion, reasoning, cached, and what only the total has
    ({'prompt_tokens': 100, 'completion_tokens': 20, 'total_tokens': 150,
      'completion_tokens_details': {'reasoning_tokens': 30}}, (100, 50, 30, None, None)),  # xAI
    ({'prompt_tokens': 100, 'completion_tokens': 20, 'total_tokens': 150}, (100, 50, None, None, 30)),  # Gemini
    ({'prompt_tokens': 100, 'completion_tokens': 50, 'total_tokens': 150,
      'completion_tokens_details': {'reasoning_tokens': 30}}, (100, 50, 30, None, None)),
    ({'prompt_tokens': 36, 'completion_tokens': 50, 'total_tokens': 150,
      'prompt_tokens_details': {'cached_tokens': 64}}, (36, 50, None, 64, None)),
    ({'prompt_tokens': 100, 'completion_tokens': 20, 'completion_tokens_details': {'reasoning_tokens': 30}},
     (100, 50, 30, None, 30)),
    ({'prompt_tokens': 100, 'completion_tokens': 20, 'total_tokens': 125,
      'completion_tokens_details': {'reasoning_tokens': 4}}, (100, 20, 4, None, None)),
    ({'prompt_tokens': 100, 'completion_tokens': 20, 'total_tokens': 90}, (100, 20, None, None, None)),
    ({'input_tokens': 100, 'output_tokens': 20, 'output_tokens_details': {'reasoning_tokens': 3},
      'input_tokens_details': {'cached_tokens': 64}}, (100, 20, 3, 64, None)),
    ({'prompt_tokens': 100, 'cached_tokens': 64}, (100, None, None, 64, None)),  # Moonshot
    ({'prompt_tokens': 100, 'total_tokens': 150}, (100, None, None, None, None)),
])  # fmt: skip
def test_tokens_that_servers_count_in_totals(usage: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    read = read_reply(reply(content='hi')[:-1] + f', "usage": {json.dumps(usage)}}}'.encode(), JSON).usage
    assert read and (read.prompt, read.completion, read.reasoning, read.cached, read.added) == expected
    assert read_usage(json.loads(json.dumps(read.to_payload()))) == read


def test_a_cost_of_any_size_is_read_or_left_out() -> None:
    for cost in (10**400, float('inf'), -1, True, '1'):
        page = {'choices': [{'message': {'content': 'a'}, 'finish_reason': 'stop'}], 'usage': {'cost': cost}}
        usage = read_reply(json.dumps(page).encode(), JSON).usage
        assert usage and usage.billed is None, cost


def test_tokens_and_costs_of_dialogues_add_up() -> None:
    """Three rounds of xAI's count, then of OpenRouter's with its own cost; a budget gets the same numbers."""
    usage = {'prompt_tokens': 100, 'completion_tokens': 20, 'total_tokens': 150, 'cost': 0.25}
    rounds = [read_reply(reply(content='hi')[:-1] + f', "usage": {json.dumps(usage)}}}'.encode(), JSON).usage] * 3
    total = total_usage(rounds)
    assert total and (total.completion, total.added, total.billed) == (150, 90, 0.75)
    prices = Prices(1.0, 1000.0)
    summary = summary_of([total, total], prices)
    assert summary and summary['added'] == 180 and summary['billed']['total'] == 1.5
    assert summary['cost']['total'] == 2 * (300 + 150_000) / 10**6
    assert Budget('cost', 9, prices).amount(Usage(300, 150)) == summary['cost']['total'] / 2
    (note,) = unclear_tokens({('m', 'd'): {'usage': summary}})
    assert note.line == (
        'NOTE m: 180 tokens of answers are thoughts by the totals of the server, which does not say so (d); they count '
        'and cost as answers'
    )


@pytest.mark.parametrize('pieces', [
    [call('a', '{"x": 1}', id='1'), call('a', '{}', id='2')],
    [call('a', '{"x": 1}', id='1', index=None), call('a', '{}', id='2', index=None)],
    [call('a', '{"x": 1}', id='1', index=0), call('a', '{}', id='2', index=0)],
    [call('a', '{"x": ', id='1'), call(None, '1}'), call('a', '{}', id='2')],
    [call('a', '{"x": ', id='1', index=0), call('a', '1}', id='1', index=0), call('a', '{}', id='2', index=1)],
    [call('a', {'x': 1}, id='1', index=0), call('a', {}, id='2', index=1)],  # type: ignore[arg-type]
    [*[call('a', '{"x": 1}', id='1', index=0)] * 2, call('a', '{}', id='2', index=1)],  # the whole call again
])  # fmt: skip
def test_calls_of_a_stream_are_kept_apart(pieces: list[dict[str, Any]]) -> None:
    body = stream(*({'tool_calls': [piece]} for piece in pieces), finish='tool_calls')
    answer = read_reply(body, EVENTS, offers_tools=True)
    assert answer.calls == (ToolCall('a', {'x': 1}, '1'), ToolCall('a', {}, '2'))


@pytest.mark.parametrize('content', [None, '', 'So.', [{'type': 'text', 'text': ''}]])
def test_whether_a_content_stands_beside_calls(content: Any) -> None:
    """The first piece of a stream is none."""
    calls = [call('f', '{"q":1}', id='a')]
    whole = read_reply(reply('tool_calls', content=content, tool_calls=calls), JSON, offers_tools=True)
    assert (whole.has_content, whole.calls[0].written) == (content is not None, '{"q":1}')
    pieces = [{'tool_calls': [call('f', '{"q"', index=0, id='a')]}, {'tool_calls': [piece(':1}')]}]
    body = stream({'role': 'assistant', 'content': content}, *pieces, finish='tool_calls')
    streamed = read_reply(body, EVENTS, offers_tools=True)
    assert (streamed.has_content, streamed.calls[0].written) == (content not in (None, ''), '{"q":1}')


def detail(index: int | None = 0, kind: str = 'text', **members: Any) -> dict[str, Any]:
    """An item of ``reasoning_details``, or a piece of one."""
    return {'type': f'reasoning.{kind}', **({} if index is None else {'index': index}), **members}


def part(kind: str, text: str, **more: Any) -> dict[str, Any]:
    """A part of a content, as Mistral sends it, or a piece of one."""
    return {'type': kind, kind: [{'type': 'text', 'text': text}] if kind == 'thinking' else text, **more}


def piece(arguments: Any, index: int | None = 0, **more: Any) -> dict[str, Any]:
    """A piece of a call's arguments."""
    return {'index': index, 'function': {'arguments': arguments}, **more}


SIGNATURE = {'google': {'thought_signature': 'c2ln'}}

SHAPES: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    'text': ({'content': '猫a\u2028b'}, [{'content': ''}, {'content': '猫'}, {'content': 'a\u2028b'}]),
    'equal pieces': ({'content': 'hahaha'}, [{'content': 'ha'}] * 3),
    'refusal': ({'refusal': 'I cannot'}, [{'refusal': 'I '}, {'content': None, 'refusal': 'cannot'}]),
    'reasoning': ({'reasoning': 'tt', 'content': 'a'}, [{'reasoning': 't'}, {'reasoning': 't'}, {'content': 'a'}]),
    'both names': (
        {'reasoning_content': 'tu', 'reasoning': 'tu', 'content': 'a'},
        [{'reasoning': text, 'reasoning_content': text, 'content': None} for text in 'tu'] + [{'content': 'a'}],
    ),
    'a text of another member': (
        {'tool_plan': 'I call it.', 'signature': 'AB', 'tags': ['S'], 'content': 'a'},
        [
            {'tool_plan': plan, 'signature': sign, 'tags': ['S'], 'status': status}
            for plan, sign, status in (('I ', 'A', 'begun'), ('call it.', 'B', 'done'), ('', '', 'done'))
        ]
        + [{'content': 'a'}],
    ),
    'details': (
        {'reasoning_details': [detail(text='tu', signature='s', format='f'), detail(1, text='v')], 'content': 'a'},
        [
            {'reasoning_details': [detail(text='t', format='f')]},
            {'reasoning_details': [detail(text='u'), detail(1, text='v')], 'content': ''},
            {'content': 'a'},
            {'reasoning_details': [detail(text='', signature='s')]},
        ],
    ),
    'details without an index': (
        {'reasoning_details': [detail(None, text='tu'), detail(None, 'summary', summary='v')], 'content': 'a'},
        [{'reasoning_details': [detail(None, text=text)]} for text in 'tu']
        + [{'reasoning_details': [detail(None, 'summary', summary='v')]}, {'content': 'a'}],
    ),
    'encrypted details': (
        {'reasoning_details': [detail(0, 'encrypted', data=data, id=data) for data in ('x', 'y')], 'content': 'a'},
        [{'reasoning_details': [detail(0, 'encrypted', data=data, id=data)]} for data in ('x', 'y')]
        + [{'content': 'a'}],
    ),
    'parts': (
        {'content': [part('thinking', 'tu', closed=True), part('text', 'ab')]},
        [{'content': [part('thinking', 't')]}, {'content': [part('thinking', 'u', closed=True)]}]
        + [{'content': text} for text in 'ab'],
    ),
    'text, then parts': (
        {'content': [part('text', 'a'), part('thinking', 't'), part('text', 'b')]},
        [{'content': 'a'}, {'content': [part('thinking', 't')]}, {'content': [part('text', 'b')]}],
    ),
    'a signature in an empty chunk': (
        {'content': 'a', 'extra_content': SIGNATURE},
        [{'content': 'a'}, {'content': '', 'extra_content': SIGNATURE}],
    ),
    'a call in pieces': (
        {'tool_calls': [call('f', '{"q":1 }', id='1')], 'reasoning': 't'},
        [
            {'reasoning': 't'},
            {'tool_calls': [call('f', '', id='1', index=0)]},
            *({'tool_calls': [piece(text)]} for text in '{"q":1 }'),
        ],
    ),
    'several calls in one delta': (
        {'tool_calls': [call('f', '{}', id='1'), call('f', '[1]', id='2')]},
        [
            {'tool_calls': [call('f', '{', id='1', index=0), call('f', '[', id='2', index=1)]},
            {'tool_calls': [piece('1]', 1), piece('}')]},
        ],
    ),
    'signatures of calls': (
        {'tool_calls': [call('f', '{}', id='1', extra_content=SIGNATURE), call('g', '{}', id='2')]},
        [
            {'tool_calls': [call('f', '{}', id='1', index=0)]},
            {'tool_calls': [{'index': 0, 'extra_content': SIGNATURE}, call('g', '{}', id='2', index=1)]},
        ],
    ),
    'arguments that are no text': (
        {'tool_calls': [call('f', {'text': 'a'}, id='1')]},  # type: ignore[arg-type]
        [{'tool_calls': [call('f', {'text': 'a'}, id='1', index=0)]}] * 2,  # type: ignore[arg-type]
    ),
    'the old call': (
        {'function_call': {'name': 'f', 'arguments': '{}'}},
        [{'function_call': {'name': 'f', 'arguments': '{'}}, {'function_call': {'arguments': '}'}}],
    ),
}


def told(reply: Reply) -> tuple[Any, ...]:
    """Message, usage and finish reason of a reply."""
    members = {name: value for name, value in reply.message.items() if value not in (None, '')}
    return members, reply.usage, reply.finish_reason


@pytest.mark.parametrize('end', ['\n\n', '\r\n\r\n', '\n'], ids=repr)
@pytest.mark.parametrize('shape', SHAPES)
def test_a_streamed_answer_equals_the_whole_one(shape: str, end: str) -> None:
    message, deltas = SHAPES[shape]
    usage = {'prompt_tokens': 7, 'completion_tokens': 9}
    page = {'choices': [{'message': {'role': 'assistant', **message}, 'finish_reason': 'stop'}], 'usage': usage}
    whole = read_message(json.dumps(page).encode(), JSON)
    choices = [{'index': 0, 'delta': {'role': 'assistant', **delta}, 'finish_reason': None} for delta in deltas]
    pages: list[dict[str, Any]] = [{'choices': [choice], 'usage': None} for choice in choices]
    pages += [{'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'stop'}]}, {'choices': [], 'usage': usage}]
    lines = (f': alive{end}data: {json.dumps(page, ensure_ascii=False)}' for page in pages)
    body = f'\ufeffid: 1{end}{end.join(lines)}{end}data: [DONE]{end}'.encode()
    for size in (1, 7, len(body)):
        reader = StreamReader()
        ended = [reader.feed(body[at : at + size]) for at in range(0, len(body), size)]
        assert ended[-1] and not any(ended[: -len(end)])
        streamed = reader.reply()
        assert told(streamed) == told(whole)
    for offers_tools in (True, False):
        answers = (answer_of(reply, offers_tools) for reply in (streamed, whole))
        assert next(answers) == next(answers)


@pytest.mark.parametrize(
    'delta',
    [
        {'content': 'ab'}, {'content': [part('thinking', 'a')]}, {'tool_calls': [piece('a')]}, {'content': [1]},
        {'reasoning_details': [detail(text='a')]}, {'tool_calls': [call('a', 'b', id='1')]}, {'x': 1},
    ],
)  # fmt: skip
def test_pieces_without_an_end_are_joined_in_linear_time(delta: dict[str, Any]) -> None:
    line = b'data: %s\n' % json.dumps({'choices': [{'delta': delta}]}).encode()

    def read(text: str) -> None:
        reader = StreamReader()
        reader.feed(line * len(text))
        with pytest.raises(Failure, match='ends without'):
            reader.reply()

    in_linear_time(read, 'a' * 8_000)
