"""Classification of the errors of servers, in the words of each."""

from __future__ import annotations

import json
import time
from email.utils import formatdate

import pytest

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
    ({'code': 'unsupported_value', 'param': 'temperature'}, 'set temperature by openai_extra_kwargs'),
    ({'code': 'invalid_parameter_error', 'message': 'parameter.enable_thinking must be set to false'},
     'set enable_thinking by openai_extra_kwargs'),
    ({'message': "litellm.UnsupportedParamsError: it does not support parameters: ['top_p']"}, 'set top_p by'),
    ({'code': 'unsupported_value', 'param': 'messages[0].role', 'message': "'x' is not supported"}, ''),
    ({'code': 'invalid_function_parameters', 'message': "schema for function 'f': In context=('properties')"}, ''),
    ({'message': "parameter 'x' is bad"}, ''),
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


def test_retry_after_as_a_date() -> None:
    now = time.time()
    seconds = retry_after(formatdate(now + 30, usegmt=True))  # in whole seconds
    late = time.time() - now
    assert seconds is not None and 29 - late < seconds <= 30
    seconds = retry_after('Sun, 01 Jan 2099 00:00:00 GMT')
    assert seconds is not None and seconds > 10**9
