"""Draws distractor tools with a seed, but none that could do the step.

Two tools could do the same step (:func:`same_function`) if one of these is true:

1. they have the same name, except for case, underscores and order of words;
2. they have the same description, except for case and punctuation;
3. their names are similar: after merging synonyms (search, find, query, ...) and cutting endings, their words are
equal,
   or the words of one are a subset of the other's (``balance_query``, ``account_balance_query``), or more than half are
   shared;
4. their descriptions share more than half of their pairs of letters;
5. they have the same arguments and the same results, by name, and both are not empty.

In doubt a tool is left out: too easy a distractor costs little, a second correct answer costs a point.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import PlanSample, RawTool, properties

_SYNONYMS = (
    'look: search find query get retrieve check lookup view select filter fetch inquiry inquire obtain show list read',
    'make: create add set new generate write compose build',
    'drop: delete remove cancel clear close stop',
    'edit: modify update change adjust reschedule append',
    'book: book buy purchase reserve reservation order ticket',
    'send: send notify notification message share',
    'confirm: confirm verify validate',
    'count: calculate compute count sum summarize',
    ': tool the a an of for to by and service info information detail system',
)
_ROOTS = {word: root for row in _SYNONYMS for root, _, words in [row.partition(':')] for word in words.split()}
_WORD = re.compile(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\da-zA-Z_]+')


def _root(word: str) -> str:
    word = word.lower()
    for ending in ('', 's', 'ing', 'ings', 'ed', 'er', 'es'):
        stem = word.removesuffix(ending) if ending else word
        for candidate in (stem, f'{stem}e'):
            if candidate in _ROOTS:
                return _ROOTS[candidate]
    for ending in ('ing', 'ed', 's'):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            return word.removesuffix(ending)
    return word


def name_words(name: str) -> frozenset[str]:
    """Returns the words of a name, with synonyms merged: ``queryHotelBookings`` -> ``{'look', 'hotel', 'book'}``."""
    return frozenset(filter(None, (_root(word) for word in _WORD.findall(name))))


@dataclass(frozen=True)
class _Face:
    """Properties of a tool that the criterion compares."""

    spelled: tuple[str, ...]
    words: frozenset[str]
    description: str
    pairs: frozenset[str]
    arguments: frozenset[str]
    results: frozenset[str]


def _face(tool: RawTool) -> _Face:
    name = str(tool['name'])
    description = re.sub(r'[\W_]+', '', str(tool.get('description', '')).lower())
    results: Any = tool.get('results', {})
    result_names = results.get('properties', {}) if isinstance(results, dict) else {}
    return _Face(
        spelled=tuple(sorted(word.lower() for word in _WORD.findall(name))),
        words=name_words(name),
        description=description,
        pairs=frozenset(description[i : i + 2] for i in range(len(description) - 1)),
        arguments=frozenset(properties(tool)),
        results=frozenset(result_names),
    )


def _mostly_shared(first: frozenset[str], second: frozenset[str]) -> bool:
    return bool(first and second) and 2 * len(first & second) > len(first | second)


def _alike(first: _Face, second: _Face) -> bool:
    if first.spelled == second.spelled or (first.description and first.description == second.description):
        return True
    if first.words and second.words and (first.words <= second.words or second.words <= first.words):
        return True
    if _mostly_shared(first.words, second.words) or _mostly_shared(first.pairs, second.pairs):
        return True
    same_arguments = bool(first.arguments) and first.arguments == second.arguments
    return same_arguments and bool(first.results) and first.results == second.results


def same_function(first: RawTool, second: RawTool) -> bool:
    """Tests if two tools could do the same step, as the module describes."""
    return _alike(_face(first), _face(second))


@dataclass
class ToolPool:
    """All tools of a set of samples, each name once, to draw distractors from."""

    tools: dict[str, RawTool]
    _faces: dict[str, _Face] = field(init=False, repr=False)
    _rivals: dict[str, frozenset[str]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._faces = {name: _face(tool) for name, tool in self.tools.items()}

    @classmethod
    def of(cls, samples: Iterable[PlanSample]) -> ToolPool:
        """Creates the pool of all tools of ``samples``; a repeated name keeps its first definition."""
        tools: dict[str, RawTool] = {}
        for sample in samples:
            for tool in sample.tools:
                tools.setdefault(str(tool['name']), tool)
        return cls(tools)

    def rivals(self, name: str) -> frozenset[str]:
        """Returns the names of all tools in the pool that could replace ``name``, including ``name``."""
        if name not in self._rivals:
            face = self._faces[name]
            self._rivals[name] = frozenset(other for other, seen in self._faces.items() if _alike(face, seen))
        return self._rivals[name]

    def draw(self, sample_tools: Collection[str], count: int, rng: random.Random) -> list[RawTool]:
        """Draws ``count`` tools, none of which could replace one of ``sample_tools``.

        The first tools do not depend on ``count``: toolsets of 32 contain those of 8.

        Raises:
            ValueError: Not enough tools are left; the error has their number.
        """
        barred = frozenset().union(*(self.rivals(name) for name in sample_tools))
        names = sorted(self.tools)
        rng.shuffle(names)
        drawn = [self.tools[name] for name in names if name not in barred][:count]
        if len(drawn) < count:
            raise ValueError(
                f'{count} distractors are needed, but only {len(drawn)} of the {len(names)} tools cannot do its steps'
            )
        return drawn
