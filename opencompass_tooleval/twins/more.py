"""Chooses further tools for a record: those of other records that do not fit its request."""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from opencompass_tooleval.twins.twin import LeftOutError, words_of

_WORD = re.compile(r'[A-Z]?[a-z]{2,40}|[A-Z]{2,40}|[\u4e00-\u9fff]{2}')
_COMMON = frozenset(
    words_of(
        'get set add new the and for with from all list find search query check create delete update info information '
        'data by of to use used using tool api specified specific given based user return returns retrieve obtain '
        'according 根据 指定 用户 获取 查询 信息 工具 用于 进行 提供'
    )
)
_ALIKE = 0.2
"""Most that the words of two descriptions may have in common: the share of common words in all of both."""
_CHINESE = '\u4e00'


def words(text: str) -> frozenset[str]:
    """Returns the words of a name or a description, without common ones; of Chinese, every two characters."""
    found = (word.lower() for word in _WORD.findall(text))
    pairs = (text[i : i + 2] for i in range(len(text) - 1) if text[i] >= _CHINESE and text[i + 1] >= _CHINESE)
    return frozenset({*found, *pairs} - _COMMON)


@dataclass(frozen=True)
class Offered:
    """A tool that records offer.

    Attributes:
        name: Its name.
        group: What it belongs to: T-Eval's tool of an API, ToolBench's category; '' if unknown.
        description: Its description.
        value: Its documentation.
    """

    name: str
    group: str
    description: str
    value: Any

    @cached_property
    def _of_name(self) -> frozenset[str]:
        return words(self.name)

    @cached_property
    def _of_description(self) -> frozenset[str]:
        return words(self.description)

    def is_near(self, other: Offered) -> bool:
        """Tests if it may do what another tool does: same group, a common word in the names, or alike descriptions."""
        if self.group and self.group == other.group:
            return True
        if self._of_name & other._of_name or self.name.lower() == other.name.lower():
            return True
        a, b = self._of_description, other._of_description
        return bool(a | b) and len(a & b) > _ALIKE * len(a | b)


@dataclass(frozen=True)
class Most:
    """Most that is added to a record.

    Attributes:
        tools: Number of tools.
        chars: Characters of their documentation as JSON; a tool that does not fit, and those after it, are left out.
    """

    tools: int
    chars: float = math.inf


def others(own: Collection[Offered], pool: Mapping[str, Offered], most: Most, rng: random.Random) -> list[Any]:
    """Returns the documentation of tools that are near to none of a record's, drawn at random.

    Args:
        own: The record's tools.
        pool: Name -> tool, of all records.
        most: How much to add.
        rng: The random numbers of the record.

    Raises:
        LeftOutError: There is none, or none fits.
    """
    chosen, chars = list[Any](), most.chars
    for name in rng.sample(sorted(pool), len(pool)):
        if len(chosen) == most.tools:
            break
        if not any(pool[name].is_near(tool) for tool in own):
            chars -= len(json.dumps(pool[name].value, ensure_ascii=False))
            if chars < 0:
                break
            chosen.append(pool[name].value)
    if not chosen:
        raise LeftOutError('no other tool fits' if chars < 0 else 'no other tools')
    return chosen


def inserted(items: Sequence[Any], more: Sequence[Any], rng: random.Random) -> list[Any]:
    """Returns items with further ones at random places; the order of the first stays."""
    mixed = list(items)
    for item in more:
        mixed.insert(rng.randrange(len(mixed) + 1), item)
    return mixed
