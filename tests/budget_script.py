"""Answers of the server of ``test_budget.py``, each as expensive as its request allows."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.kill_script import answer as text_of


def answer(messages: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
    """A token for each byte of the prompt, and as many for the answer as it may have."""
    texts = [message.get('content') or '' for message in messages]
    tokens = sum(len(text.encode()) for text in (*texts, *map(json.dumps, request.get('tools', ()))))
    return {
        'content': text_of([{'content': text} for text in texts]),
        'usage': {'prompt_tokens': tokens, 'completion_tokens': request['max_tokens']},
    }
