"""Settings of exports: what a run does not know of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

RELATIONSHIPS = ('first_party', 'third_party', 'collaborative', 'other')
"""Who evaluated, to the model's developer; Every Eval Ever's words."""


@dataclass(frozen=True)
class HubDataset:
    """Where a data set is on the Hugging Face hub.

    Attributes:
        pattern: Pattern of the data sets' abbrs.
        id: ``OWNER/NAME``.
        revision: Commit; ``''`` if unknown.
        task: Id of the task in the data set's ``eval.yaml``; ``''`` for the abbr.
    """

    pattern: str
    id: str
    revision: str = ''
    task: str = ''


def read_hub_dataset(text: str) -> HubDataset:
    """Reads ``PATTERN=OWNER/NAME[@REVISION][#TASK]``.

    Raises:
        ValueError: It has another form.
    """
    pattern, _, place = text.partition('=')
    place, _, task = place.partition('#')
    name, _, revision = place.partition('@')
    owner, _, end = name.partition('/')
    if not pattern or not owner or not end or '/' in end:
        raise ValueError(f'--hub-dataset {text!r} should be PATTERN=OWNER/NAME, perhaps with @REVISION and #TASK')
    return HubDataset(pattern, name, revision, task)


@dataclass(frozen=True)
class ExportSettings:
    """What the user says about an export.

    Attributes:
        hub_datasets: Where data sets are on the hub; the first that fits counts.
        organization: Who evaluated; ``''`` if not said.
        relationship: One of :data:`RELATIONSHIPS`.
        source_url: Where the evaluation can be looked up; ``''`` for nowhere.
        include_private: True to write entries of a user's own data for Hugging Face too.
    """

    hub_datasets: Sequence[HubDataset] = ()
    organization: str = ''
    relationship: str = 'other'
    source_url: str = ''
    include_private: bool = False

    def hub_dataset(self, dataset: str) -> HubDataset | None:
        """Returns where a data set is on the hub; None if that is unknown."""
        return next((row for row in self.hub_datasets if fnmatchcase(dataset, row.pattern)), None)
