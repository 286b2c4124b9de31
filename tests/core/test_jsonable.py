"""core/jsonable: every value of a model's answer can be written as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencompass_tooleval.core.text.jsonable import MAX_DEPTH, clean_text, printable, to_jsonable

TEXTS = st.text(st.characters(codec=None))  # with lone surrogates
HASHABLE = (
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.binary() | st.tuples(TEXTS, st.just(...))
)
ODD = st.recursive(
    HASHABLE | st.sets(HASHABLE, max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HASHABLE, inner, max_size=4) | st.tuples(inner, inner),
    max_leaves=15,
)


@given(ODD)
def test_strict_json_in_utf8(value: Any) -> None:
    plain = to_jsonable(value)
    text = json.dumps(plain, allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode('utf-8')) == plain


PLAIN: list[tuple[Any, Any]] = [
    (True, True),
    (math.nan, 'nan'),
    (-math.inf, '-inf'),
    ('é\U0001f600', 'é\U0001f600'),
    ('a\udc80', 'a\\udc80'),
    ((1, [2, (3,)]), [1, [2, [3]]]),
    ({1: 'a', None: 'b', (1, 2): 'c', '\ud800': 1}, {'1': 'a', 'None': 'b', '(1, 2)': 'c', '\\ud800': 1}),
    ({7}, '{7}'),
    (b'x', "b'x'"),
    (..., 'Ellipsis'),
]


@pytest.mark.parametrize(('value', 'expected'), PLAIN)
def test_exact(value: Any, expected: Any) -> None:
    plain = to_jsonable(value)
    assert plain == expected and type(plain) is type(expected)


def test_what_is_too_deep_or_too_large_is_cut() -> None:
    value: Any = 'end'
    for _ in range(5000):
        value = [value]
    plain = to_jsonable(value)
    for _ in range(MAX_DEPTH):
        assert len(plain) == 1
        plain = plain[0]
    assert plain == '...'
    # ``ast.literal_eval`` returns it for ``0x1000...``.
    assert json.dumps(to_jsonable([1 << 20_000, {1 << 20_000: 1}]), allow_nan=False)


@given(TEXTS)
def test_clean_text(text: str) -> None:
    clean = clean_text(text)
    assert clean.encode('utf-8').decode('utf-8') == clean
    if not any('\ud800' <= char <= '\udfff' for char in text):
        assert clean == text
    assert printable('a\x1b[31m\x00\x9b\r\tb\n\u6c49') == 'a\\x1b[31m\\x00\\x9b\\x0d\tb\n\u6c49'
