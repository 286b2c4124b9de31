"""How an answer to UltraTool is read and scored."""

from __future__ import annotations

from dataclasses import dataclass

SCORINGS = ('official', 'strict')
LISTS = ('last', 'span')
GOLDS = ('official', 'repaired')


@dataclass(frozen=True)
class Protocol:
    """The rules for a run.

    Attributes:
        scoring: ``official`` keeps the published behaviour with its quirks, ``strict`` mends them (see README.md).
        lists: Which list counts in an answer with several. ``last``: the last one (what the authors do for open
            models); ``span``: everything from the first bracket to the last (what they do for GPT).
        gold: Which gold answers the records hold; only said in results, the records decide.

    Raises:
        ValueError: An unknown name.
    """

    scoring: str = 'official'
    lists: str = 'last'
    gold: str = 'official'

    def __post_init__(self) -> None:
        for field, allowed in (('scoring', SCORINGS), ('lists', LISTS), ('gold', GOLDS)):
            if getattr(self, field) not in allowed:
                raise ValueError(f'{field} {getattr(self, field)!r} is none of {", ".join(allowed)}')

    @property
    def strict(self) -> bool:
        """Whether the quirks of the published code are mended."""
        return self.scoring == 'strict'
