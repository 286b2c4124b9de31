"""How an answer to UltraTool is read and scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.presets import PRESETS
from opencompass_tooleval.core.recorded_row import GPT
from opencompass_tooleval.core.subset_names import find_row

SCORINGS = ('official', 'strict')
LISTS = ('last', 'span')
AUTO = 'auto'
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

    def with_shapes(self, shapes: Iterable[str | None]) -> Protocol:
        """The same rules with the reading that fits the files which answers were recorded in.

        Args:
            shapes: Published shape of each answer (:mod:`~opencompass_tooleval.core.recorded_row`); None for those that
                a model gave. ``span`` if all are of the GPT files, else ``last``.
        """
        return replace(self, lists='span' if set(shapes) == {GPT} else 'last')

    @property
    def strict(self) -> bool:
        """Whether the quirks of the published code are mended."""
        return self.scoring == 'strict'


def find_preset(name: str) -> Mapping[str, Any]:
    """The preset called ``name``.

    Raises:
        ValueError: There is none; the message lists those there are.
    """
    return find_row(PRESETS, name, 'UltraTool', 'preset')


def lists_of(preset: str | None, lists: str | None) -> str:
    """Which list counts: what ``preset`` says, or else ``lists``, by default ``last``.

    Raises:
        ValueError: There is no such preset, or it fixes something else than ``lists``.
    """
    if preset is None:
        return lists or 'last'
    fixed = str(find_preset(preset)['lists'])
    if lists not in (None, fixed):
        raise ValueError(f'preset {preset!r} reads lists={fixed!r}: leave lists={lists!r} or the preset out')
    return fixed


def preset_of(shapes: Iterable[str | None], lists: str) -> str | None:
    """The preset that recorded answers were made with and are read by: shapes of files have the names of presets.

    Args:
        shapes: As in :meth:`Protocol.with_shapes`.
        lists: Which list counts.

    Returns:
        None where answers of several shapes, or of none, stand together, or ``lists`` is another than the authors'.
    """
    names = set(shapes)
    name = names.pop() if len(names) == 1 else None
    return name if name is not None and find_preset(name)['lists'] == lists else None
