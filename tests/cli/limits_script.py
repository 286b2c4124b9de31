"""Script of ``tools/serve_model.py``: a reasoning model whose answers take 600 words, its tokens, or are cut before."""

from __future__ import annotations

from typing import Any

WORDS = ('<think>', *['hm'] * 597, '</think>', '1')


def thinking(messages: list[dict[str, str]], request: dict[str, Any]) -> dict[str, Any]:
    """Thinks, then answers ``1``, as far as the request's limit of tokens lets it."""
    limit = request['max_tokens']
    is_cut = limit < len(WORDS)
    usage = {'prompt_tokens': 10, 'completion_tokens': min(limit, len(WORDS))}
    return {'content': ' '.join(WORDS[:limit]), 'finish_reason': 'length' if is_cut else 'stop', 'usage': usage}


def acting(messages: list[dict[str, str]], request: dict[str, Any]) -> dict[str, Any]:
    """Calls the first offered tool at once, and then answers as :func:`thinking` does."""
    if messages[-1]['role'] == 'user' and 'tools' in request:
        return {'calls': [{'name': request['tools'][0]['function']['name'], 'arguments': {}}]}
    return thinking(messages, request)
