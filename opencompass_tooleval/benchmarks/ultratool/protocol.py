"""Rules for reading and scoring answers to UltraTool."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.subsets import PROMPT_STYLES
from opencompass_tooleval.catalogue.subset_names import find_row
from opencompass_tooleval.work_dir.recorded import GPT

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
        list_choice: The list that is scored in an answer with several. ``last``: the last one (the authors' choice for
            open models); ``span``: everything from the first bracket to the last (their choice for GPT).
        gold: The gold answers in the records; for results only, since the records decide.

    Raises:
        ValueError: An unknown name.
    """

    scoring: str = 'official'
    list_choice: str = 'last'
    gold: str = 'official'

    def __post_init__(self) -> None:
        for field, allowed in (('scoring', SCORINGS), ('list_choice', LIST_CHOICES), ('gold', GOLDS)):
            if getattr(self, field) not in allowed:
                raise ValueError(f'{field} {getattr(self, field)!r} is not one of {", ".join(allowed)}')

    def with_shapes(self, shapes: Iterable[str | None]) -> Protocol:
        """Returns the rules with the reader for the files in which answers were recorded.

        Args:
            shapes: Published shape of each answer (:mod:`~opencompass_tooleval.work_dir.recorded`); None for answers
                of a model. ``span`` if all are of the GPT files, else ``last``.
        """
        return replace(self, list_choice='span' if set(shapes) == {GPT} else 'last')

    @property
    def strict(self) -> bool:
        """True if the quirks of the published code are fixed."""
        return self.scoring == 'strict'


def find_prompt_style(name: str) -> Mapping[str, Any]:
    """Returns the prompt style called ``name``.

    Raises:
        ValueError: There is none; the message lists the existing ones.
    """
    return find_row(PROMPT_STYLES, name, 'UltraTool', 'prompt style')


def list_choice_of(prompt_style: str | None, list_choice: str | None) -> str:
    """Returns ``list_choice`` of ``prompt_style``, or else ``list_choice``; default ``last``.

    Raises:
        ValueError: There is no such prompt style, or its value differs from ``list_choice``.
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
    """Returns the prompt style of recorded answers: shapes of files have the names of prompt styles.

    Args:
        shapes: As in :meth:`Protocol.with_shapes`.
        list_choice: The list that is scored.

    Returns:
        None for answers of several shapes, or of none, or if ``list_choice`` differs from the authors'.
    """
    names = set(shapes)
    name = names.pop() if len(names) == 1 else None
    return name if name is not None and find_prompt_style(name)['list_choice'] == list_choice else None
