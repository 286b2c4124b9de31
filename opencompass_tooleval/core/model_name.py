"""What a model is called where its answers are kept and results name it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def model_name(cfg: Mapping[str, Any]) -> str:
    """The ``abbr`` of a model's config, else its ``path``, else its class."""
    return str(cfg.get('abbr') or cfg.get('path') or cfg['type'])
