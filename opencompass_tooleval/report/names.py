"""Readable names of tables and data sets, from their abbrs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from opencompass_tooleval.catalogue.benchmark import OUR_PREFIX, are_agents, find_description
from opencompass_tooleval.catalogue.variants import VariantKind, find_variant
from opencompass_tooleval.plugin import BENCHMARKS, USERS, VARIANTS

LONGEST = 100_000
"""Maximum number of characters of a text; longer ones are cut, with a note."""


def cut(text: str, most: int = LONGEST) -> str:
    """Cuts a text to a maximum number of characters, and adds a note."""
    return text if len(text) <= most else f'{text[:most]}\n[cut: {len(text)} characters]'


def as_text(value: Any) -> str:
    """Converts an answer to text; a list of answers, which some methods store, becomes JSON."""
    return cut(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1))


OTHERS = 'others'
"""Section of data sets from outside this package; the report does not know if more of a metric is better."""

FAMILIES = {
    **{name: find_description(name).title for name in (*BENCHMARKS, *USERS)},
    OTHERS: 'Other data sets',
}
"""Benchmark -> its title; each has a page."""

_KINDS = [find_variant(name) for name in VARIANTS]

_AGENT = '-agent-'
"""Part of an agent's abbr that follows the name of the data, such as in ``tooleval-teval-agent-react``."""

_BENCHMARKS = [find_description(name) for name in BENCHMARKS]

_AGENTS = next(benchmark.name for benchmark in _BENCHMARKS if benchmark.are_agents)

_WORDS = {
    **{benchmark.name: benchmark.title for benchmark in _BENCHMARKS},
    **{word: text for benchmark in _BENCHMARKS for word, text in benchmark.words.items()},
}
"""Word of an abbr -> readable text."""


def family_of(name: str) -> str:
    """Returns the benchmark of a table or a data set; :data:`OTHERS` if it belongs to none."""
    text = name.removeprefix(OUR_PREFIX)
    family = text.replace('_', '-').partition('-')[0]
    if _AGENT in f'{text}-' and not are_agents(family):
        return _AGENTS
    return family if family in FAMILIES else OTHERS


def _kind_of(name: str) -> VariantKind | None:
    return next((kind for kind in _KINDS if kind.is_variant(name)), None)


def is_variant(name: str) -> bool:
    """Tests if a table or a data set is a variant of another, such as one with EasyTool's instructions."""
    return _kind_of(name) is not None


def title_of(name: str) -> str:
    """Converts an abbr to a title, such as ``tooleval-teval-plan_json_v2_zh-easytool`` to
    ``T-Eval plan JSON v2 Chinese, EasyTool instructions``."""
    family = family_of(name)
    if family == OTHERS:
        return FAMILIES.get(name, name)
    text = name.removeprefix(OUR_PREFIX).removeprefix(family).replace(_AGENT, '-')
    kind = _kind_of(name)
    is_loop = are_agents(family) and text.endswith('-fc')
    text, ending = kind.titled(text) if kind and not is_loop else (text, '')
    words = (_WORDS.get(word, word) for word in text.replace('-', '_').split('_') if word)
    return ' '.join([FAMILIES[family], *words]) + (f', {ending}' if ending else '')


def caveats_note(caveats: Iterable[str]) -> str:
    """Joins the distinct reasons why scores are not comparable into a note for a chart; '' without reasons."""
    reasons = '; '.join(dict.fromkeys(caveats))
    return f'Not comparable with published scores: {reasons}.' if reasons else ''
