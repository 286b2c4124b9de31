"""Rules for parsing and scoring answers to UltraTool."""

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
        list_choice: The list that is scored if an answer has several. ``last``: the last one (the authors' choice for
            open models); ``span``: everything from the first bracket to the last (their choice for GPT).
        gold: The gold answers of the records; only stored in results, since the records decide.

    Raises:
        ValueError: A name is unknown.
    """

    scoring: str = 'official'
    list_choice: str = 'last'
    gold: str = 'official'

    def __post_init__(self) -> None:
        for field, allowed in (('scoring', SCORINGS), ('list_choice', LIST_CHOICES), ('gold', GOLDS)):
            if getattr(self, field) not in allowed:
                raise ValueError(f'{field} {getattr(self, field)!r} is not one of {", ".join(allowed)}')

    def with_shapes(self, shapes: Iterable[str | None]) -> Protocol:
        """Returns the rules with the ``list_choice`` of the files in which answers were recorded.

        Args:
            shapes: The published format of each answer (:mod:`~opencompass_tooleval.work_dir.recorded`); None for a
                model's own answers. ``span`` if all have the format of the GPT files, else ``last``.
        """
        return replace(self, list_choice='span' if set(shapes) == {GPT} else 'last')

    @property
    def strict(self) -> bool:
        """True if the quirks of the published code are fixed."""
        return self.scoring == 'strict'


def find_prompt_style(name: str) -> Mapping[str, Any]:
    """Returns the prompt style with this name.

    Raises:
        ValueError: It does not exist; the error lists the existing styles.
    """
    return find_row(PROMPT_STYLES, name, 'UltraTool', 'prompt style')


def list_choice_of(prompt_style: str | None, list_choice: str | None) -> str:
    """Returns the ``list_choice`` of ``prompt_style``; without a style ``list_choice`` itself, by default ``last``.

    Raises:
        ValueError: The prompt style does not exist, or its value differs from ``list_choice``.
    """
    if prompt_style is None:
        return list_choice or 'last'
    fixed = str(find_prompt_style(prompt_style)['list_choice'])
    if list_choice not in (None, fixed):
        raise ValueError(
            f'prompt_style={prompt_style!r} implies list_choice={fixed!r}: '
            f'leave out list_choice={list_choice!r} or prompt_style'
        )
    return fixed


def prompt_style_of(shapes: Iterable[str | None], list_choice: str) -> str | None:
    """Returns the prompt style of recorded answers: the formats of files have the names of prompt styles.

    Args:
        shapes: As in :meth:`Protocol.with_shapes`.
        list_choice: The list that is scored.

    Returns:
        The style; None if answers have several formats or none, or if ``list_choice`` differs from the authors'.
    """
    names = set(shapes)
    name = names.pop() if len(names) == 1 else None
    return name if name is not None and find_prompt_style(name)['list_choice'] == list_choice else None
