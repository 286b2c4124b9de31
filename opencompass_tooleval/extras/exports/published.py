"""Prepares texts of a run for publication: without keys and local paths, limited in length, and as strict JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from opencompass_tooleval.core.text.jsonable import bounded_text, map_texts, to_jsonable, without_folder
from opencompass_tooleval.core.text.redaction import redact, remember_config

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
