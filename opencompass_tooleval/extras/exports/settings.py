"""Settings of exports: what a run does not know of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from string import ascii_letters, digits

RELATIONSHIPS = ('first_party', 'third_party', 'collaborative', 'other')
"""Who evaluated, to the model's developer; Every Eval Ever's words."""


@dataclass(frozen=True)
class HubEntry:
    """Where models or data sets are on the Hugging Face hub.

    Attributes:
        pattern: Pattern of their abbrs.
        id: ``OWNER/NAME``.
        revision: Commit; ``''`` if unknown.
        task: Id of the task in the data set's ``eval.yaml``; ``''`` for the abbr.
    """

    pattern: str
    id: str
    revision: str = ''
    task: str = ''


def read_hub_entry(text: str) -> HubEntry:
    """Reads ``PATTERN=OWNER/NAME[@REVISION][#TASK]``.

    Raises:
        ValueError: It has another form.
    """
    pattern, _, address = text.partition('=')
    address, _, task = address.partition('#')
    name, _, revision = address.partition('@')
    if not pattern or not is_hub_id(name):
        raise ValueError(f'{text!r} should be PATTERN=OWNER/NAME; a data set may have @REVISION and #TASK after it')
    return HubEntry(pattern, name, revision, task)


def is_hub_id(text: str) -> bool:
    """Tests if a text is ``OWNER/NAME`` as on the hub; no path of a machine is, unless it has two parts only."""
    parts = text.split('/')
    return len(parts) == 2 and all(
        part and _LETTERS.issuperset(part) and part[0] not in '._-' and part[-1] != '.' for part in parts
    )


_LETTERS = frozenset(f'{ascii_letters}{digits}._-')


def find_entry(entries: Sequence[HubEntry], abbr: str) -> HubEntry | None:
    """Returns the first place whose pattern fits; None if it is unknown where the model or the data set is."""
    return next((entry for entry in entries if fnmatchcase(abbr, entry.pattern)), None)


@dataclass(frozen=True)
class ExportSettings:
    """Facts that the user states about an export.

    Attributes:
        hub_datasets: Where data sets are on the hub.
        hub_models: Where models are on the hub; by default their configs' ``path`` says it.
        organization: Who evaluated; ``''`` if not said.
        relationship: One of :data:`RELATIONSHIPS`.
        source_url: Where the evaluation can be looked up; ``''`` for nowhere.
        include_private: True to write entries of a user's own data for Hugging Face too.
    """

    hub_datasets: Sequence[HubEntry] = ()
    hub_models: Sequence[HubEntry] = ()
    organization: str = ''
    relationship: str = 'other'
    source_url: str = ''
    include_private: bool = False
