"""What tables and data sets are called in plain words, from their abbrs."""

from __future__ import annotations

from opencompass_tooleval.core.benchmark import BENCHMARKS, VARIANTS, find_benchmark, find_variant
from opencompass_tooleval.core.variants import VariantKind

OTHERS = 'others'
"""What belongs to no benchmark of ours: nobody here knows whether more of a metric is better."""

FAMILIES = {**{name: find_benchmark(name).title for name in BENCHMARKS}, OTHERS: 'Other data sets'}
"""Benchmark -> its name; each has a page."""

_KINDS = [find_variant(name) for name in VARIANTS]

_WORDS = {
    'zh': 'Chinese',
    'en': 'English',
    'json': 'JSON',
    'str': 'text',
    'cot': 'chain of thought',
    'react': 'ReAct',
    'easytool': 'EasyTool',
    'tmdb': 'TMDB',
    'g1': 'G1',
    'g2': 'G2',
    'g3': 'G3',
    'spotify': 'Spotify',
}


def family_of(name: str) -> str:
    """The benchmark that a table or a data set belongs to; :data:`OTHERS` if to none of these."""
    text = name.removeprefix('tooleval-')
    family = text.replace('_', '-').partition('-')[0]
    return family if family in FAMILIES else OTHERS


def _kind_of(name: str) -> VariantKind | None:
    return next((kind for kind in _KINDS if kind.is_variant(name)), None)


def is_variant(name: str) -> bool:
    """Whether a table or a data set is a variant of another, such as one with EasyTool's instructions."""
    return _kind_of(name) is not None


def title_of(name: str) -> str:
    """``tooleval-teval-plan_json_v2_zh-easytool`` as ``T-Eval plan JSON v2 Chinese, EasyTool instructions``."""
    family = family_of(name)
    if family == OTHERS:
        return FAMILIES.get(name, name)
    text = name.removeprefix('tooleval-').removeprefix(family)
    kind = _kind_of(name)
    ending = f', {kind.title}' if kind else ''
    rest = text.removesuffix(kind.suffix if kind else '').replace('-', '_').strip('_').split('_')
    return ' '.join([FAMILIES[family], *(_WORDS.get(word, word) for word in rest if word)]) + ending
