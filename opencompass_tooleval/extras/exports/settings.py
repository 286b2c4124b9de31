"""Settings of exports: facts that a run itself does not know."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from string import ascii_letters, digits
from typing import Any

from opencompass_tooleval.core.text.jsonable import bounded_text, map_texts, to_jsonable, without_folder
from opencompass_tooleval.core.text.redaction import redact, remember_config

RELATIONSHIPS = ('first_party', 'third_party', 'collaborative', 'other')
"""Relation of the evaluator to the model's developer, in the words of Every Eval Ever."""


@dataclass(frozen=True)
class HubEntry:
    """Place of models or data sets on the Hugging Face hub.

    Attributes:
        pattern: Pattern of the abbrs.
        id: ``OWNER/NAME``.
        revision: Commit; ``''`` if unknown.
        task: Id of the task in the data set's ``eval.yaml``; ``''`` for the abbr.
    """

    pattern: str
    id: str
    revision: str = ''
    task: str = ''


def read_hub_entry(text: str) -> HubEntry:
    """Parses ``PATTERN=OWNER/NAME[@REVISION][#TASK]``.

    Raises:
        ValueError: The text has another form.
    """
    pattern, _, address = text.partition('=')
    address, _, task = address.partition('#')
    name, _, revision = address.partition('@')
    if not pattern or not is_hub_id(name):
        raise ValueError(f'{text!r} must be PATTERN=OWNER/NAME; for a data set, @REVISION and #TASK may follow')
    return HubEntry(pattern, name, revision, task)


def is_hub_id(text: str) -> bool:
    """Tests if a text is ``OWNER/NAME`` as on the hub. Local paths are not, unless they have just two parts."""
    parts = text.split('/')
    return len(parts) == 2 and all(
        part and _LETTERS.issuperset(part) and part[0] not in '._-' and part[-1] != '.' for part in parts
    )


_LETTERS = frozenset(f'{ascii_letters}{digits}._-')


def find_entry(entries: Sequence[HubEntry], abbr: str) -> HubEntry | None:
    """Returns the first entry whose pattern matches; None if the place of the model or data set is unknown."""
    return next((entry for entry in entries if fnmatchcase(abbr, entry.pattern)), None)


@dataclass(frozen=True)
class ExportSettings:
    """Facts that the user states about an export.

    Attributes:
        hub_datasets: Places of data sets on the hub.
        hub_models: Places of models on the hub; the default is their configs' ``path``.
        organization: Who evaluated; ``''`` if not stated.
        relationship: One of :data:`RELATIONSHIPS`.
        source_url: Where the evaluation can be looked up; ``''`` if nowhere.
        include_private: True to write entries for a user's own data to Hugging Face's format too.
    """

    hub_datasets: Sequence[HubEntry] = ()
    hub_models: Sequence[HubEntry] = ()
    organization: str = ''
    relationship: str = 'other'
    source_url: str = ''
    include_private: bool = False


_SETTING = 2_000
_MOST_SETTINGS = 100


def dumps(value: Any, indent: int | None = None) -> str:
    """Formats a value as strict JSON, with known keys removed from its texts."""
    return json.dumps(
        published(to_jsonable(value)), indent=indent, allow_nan=False
    )  # ASCII, since some programs end a line at U+2028


def published(value: Any) -> Any:
    """Replaces known keys in all texts of a JSON value; numbers stay."""
    return map_texts(value, _redacted)


# Cached, since a sample's texts occur in a row for each of its metrics.
@lru_cache(maxsize=1024)
def _redacted(text: str) -> str:
    return redact(text)


def as_settings(settings: Mapping[str, Any]) -> dict[str, str]:
    """Converts settings to texts, without the folders of this machine; leaves out None."""
    rows = [
        (str(name), map_texts(to_jsonable(value), without_folder, str))
        for name, value in settings.items()
        if value is not None
    ]
    return {bounded_text(name, 200): bounded_text(value, _SETTING) for name, value in rows[:_MOST_SETTINGS]}


def remember_literal_keys(cfg: Any) -> None:
    """Records the keys in a config, so that no export shows them."""
    _redacted.cache_clear()  # cached texts may contain a key that was unknown
    remember_config(cfg)
