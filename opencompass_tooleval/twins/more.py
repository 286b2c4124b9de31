"""Chooses tools to add to a record: tools of other records that do not fit its request."""

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
"""Maximum overlap of two descriptions: their common words divided by all their words."""
_CHINESE = '\u4e00'


def words(text: str) -> frozenset[str]:
    """Returns the words of a name or a description, without frequent ones; for Chinese, all pairs of characters."""
    found = (word.lower() for word in _WORD.findall(text))
    pairs = (text[i : i + 2] for i in range(len(text) - 1) if text[i] >= _CHINESE and text[i + 1] >= _CHINESE)
    return frozenset({*found, *pairs} - _COMMON)


@dataclass(frozen=True)
class Offered:
    """A tool that a record offers.

    Attributes:
        name: Its name.
        group: Its group: T-Eval's tool of an API, or ToolBench's category; '' if unknown.
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
        """Tests if it may do the same as another tool: same group, a common word in the names, similar descriptions."""
        if self.group and self.group == other.group:
            return True
        if self._of_name & other._of_name or self.name.lower() == other.name.lower():
            return True
        a, b = self._of_description, other._of_description
        return bool(a | b) and len(a & b) > _ALIKE * len(a | b)


@dataclass(frozen=True)
class Most:
    """Limits for the tools added to a record.

    Attributes:
        tools: Maximum number of tools.
        chars: Maximum number of characters of their documentation as JSON; the first tool that exceeds it ends the
            list.
    """

    tools: int
    chars: float = math.inf


def others(own: Collection[Offered], pool: Mapping[str, Offered], most: Most, rng: random.Random) -> list[Any]:
    """Draws tools at random that are not near a tool of the record, and returns their documentation.

    Args:
        own: The record's tools.
        pool: Name -> tool, of all records.
        most: Limits for the added tools.
        rng: The random numbers of the record.

    Raises:
        LeftOutError: There are no such tools, or the first one drawn is too long.
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
    """Returns items with further ones inserted at random places; the order of the given items stays."""
    mixed = list(items)
    for item in more:
        mixed.insert(rng.randrange(len(mixed) + 1), item)
    return mixed
