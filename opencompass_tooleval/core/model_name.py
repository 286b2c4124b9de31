"""Name of a model in results and in the paths of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def model_name(cfg: Mapping[str, Any]) -> str:
    """Returns the ``abbr`` of a model's config, else its ``path``, else its class."""
    return str(cfg.get('abbr') or cfg.get('path') or cfg['type'])
