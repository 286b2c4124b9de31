"""Marks of results on made sets: the model made the set, or no person has reviewed its tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opencompass_tooleval.catalogue.conflicts import Conflict


def _caveats(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Yields the share of tasks that no person has reviewed, and the model that simulated responses."""
    if provenance.get('benchmark') != 'made':
        return
    reviewed = provenance.get('reviewed')
    if isinstance(reviewed, (int, float)) and reviewed < 1:
        yield f'{1 - reviewed:.0%} of the tasks were not reviewed by a person'
    if provenance.get('simulated_by'):
        yield f'responses are simulated by {provenance["simulated_by"]}'


OF_MAKERS = Conflict(
    key='model_made_it',
    sign='†',
    legend='by a model that made the set',
    tag='made a data set',
    note='this model made the set',
    others='models that made a data set',
    files='without_makers',
    caveats=_caveats,
    fix='see tooleval make review',
)
