"""Steps of the published gold paths that name no tool of the service's OpenAPI document, and their corrections.

* ``blank``: blanks around the step (TMDB, 4).
* ``placeholder``: the placeholder has another name (TMDB, 1: ``GET /person/{movie_id}/movie_credits``).
* ``unlisted``: the document has no such path (Spotify, 1: ``GET /track/{id}``, which is ``GET /tracks/{id}``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opencompass_tooleval.benchmarks.restbench.paths import Inventory, normalise

KINDS = ('blank', 'placeholder', 'unlisted')

UNLISTED = {'GET /track/{id}': 'GET /tracks/{id}'}
"""Corrections that follow no rule: the path in the gold -> the intended tool."""


@dataclass(frozen=True)
class Erratum:
    """One faulty step.

    Attributes:
        record: Id of its record.
        step: Its index in the path, from 0.
        published: The step in the file.
        repaired: The intended tool.
        kind: One of ``KINDS``.
    """

    record: str
    step: int
    published: str
    repaired: str
    kind: str


def _repaired(published: str, inventory: Inventory) -> tuple[str, str] | None:
    """Returns the intended tool and the kind of the fault; None if unknown."""
    step = normalise(published)
    if step.name in inventory:
        return (step.name, 'blank') if set(step.rules) == {'blank'} else None
    if step.rules:
        return None
    tool = inventory.find(step)
    if tool is not None:
        return tool, 'placeholder'
    tool = UNLISTED.get(step.name)
    return (tool, 'unlisted') if tool in inventory and tool is not None else None


def find_errata(record_id: str, solution: Sequence[str], inventory: Inventory) -> list[Erratum]:
    """Checks one published gold path against the service's tools.

    Raises:
        ValueError: A step names no tool, and the intended tool is unknown.
    """
    errata = []
    for index, published in enumerate(solution):
        if published in inventory:
            continue
        repaired = _repaired(published, inventory)
        if repaired is None:
            raise ValueError(f'the gold step {published!r} is not a tool of the OpenAPI document')
        errata.append(Erratum(record_id, index, published, *repaired))
    return errata


def repair(solution: Sequence[str], errata: Iterable[Erratum]) -> tuple[str, ...]:
    """Fixes the errata of a path; adds, removes and moves no step."""
    repaired = {erratum.step: erratum.repaired for erratum in errata}
    return tuple(repaired.get(index, published) for index, published in enumerate(solution))
