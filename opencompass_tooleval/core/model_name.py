"""Names of models in results and paths; detects OpenAI's reasoning models at OpenAI's own address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_OPENAIS = re.compile(r'(?:ft:)?(?:o\d|gpt-(?:[5-9]|1\d)(?!\d|-chat))')
_OPENAI = re.compile(r'https?://(?:[^/@]{1,200}@)?(?:[a-z-]{1,20}\.)?api\.openai\.com(?:[:/]|$)')


def is_openais_reasoning(url: str, path: str) -> bool:
    """Tests for OpenAI's reasoning models, which take ``max_completion_tokens`` and no temperature.

    Args:
        url: The base URL. The result is False for other addresses than OpenAI's.
        path: The name of the model; only its last part counts.
    """
    return bool(_OPENAI.match(url.lower()) and _OPENAIS.match(path.rpartition('/')[2]))


def model_name(cfg: Mapping[str, Any]) -> str:
    """Returns the ``abbr`` of a model's config, else its ``path``, else its class."""
    return str(cfg.get('abbr') or cfg.get('path') or cfg['type'])
