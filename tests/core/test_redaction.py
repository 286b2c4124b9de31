"""No key in a log."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from opencompass_tooleval.core import redaction
from opencompass_tooleval.core.redaction import EXCERPT_CHARS, excerpt, redact, remember_headers, remember_keys


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


@pytest.mark.parametrize(
    'echoed',
    [
        'sk-a/b+c&d=',
        quote('sk-a/b+c&d=', safe=''),
        quote('sk-a/b+c&d=', safe='').lower(),
        quote('sk-a/b+c&d='),
        'sk-a\\/b+c&d=',
        r'\u0073k-a\u002fb\u002Bc\u0026d=',
        'sk-a/b+c&amp;d=',
        'sk-a&#47;b&#x2B;c&#x0026;d=',
        '%73%6B%2Da%2fb%2Bc%26d%3d',
    ],
)
def test_a_key_that_a_server_escapes(echoed: str) -> None:
    remember_keys(['sk-a/b+c&d='])
    assert excerpt(f'no key {echoed} of yours') == 'no key [key] of yours'


def test_passwords_in_urls() -> None:
    assert redact('http://me:secret@host/v1 a@b') == 'http://[key]@host/v1 a@b'


def test_a_key_at_the_cut_leaves_no_half() -> None:
    remember_keys(['sk-0123456789'])
    for before in range(EXCERPT_CHARS - 20, EXCERPT_CHARS + 5):
        assert 'sk-' not in excerpt('x' * before + 'sk-0123456789' * 1000)


def test_one_line() -> None:
    assert excerpt(' a\n\n b\t c ') == 'a b c'
