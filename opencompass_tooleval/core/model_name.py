"""Name of a model in results and in the paths of its answers, and OpenAI's models that reason, at its own address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_OPENAIS = re.compile(r'(?:ft:)?(?:o\d|gpt-5(?!-chat))')
_OPENAI = re.compile(r'https?://(?:[^/@]{1,200}@)?(?:[a-z-]{1,20}\.)?api\.openai\.com(?:[:/]|$)')


def is_openais_reasoning(url: str, path: str) -> bool:
    """Tests if a model at OpenAI's own address takes ``max_completion_tokens`` for ``max_tokens``, and no temperature.

    Args:
        url: The base URL; elsewhere, names say nothing about settings.
        path: The name of the model; its last part counts.
    """
    return bool(_OPENAI.match(url.lower()) and _OPENAIS.match(path.rpartition('/')[2]))


def model_name(cfg: Mapping[str, Any]) -> str:
    """Returns the ``abbr`` of a model's config, else its ``path``, else its class."""
    return str(cfg.get('abbr') or cfg.get('path') or cfg['type'])
