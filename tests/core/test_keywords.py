"""core/keywords: which keywords a class reads, and which values have their type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pytest

from opencompass_tooleval.core.keywords import Keyword, initializers, keyword_faults, keywords_of


class Base:
    def __init__(self, path: str, size: int = 4, hidden: int = 0) -> None:
        pass


class PassesOn(Base):
    def __init__(self, *, words: Sequence[str] = (), size: str = '', **kwargs: Any) -> None:
        pass


class Silent(PassesOn):
    pass


class KeepsTo(Base):
    def __init__(self, words: Sequence[str]) -> None:
        pass


def test_what_is_passed_on_is_read_too() -> None:
    keywords = keywords_of(initializers(Silent))
    assert set(keywords) == {'words', 'size', 'path', 'hidden'}
    assert keywords['size'].hint is str  # the class reads it before its base
    assert set(keywords_of(initializers(KeepsTo))) == {'words'}


@pytest.mark.parametrize(
    ('hint', 'right', 'wrong'),
    [
        (int, [0, -1], ['16', 1.0, True, None, []]),
        (float, [0, 0.5], ['1', False]),
        (str, [''], [1, None, ['a'], b'']),
        (bool, [True, 0], ['yes', None, 2]),
        (int | None, [None, 3], ['3']),
        (str | list[str], ['a', ['a']], [1, {}]),
        (Sequence[str], [[], ('a',)], ['a', {}]),
        (dict, [{}], [[], 'a']),
        (Mapping[str, Any] | None, [{}, None], [[('a', 1)], '{}']),
        (Literal['a', 'b'], ['a'], ['c']),
        (Any, [1, None, 'x'], []),
        (Callable[[], int], [len, 'x'], []),
    ],
)
def test_types(hint: Any, right: list[Any], wrong: list[Any]) -> None:
    keyword = Keyword(hint)
    assert [value for value in right if not keyword.accepts(value)] == []
    assert [value for value in wrong if keyword.accepts(value)] == []


def test_a_default_shows_the_type_where_the_signature_is_wrong() -> None:
    """As in OpenCompass's ``stop_words: Optional[str] = []`` and ``max_seq_len: int = None``."""
    assert Keyword(str, []).accepts(['a']) and Keyword(int, None).accepts(None)


def test_sentences() -> None:
    keywords = {'size': Keyword(int), 'names': Keyword(str | list[str])}
    settings = {'sise': 1, 'other': 2, 'size': '3', 'names': {'a': 'x' * 200}}
    assert list(keyword_faults(settings, keywords, 'Model', lambda name: name == 'names')) == [
        'Model does not read sise; did you mean size?',
        'Model does not read other; it reads names, size',
        "size='3' of Model should be int, not str",
        'names=... of Model should be str or list, not dict',
    ]
