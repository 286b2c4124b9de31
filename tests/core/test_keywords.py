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


@pytest.mark.parametrize(('hint', 'right', 'wrong'), [
    (int, [0, -1], ['16', 1.0, True, None, []]),
    (float, [0, 0.5], ['1', False]),
    (bool, [True, 0], ['yes', None, 2]),
    (int | None, [None, 3], ['3']),
    (str | list[str], ['a', ['a']], [1, {}]),
    (Sequence[str], [[], ('a',)], ['a', {}]),
    (Mapping[str, Any] | None, [{}, None], [[('a', 1)], '{}']),
    (Literal['a', 'b'], ['a'], ['c']),
    (Any, [1, None, 'x'], []),
    (Callable[[], int], [len, 'x'], []),
])  # fmt: skip
def test_types(hint: Any, right: list[Any], wrong: list[Any]) -> None:
    keyword = Keyword(hint)
    assert [value for value in right if not keyword.accepts(value)] == []
    assert [value for value in wrong if keyword.accepts(value)] == []
    # A default shows the type where the signature is wrong: ``stop_words: str = []``, ``max_seq_len: int = None``.
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


CLIENT = dict.fromkeys(
    ('path', 'openai_api_base', 'key', 'max_out_len', 'extra_body', 'openai_extra_kwargs', 'x'), Keyword()
)
LOCAL = dict.fromkeys(('path', 'max_out_len', 'generation_kwargs', 'model_kwargs', 'run_cfg', 'x', 'y'), Keyword())


@pytest.mark.parametrize(('keywords', 'name', 'advice'), [
    (CLIENT, 'base_url', 'did you mean openai_api_base?'),
    (CLIENT, 'model', 'did you mean path?'),
    (CLIENT, 'max_completion_token', 'did you mean max_out_len?'),
    (CLIENT, 'enable_thinking', 'did you mean extra_body=dict(chat_template_kwargs=dict(enable_thinking=...))?'),
    (CLIENT, 'reasoning_effort', 'did you mean extra_body=dict(reasoning_effort=...)?'),
    (CLIENT, 'headers', 'did you mean openai_extra_kwargs=dict(extra_headers=...)?'),
    (CLIENT, 'openai_key', 'the page lists its options'),
    (LOCAL, 'temprature', 'did you mean generation_kwargs=dict(temperature=...)?'),
    (LOCAL, 'num_gpu', 'did you mean run_cfg=dict(num_gpus=...)?'),
    (LOCAL, 'gen_kwargs', 'did you mean generation_kwargs or model_kwargs?'),
    (LOCAL, 'a' * 100_000, 'the page lists its options'),
    ({'model_kwargs': Keyword(), 'model_args': Keyword()}, 'model_arg', 'did you mean model_args?'),
    (dict.fromkeys(('tokenizer_path', 'tokenizer_only'), Keyword()), 'tokenizer', 'did you mean tokenizer_path or to'),
])  # fmt: skip
def test_an_unknown_name_is_answered_with_what_it_is_called_here(
    keywords: Mapping[str, Keyword], name: str, advice: str
) -> None:
    """Also one of another class, a client or an engine; never with a list of thirty."""
    (line,) = keyword_faults({name: 1}, keywords, 'Model', page='the page')
    assert line.partition('; ')[2].startswith(advice)
