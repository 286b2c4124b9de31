"""core/fullwidth: JSON as a Chinese keyboard writes it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.text.fullwidth import ascii_punctuation, read_either, tidy
from opencompass_tooleval.core.text.reading import parse_literal


@pytest.mark.parametrize(('text', 'value'), [
    ('｛"a"：［1，2］｝', {'a': [1, 2]}),
    ('{“a”：“b：c，d”}', {'a': 'b：c，d'}),
    ("｛'a'：'b：c'｝", {'a': 'b：c'}),
    ('{“a”: “he said "b"”}', {'a': 'he said "b"'}),
    ('{“a”: “he said \\"b\\"”}', {'a': 'he said "b"'}),
    ('{"“"：1}', {'“': 1}),
])  # fmt: skip
def test_full_width_punctuation_is_read(text: str, value: object) -> None:
    parsed = read_either(text, parse_literal)
    assert (parsed.value, parsed.parse_method) == (value, 'fullwidth')


@given(st.recursive(st.none() | st.integers(-9, 9) | st.text(alphabet='：，“”｛［a"\\', max_size=6), st.lists))
def test_json_is_never_altered(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert ascii_punctuation(text) == text
    assert read_either(text, parse_literal).parse_method != 'fullwidth'


def test_what_cannot_be_read_keeps_its_reason_and_marks_of_windows_are_removed() -> None:
    assert read_either('［1，', parse_literal).reason == 'parse:not_json'
    assert tidy('\ufeff a\r\nb \r\n') == 'a\nb'
    assert tidy('a\ufeffb') == 'a\ufeffb'
