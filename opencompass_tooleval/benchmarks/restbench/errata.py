"""Corrects steps of the published gold paths that are not tools in the service's OpenAPI document.

* ``blank``: spaces around the step (TMDB, 4).
* ``placeholder``: the placeholder has another name (TMDB, 1: ``GET /person/{movie_id}/movie_credits``).
* ``unlisted``: the path is not in the document (Spotify, 1: ``GET /track/{id}``, which is ``GET /tracks/{id}``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from opencompass_tooleval.benchmarks.restbench.paths import Inventory, normalise

KINDS = ('blank', 'placeholder', 'unlisted')

UNLISTED = {'GET /track/{id}': 'GET /tracks/{id}'}
"""Corrections without a general rule: the gold step -> the intended tool."""


@dataclass(frozen=True)
class Erratum:
    """One corrected step.

    Attributes:
        record: Id of the record.
        step: Index in the path, from 0.
        published: The step as published.
        repaired: The intended tool.
        kind: One of ``KINDS``.
    """

    record: str
    step: int
    published: str
    repaired: str
    kind: str


def _repaired(published: str, inventory: Inventory) -> tuple[str, str] | None:
    """Returns the intended tool and the kind of the error; None if the tool is unknown."""
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
        ValueError: A step is not a tool, and the intended tool is unknown.
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
    """Returns the path with its errata fixed; does not add, remove or move steps."""
    repaired = {erratum.step: erratum.repaired for erratum in errata}
    return tuple(repaired.get(index, published) for index, published in enumerate(solution))
