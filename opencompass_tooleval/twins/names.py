"""Draws new names of tools and fields that are distinct.

Names such as ``tool_1`` and ``tool_17`` would be similar to a sentence encoder, and one would be a prefix of the other,
while published scorers search for names in text. So a name is made of random letters (``opaque``), or of two words of a
list (``plain``). It is drawn only if no other new name and no text of the record contains it. By the encoder of the
scores, the similarity of two new names of tools is at most that of the two most similar old names, or :data:`_FAR` if
that is higher.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from string import ascii_lowercase

from opencompass_tooleval.core.scoring.scorer import Similarity
from opencompass_tooleval.twins.twin import LeftOutError, words_of

OPAQUE, PLAIN = 'opaque', 'plain'
_TOOL_LETTERS, _FIELD_LETTERS = 9, 7
_POOL = 400
"""Number of names of tools to draw from; each is encoded once."""
_MOST_NAMES, _TRIES = 5000, 1000
"""Maximum number of names of a record, since each is compared with the others; and of candidates for a field."""
_FAR = 0.4
"""Similarity below which two names never match: T-Eval needs .7, and the name has a weight of three quarters."""

_FIRST = words_of(
    'amber arctic autumn bronze cedar cobalt copper coral crimson crystal desert distant dusty eastern elder '
    'emerald feather forest frozen garnet gentle golden granite harbor hazel hidden hollow indigo ivory jade '
    'lilac linen lunar maple marble meadow mellow misty mossy northern olive opal orchid pearl pebble plum '
    'polar quiet rustic saffron sandy scarlet silent silver slate snowy solar southern spruce stony sunny '
    'thistle tidal timber velvet violet walnut western wicker willow winter woolen '
)
_SECOND = words_of(
    'acorn anchor anvil apron badger barrel basket beacon beetle blanket bramble bridge bucket button candle '
    'canoe castle cello chimney clover cradle cricket dolphin drum falcon ferry fiddle flute fountain glacier '
    'goblet harp hedge heron island kettle ladder lagoon lantern lemon lighthouse lizard magnet mantle mitten '
    'mountain needle otter paddle parrot penguin pepper pillow pumpkin rabbit raft ribbon saddle shovel sparrow '
    'spindle squirrel teapot tiger trumpet tunnel turnip turtle umbrella valley violin waffle walrus whistle '
    'windmill zebra '
)


def _made_up(rng: random.Random, style: str, letters: int) -> str:
    if style == OPAQUE:
        return ''.join(rng.choices(ascii_lowercase, k=letters))
    return f'{rng.choice(_FIRST)}_{rng.choice(_SECOND)}'


@dataclass(frozen=True)
class Pool:
    """Names from which the tools of the twins of one file get theirs.

    Attributes:
        style: :data:`OPAQUE` or :data:`PLAIN`.
        seed: Seed of the names.
        similarity: The encoder of the scores; None if they use none.
    """

    style: str
    seed: int
    similarity: Similarity | None = None

    @cached_property
    def names(self) -> list[str]:
        """The distinct names."""
        rng = random.Random(f'names/{self.style}/{self.seed}')
        found: dict[str, None] = {}
        while len(found) < _POOL:
            found[_made_up(rng, self.style, _TOOL_LETTERS)] = None
        return list(found)

    @cached_property
    def _alike(self) -> dict[str, dict[str, float]]:
        """Name -> name -> their similarity."""
        if self.similarity is None:
            return {}
        self.similarity.prepare(self.names)
        rows = self.similarity.matrix(self.names, self.names).tolist()
        return {name: dict(zip(self.names, row, strict=True)) for name, row in zip(self.names, rows, strict=True)}

    def nearest(self, names: Sequence[str]) -> float:
        """Returns the similarity of the two most similar names; 1 without an encoder, or for fewer than two names."""
        if self.similarity is None or len(names) < 2:
            return 1.0
        rows = self.similarity.matrix(names, names).tolist()
        return max(float(value) for i, row in enumerate(rows) for value in row[:i])

    def draw(
        self, tools: Sequence[str], fields: Sequence[str], text: str, rng: random.Random
    ) -> tuple[dict[str, str], dict[str, str]]:
        """Returns the new names of tools and of fields.

        Args:
            tools: Names of the tools of a record.
            fields: Names of their parameters and returned fields.
            text: All texts of the record.
            rng: The random numbers of the record.

        Raises:
            LeftOutError: There are too few distinct new names, or the record has too many names.
        """
        if len(tools) + len(fields) > _MOST_NAMES:
            raise LeftOutError('it has too many names')
        text, most_alike = text.lower(), max(self.nearest(tools), _FAR)
        drawn: list[str] = []
        new_tools: dict[str, str] = {}
        candidates = iter(rng.sample(self.names, len(self.names)))
        for tool in tools:
            new_tools[tool] = name = next(self._distinct(candidates, drawn, text, most_alike), '')
            if not name:
                raise LeftOutError('new names would be nearer to each other than the old ones')
            drawn.append(name)
        others = (_made_up(rng, self.style, _FIELD_LETTERS) for _ in iter(int, 1))
        new_fields: dict[str, str] = {}
        for field in fields:
            new_fields[field] = name = next(self._distinct(islice(others, _TRIES), drawn, text, None), '')
            if not name:
                raise LeftOutError('there are too few new names that are distinct')
            drawn.append(name)
        return new_tools, new_fields

    def _distinct(
        self, candidates: Iterator[str], drawn: Collection[str], text: str, most_alike: float | None
    ) -> Iterator[str]:
        """Yields candidates that are distinct from the drawn names and do not occur in the text."""
        for name in candidates:
            near = self._alike.get(name, {}) if most_alike is not None else {}
            if (
                name not in text
                and not any(name in other or other in name for other in drawn)
                and all(near.get(other, 0.0) <= (most_alike or 0.0) for other in drawn)
            ):
                yield name
