"""No key in a log."""

from __future__ import annotations

import pytest

from opencompass_tooleval.api.redaction import EXCERPT_CHARS, excerpt, redact, remember_headers, remember_keys


def test_keys_of_configs_and_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    remember_keys(['sk-test-one', 'EMPTY', 'abc'])
    remember_headers({'X-Api-Key': 'header-key', 'Authorization': 'Bearer bearer-key', 'X-Title': 'no secret'})
    monkeypatch.setenv('VENDOR_API_KEY', 'first-of-two, second-of-two')
    monkeypatch.setenv('VENDOR_TOKEN', 'short')
    monkeypatch.setenv('VENDOR_REGION', 'east-of-here')
    text = 'sk-test-one header-key bearer-key first-of-two second-of-two | EMPTY abc no secret short east-of-here'
    assert redact(text) == '[key] [key] [key] [key] [key] | EMPTY abc no secret short east-of-here'


def test_passwords_in_urls() -> None:
    assert redact('http://me:secret@host/v1 a@b') == 'http://[key]@host/v1 a@b'


def test_a_key_at_the_cut_leaves_no_half() -> None:
    remember_keys(['sk-0123456789'])
    for before in range(EXCERPT_CHARS - 20, EXCERPT_CHARS + 5):
        assert 'sk-' not in excerpt('x' * before + 'sk-0123456789' * 1000)


def test_one_line() -> None:
    assert excerpt(' a\n\n b\t c ') == 'a b c'
