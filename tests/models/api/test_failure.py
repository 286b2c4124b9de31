"""Classification of the errors of servers, in the words of each."""

from __future__ import annotations

import json
import re
import time
from email.utils import formatdate

import pytest
from multidict import CIMultiDict

from opencompass_tooleval.models.api.failure import failure_of_status, retry_after


@pytest.mark.parametrize(('status', 'words'), [
    (400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens"),
    (400,
     '{"error":{"code":400,"message":"request (4390 tokens) exceeds the available context size (4096 tokens), '
     'try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4390,"n_ctx":4096}}'),
    (500, '{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}'),
    (400, 'Requested tokens (2285) exceed context window of 2048'),
    (400, 'The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).'),
    (400, '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]'),
    (400, 'Invalid request: Your request exceeded model token limit: 8192'),
    (400, 'prompt is too long: 210000 tokens > 200000 maximum'),
    (422, 'Please reduce the length of the messages or completion.'),
    (413, '<html><head><title>413 Request Entity Too Large</title></head></html>'),
])  # fmt: skip
def test_too_long_in_many_words(status: int, words: str) -> None:
    failure = failure_of_status(status, {}, words)
    assert failure.reason == 'infra:truncated'
    assert failure.again == (status >= 500)
    assert not failure.ends


@pytest.mark.parametrize(('status', 'words', 'reason', 'again', 'ends'), [
    (504, 'the request took too long', 'infra:server', True, False),
    (408, 'the request took too long', 'infra:timeout', True, False),
    (400, 'temperature: bad value', 'infra:bad_request', False, False),
    (422, '{"detail":[{"input":"the insufficient_quota of my prompt"}]}', 'infra:bad_request', False, False),
    (403, 'Your chosen model requires moderation and your input was flagged', 'infra:filter', False, False),
    (403, 'Forbidden', 'infra:bad_request', False, True),
    (403, ' <html><title>ERROR</title><body>Access Denied.', 'infra:bad_request', False, False),
    (400, '[{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid. Please pass one"}}]',
     'infra:bad_request', False, True),
    (400, '{"error": {"code": 400, "message": "x", "details": [{"reason": "API_KEY_INVALID"}]}}', 'infra:bad_request',
     False, True),
    (500, '{"error": {"code": "1113", "message": "x"}}', 'infra:bad_request', False, True),
    (400, '{"error": {"code": "content_filter", "param": "prompt", "message": "x"}}', 'infra:filter', False, False),
    (402, 'Insufficient Balance', 'infra:bad_request', False, True),
    (429, '{"error":{"code": "insufficient_quota"}}', 'infra:bad_request', False, True),
    (400, '{"code":"Arrearage","message":"Access denied"}', 'infra:bad_request', False, True),
    (429, 'too many requests', 'infra:rate_limit', True, False),
])  # fmt: skip
def test_other_errors(status: int, words: str, reason: str, again: bool, ends: bool) -> None:
    failure = failure_of_status(status, {}, words)
    assert (failure.reason, failure.again, failure.ends) == (reason, again, ends)


@pytest.mark.parametrize(('error', 'fix'), [
    ({'code': 'unsupported_parameter', 'param': 'max_tokens'}, "set token_limit_key='max_completion_tokens'"),
    ({'message': "Unsupported parameter: 'max_completion_tokens'"}, "set token_limit_key='max_tokens'"),
    ({'code': 'unsupported_value', 'param': 'temperature'}, 'set openai_extra_kwargs=dict(temperature=None)'),
    ({'code': 'invalid_request_error', 'message': '`temperature` is deprecated for this model.'},
     'set openai_extra_kwargs=dict(temperature=None)'),
    ({'message': 'invalid temperature: only 1 is allowed for this model', 'type': 'invalid_request_error'},
     'set openai_extra_kwargs=dict(temperature=None)'),
    ({'message': 'Unrecognized request argument supplied: parallel_tool_calls'},
     'set openai_extra_kwargs=dict(parallel_tool_calls=None)'),
    ({'code': 'invalid_parameter_error', 'message': 'parameter.enable_thinking must be set to false'},
     'set enable_thinking by openai_extra_kwargs'),
    ({'message': "litellm.UnsupportedParamsError: it does not support parameters: ['top_p']"}, 'set top_p by'),
    ({'code': 'unsupported_value', 'param': 'messages[0].role', 'message': "'x' is not supported"}, ''),
    ({'code': 'invalid_function_parameters', 'message': "schema for function 'f': In context=('properties')"}, ''),
    ({'message': "parameter 'x' is bad"}, ''),
    ({'message': "This model does not support the value 'auto' for tool_choice"}, ''),
    ({'message': "Function schema does not support the field 'default'"}, ''),
    ({'message': "property 'reasoning_content' is unsupported"}, ''),
])  # fmt: skip
def test_a_refused_setting_is_shown_with_its_fix(error: dict[str, str], fix: str) -> None:
    words = failure_of_status(400, {}, json.dumps({'error': {'message': 'refused', **error}})).words
    assert words.partition('; ')[2].startswith(fix) and bool(fix) == ('; ' in words)


def test_a_proxy_without_a_server_behind_is_no_connection_and_a_long_error_is_cut() -> None:
    for status, no_connection in ((502, True), (521, True), (500, False), (503, False)):
        assert failure_of_status(status, {}, '').no_connection == no_connection
    assert len(failure_of_status(500, {}, 'x' * 10**6).words) < 400


@pytest.mark.parametrize(('value', 'expected'), [
    ('7', 7.0),
    ('0.5', 0.5),
    ('86400', 86400.0),
    ('1e308', 1e308),
    *(
        (value, None)
        for value in ('-1', 'nan', 'inf', '-inf', '', 'soon', None, 'Wed, 21 Oct 2015 07:28:00 GMT', 'x' * 9999)
    ),
])  # fmt: skip
def test_retry_after_in_seconds(value: str | None, expected: float | None) -> None:
    assert retry_after(value) == expected


@pytest.mark.parametrize(('status', 'headers', 'expected'), [
    (429, {'Retry-After': 'NOW+30'}, 30),
    (429, {'Retry-After': 'NOW_MS+30000'}, 30),
    (429, {'Retry-After': '2s'}, 2),
    (429, {'retry-after-ms': '1500', 'Retry-After': '2'}, 1.5),
    (429, {'x-ratelimit-reset-requests': '6m0s', 'x-ratelimit-reset-tokens': '20ms'}, 360),
    (429, {'x-ratelimit-reset-requests': '1h1m', 'x-ratelimit-remaining-requests': '3',
           'X-RateLimit-Reset-Tokens': '7.66s', 'x-ratelimit-remaining-tokens': '0'}, 7.66),
    (429, {'X-RateLimit-Reset': 'NOW_MS+30000', 'X-RateLimit-Remaining': '0'}, 30),  # OpenRouter
    (429, {'Retry-After': '9', 'x-ratelimit-reset-tokens': '1s'}, 9),
    (503, {'x-ratelimit-reset-tokens': '1s'}, 1),
    (429, {'x-ratelimit-reset-requests': '2h24m', 'x-ratelimit-remaining-requests': '9000'}, None),
    (503, {'x-ratelimit-reset-requests': '6ms', 'x-ratelimit-remaining-requests': '0'}, None),
    (500, {'x-ratelimit-reset-tokens': '1s'}, None),
    (429, {'x-ratelimit-reset-tokens': 'soon', 'x-ratelimit-limit-tokens': '9'}, None),
    (429, {'Retry-After': 'NOW-30'}, None),
])  # fmt: skip
def test_the_wait_that_headers_ask_for(status: int, headers: dict[str, str], expected: float | None) -> None:
    now = time.time()

    def filled(value: str) -> str:
        unit, sign, rest = re.match(r'(?:NOW(_MS)?([+-]))?(.*)', value).groups()
        return str(int(now * (1000 if unit else 1)) + int(f'{sign}{rest}')) if sign else value

    failure = failure_of_status(status, CIMultiDict({name: filled(value) for name, value in headers.items()}), '')
    late = time.time() - now + 1  # in whole seconds
    assert (failure.wait is None) == (expected is None)
    assert expected is None or expected - late <= (failure.wait or 0) <= expected


@pytest.mark.parametrize('words', [
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1900 `inputs` tokens',
    'The sum of prompt length (1900.0) and query length (0) max_tokens (600) exceeds max_seq_len (2048)',
    'The input prompt token_num=3000 exceeds session_len=2048',
    'Prompt length (9000) exceeds maximum input length. Set max_input_len accordingly.',
])  # fmt: skip
def test_words_for_a_full_context(words: str) -> None:
    assert failure_of_status(422, {}, json.dumps({'error': words})).reason == 'infra:truncated'


@pytest.mark.parametrize(('status', 'words'), [
    (404, 'No endpoints found that support tool use. To learn more about provider routing, visit the documentation'),
    (400, 'registry.ollama.ai/library/m:latest does not support tools'),
    (500, 'tools param requires --jinja flag'),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
])  # fmt: skip
def test_a_model_without_tools_has_one_cause_and_does_not_end_the_run(status: int, words: str) -> None:
    failure = failure_of_status(status, {}, json.dumps({'error': {'message': words, 'code': status}}))
    assert (failure.reason, failure.again, failure.ends) == ('infra:bad_request', False, False)
    assert failure.words.startswith(f'this model or server takes no tools: status {status}')


@pytest.mark.parametrize('status', [429, 502, 503])
def test_a_server_that_takes_no_tools_now_may_take_them_later(status: int) -> None:
    assert failure_of_status(status, {}, 'No available providers that support tool use, try again').again


def test_a_redirect_shows_where_to_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'sk-0123456789')
    failure = failure_of_status(302, {'location': 'https://sso.example.org/?key=sk-0123456789'}, '')
    assert failure.words.startswith(
        'status 302: redirects to https://sso.example.org/?key=[key], which is not followed'
    )


def test_retry_after_as_a_date() -> None:
    now = time.time()
    seconds = retry_after(formatdate(now + 30, usegmt=True))  # in whole seconds
    late = time.time() - now
    assert seconds is not None and 29 - late < seconds <= 30
    seconds = retry_after('Sun, 01 Jan 2099 00:00:00 GMT')
    assert seconds is not None and seconds > 10**9
