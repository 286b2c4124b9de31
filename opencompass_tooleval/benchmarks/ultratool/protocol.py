"""How an answer to UltraTool is read and scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.prompt_styles import PROMPT_STYLES
from opencompass_tooleval.core.recorded_row import GPT
from opencompass_tooleval.core.subset_names import find_row

SCORINGS = ('official', 'strict')
LIST_CHOICES = ('last', 'span')
AUTO = 'auto'
GOLDS = ('official', 'repaired')


@dataclass(frozen=True)
class Protocol:
    """The rules for a run.

    Attributes:
        scoring: ``official`` keeps the published behaviour with its quirks, ``strict`` fixes them (see
            docs/explanation/ultratool.md).
        list_choice: Which list counts in an answer with several. ``last``: the last one (what the authors do for open
            models); ``span``: everything from the first bracket to the last (what they do for GPT).
        gold: Which gold answers the records hold; only said in results, the records decide.

    Raises:
        ValueError: An unknown name.
    """

    scoring: str = 'official'
    list_choice: str = 'last'
    gold: str = 'official'

    def __post_init__(self) -> None:
        for field, allowed in (('scoring', SCORINGS), ('list_choice', LIST_CHOICES), ('gold', GOLDS)):
            if getattr(self, field) not in allowed:
                raise ValueError(f'{field} {getattr(self, field)!r} is none of {", ".join(allowed)}')

    def with_shapes(self, shapes: Iterable[str | None]) -> Protocol:
        """The same rules with the reading that fits the files which answers were recorded in.

        Args:
            shapes: Published shape of each answer (:mod:`~opencompass_tooleval.core.recorded_row`); None for those that
                a model gave. ``span`` if all are of the GPT files, else ``last``.
        """
        return replace(self, list_choice='span' if set(shapes) == {GPT} else 'last')

    @property
    def strict(self) -> bool:
        """Whether the quirks of the published code are fixed."""
        return self.scoring == 'strict'


def find_prompt_style(name: str) -> Mapping[str, Any]:
    """The prompt style called ``name``.

    Raises:
        ValueError: There is none; the message lists those there are.
    """
    return find_row(PROMPT_STYLES, name, 'UltraTool', 'prompt style')


def list_choice_of(prompt_style: str | None, list_choice: str | None) -> str:
    """Which list counts: what ``prompt_style`` says, or else ``list_choice``, by default ``last``.

    Raises:
        ValueError: There is no such prompt style, or it fixes something else than ``list_choice``.
    """
    if prompt_style is None:
        return list_choice or 'last'
    fixed = str(find_prompt_style(prompt_style)['list_choice'])
    if list_choice not in (None, fixed):
        raise ValueError(
            f'prompt_style={prompt_style!r} reads list_choice={fixed!r}: '
            f'leave list_choice={list_choice!r} or prompt_style out'
        )
    return fixed


def prompt_style_of(shapes: Iterable[str | None], list_choice: str) -> str | None:
    """The prompt style that recorded answers were made with and are read by: shapes of files have the names of prompt
    styles.

    Args:
        shapes: As in :meth:`Protocol.with_shapes`.
        list_choice: Which list counts.

    Returns:
        None where answers of several shapes, or of none, stand together, or ``list_choice`` is another than the
        authors'.
    """
    names = set(shapes)
    name = names.pop() if len(names) == 1 else None
    return name if name is not None and find_prompt_style(name)['list_choice'] == list_choice else None
