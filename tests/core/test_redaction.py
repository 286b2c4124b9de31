"""No key in a log."""

from __future__ import annotations

import base64
from typing import Any
from urllib.parse import quote

import pytest

from opencompass_tooleval.core.text import redaction
from opencompass_tooleval.core.text.redaction import (
    EXCERPT_CHARS,
    excerpt,
    redact,
    remember_config,
    remember_headers,
    remember_keys,
    remember_url,
)
from opencompass_tooleval.models.api.endings import end_of, error_in


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a fresh process: earlier tests leave keys."""
    monkeypatch.setattr(redaction, '_keys', set())


def test_keys_of_configs_and_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    remember_keys(['sk-test-one', 'EMPTY', 'test'])
    remember_headers({'X-Api-Key': 'header-key', 'Authorization': 'Bearer bearer-key', 'X-Title': 'no secret'})
    monkeypatch.setenv('VENDOR_API_KEY', 'first-of-two, second-of-two')
    monkeypatch.setenv('VENDOR_TOKEN', 'short')
    monkeypatch.setenv('VENDOR_REGION', 'east-of-here')
    text = 'sk-test-one header-key bearer-key first-of-two second-of-two | EMPTY args:test no secret short east-of-here'
    assert redact(text) == '[key] [key] [key] [key] [key] | EMPTY args:test no secret short east-of-here'


@pytest.mark.parametrize('echoed', [
    'sk-a/b+c&d=',
    quote('sk-a/b+c&d=', safe=''),
    'sk-a\\/b+c&d=',
    r'\u0073k-a\u002fb\u002Bc\u0026d=',
    '%73%6B%2Da%2fb%2Bc%26d%3d',
])  # fmt: skip
def test_a_key_that_a_server_escapes(echoed: str) -> None:
    remember_keys(['sk-a/b+c&d='])
    assert excerpt(f'no key {echoed} of yours') == 'no key [key] of yours'


def test_an_excerpt_is_one_line_without_passwords_and_halves_of_keys() -> None:
    assert redact('http://me:secret@host/v1 a@b') == 'http://[key]@host/v1 a@b'
    assert excerpt(' a\n\n b\t c ') == 'a b c'
    remember_keys(['sk-0123456789'])
    for before in range(EXCERPT_CHARS - 20, EXCERPT_CHARS + 5):
        assert 'sk-' not in excerpt('x' * before + 'sk-0123456789' * 1000)


def test_no_case_and_no_short_text_of_a_server_shows_a_key() -> None:
    key = 'sk-AbCd0123456789' + 'x' * 70
    remember_keys([key])
    for echoed in (key.upper(), key.lower(), ''.join(f'%{ord(letter):02X}' for letter in key)):
        assert redact(f'a {echoed} b') == 'a [key] b'
        error = error_in({'error': {'message': echoed, 'code': f'bad {echoed}'}})
        assert error and error.code == 'bad [key]' and end_of(f'stop {echoed}') == 'stop [key]'


def shown_nowhere(secret: str, *texts: str) -> None:
    for text in texts:
        assert secret not in redact(text) and secret not in excerpt(text), (text, redact(text))


@pytest.mark.parametrize(('url', 'secret'), [
    ('http://host/v1?key=abcdefgh12', 'abcdefgh12'),
    ('http://host/v1?code=abcdefgh12&api-version=2024-02-01', 'abcdefgh12'),
    ('me:PASS@host/v1', 'PASS'),
    ('http://me:PA/SS@host/v1', 'PA/SS'),
    (f'http://me:{"p" * 500}@host', 'ppp'),
])  # fmt: skip
def test_keys_in_addresses_of_configs(url: str, secret: str) -> None:
    remember_url(url)
    shown_nowhere(secret, url, f'ConnectError: {url}: refused', f'no {url} here')
    assert '2024-02-01' in redact('api-version=2024-02-01') and 'host' in redact(url)


def test_a_login_in_an_address_comes_back_as_basic() -> None:
    remember_url('http://me:PA%40SS@host')
    basic = base64.b64encode(b'me:PA@SS').decode()
    shown_nowhere(basic, f'Authorization: Basic {basic}')


@pytest.mark.parametrize(('cfg', 'echoed', 'secret'), [
    ({'extra_headers': {'Authorization': 'Basic bWU6cGFzc3dvcmQx'}}, 'Basic bWU6cGFzc3dvcmQx', 'bWU6cGFzc3dvcmQx'),
    ({'extra_headers': {'Authorization': 'Basic bWU6cGFzc3dvcmQx'}}, 'me:password1', 'password1'),
    ({'extra_query': {'subscription': 'abcdefgh12'}}, '?subscription=abcdefgh12', 'abcdefgh12'),
    ({'headers': {'Cookie': 'a=1; session=abcdefgh12'}}, 'session=abcdefgh12', 'abcdefgh12'),
    ({'headers': {'X-Auth': 'abcdefgh12'}}, 'X-Auth: abcdefgh12', 'abcdefgh12'),
    ({'a': [{'api_key': 'abcdefgh12'}]}, 'abcdefgh12', 'abcdefgh12'),
    ({'key': ['abcdefgh12', 'ijklmnop34']}, 'ijklmnop34', 'ijklmnop34'),
    ({'proxy': 'http://me:abcdefgh12@proxy'}, 'abcdefgh12', 'abcdefgh12'),
])  # fmt: skip
def test_what_a_config_calls_a_secret_or_sends_as_one(cfg: dict[str, Any], echoed: str, secret: str) -> None:
    remember_config(cfg)
    shown_nowhere(secret, f'denied: {echoed}')


def test_settings_that_are_no_secrets() -> None:
    headers = {'X-Author': 'somebody else', 'Content-Type': 'application/json'}
    remember_config({'max_tokens': 'unlimited', 'headers': headers, 'query': {'api-version': '2024-02-01'}})
    remember_config({'url': 'http://127.0.0.1:8000/v1'})
    text = 'unlimited somebody else application/json 2024-02-01 http://127.0.0.1:8000/v1'
    assert redact(text) == text
