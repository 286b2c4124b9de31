"""Marks of results on made sets: the model made the set, or no person has reviewed its tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opencompass_tooleval.catalogue.conflicts import Conflict


def _unreviewed(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Yields the share of tasks that no person has reviewed."""
    reviewed = provenance.get('reviewed')
    if isinstance(reviewed, (int, float)) and reviewed < 1:
        yield f'{1 - reviewed:.0%} of the tasks were not reviewed by a person'


def _caveats(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Yields that share, and the model that simulated responses."""
    if provenance.get('benchmark') == 'made':
        yield from _unreviewed(provenance)
        if provenance.get('simulated_by'):
            yield f'responses are simulated by {provenance["simulated_by"]}'


def _notes(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Yields that share with what to do about it; the screen says of every benchmark who simulated."""
    yield from (f'{share}; see tooleval make review' for share in _unreviewed(provenance))


OF_MAKERS = Conflict(
    key='model_made_it',
    sign='†',
    legend='by a model that made the set',
    tag='made a data set',
    note='this model made the set',
    others='models that made a data set',
    files='without_makers',
    caveats=_caveats,
    notes=_notes,
)
