"""Name of a model in results and in the paths of its answers, and signs of reasoning in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_REASONING = re.compile(
    r'(?<![a-z0-9])(?:o[134]|r1|gpt-5|gpt-oss|qwq|magistral)(?![a-z0-9])|think|reason|qwen3(?!.*(?:instruct|coder))',
    re.IGNORECASE,
)
"""Matches names of models that reason unless they are told not to, such as ``Qwen3-8B`` and ``DeepSeek-R1``."""


def is_reasoning_name(name: str) -> bool:
    """Tests if a model reasons before it answers, by its name."""
    return bool(_REASONING.search(name[:300]))


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
