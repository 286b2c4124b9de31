"""Finds the parts of a request that are missing in a server's prompt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.text.json_object import load_json

_SAMPLE_CHARS = 40

TOOLS, SYSTEM, TURNS, CALLS, RESULTS, GENERATION = (
    'tools',
    'system text',
    'a part of the conversation',
    'earlier calls',
    "tools' results",
    'the generation prompt',
)


def lost_parts(
    prompt: str, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], tail: str = ''
) -> list[str]:
    """Returns the parts of a request that are missing in a prompt, in a fixed order.

    Blanks are ignored: templates strip texts, and tokenizers may change spaces. The model's earlier answers are not
    searched, since templates leave thoughts out.

    Args:
        prompt: The prompt that the server used, with special tokens.
        messages: ``messages`` of the request.
        tools: ``tools`` of the request.
        tail: The generation prompt: the end of a prompt that the model's own template renders; '' if unknown.
    """
    shown = without_blanks(prompt)
    lost = []
    if not all(has_text(shown, tool['function']['name']) for tool in tools):
        lost.append(TOOLS)
    for part, roles in ((SYSTEM, ('system',)), (TURNS, ('user',)), (RESULTS, ('tool',))):
        texts = (message['content'] for message in messages if message['role'] in roles)
        if not all(has_text(shown, sample) for text in texts if isinstance(text, str) for sample in _samples(text)):
            lost.append(part)
    calls = [call['function'] for message in messages for call in message.get('tool_calls') or ()]
    written_twice = (json.dumps(call['arguments'], ensure_ascii=False)[1:-1] for call in calls)
    if not all(has_text(shown, sample) for call in calls for sample in _call_samples(call)):
        lost.append(CALLS)
    elif any('\\"' in text and without_blanks(text) in shown for text in written_twice):
        lost.append(f'{CALLS} as objects (arguments are encoded twice)')
    if tail.strip() and _lacks_tail(shown, messages, without_blanks(tail)):
        lost.append(GENERATION)
    return lost


def _lacks_tail(shown: str, messages: Sequence[Mapping[str, Any]], tail: str) -> bool:
    """Tests if the generation prompt is missing at the end of a prompt. It also precedes earlier answers."""
    _, found, after = shown.rpartition(tail)
    text = messages[-1].get('content') if messages else None
    sample = _samples(text)[1] if isinstance(text, str) else ''
    return not found or (bool(sample) and has_text(after, sample))


def without_blanks(text: str) -> str:
    """Removes all blanks."""
    return ''.join(text.split())


def _samples(text: str) -> tuple[str, str]:
    """Returns the beginning and the end of a text."""
    text = text.strip()
    return text[:_SAMPLE_CHARS], text[-_SAMPLE_CHARS:]


def has_text(shown: str, sample: str) -> bool:
    """Tests if a text without blanks contains a sample, as it is or escaped as in JSON."""
    escaped = (json.dumps(sample, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True))
    return any(without_blanks(text) in shown for text in (sample, *escaped))


def _call_samples(function: Mapping[str, Any]) -> Iterator[str]:
    """Yields the name of a call, and the string values of its arguments."""
    yield function['name']
    try:
        arguments = load_json(function['arguments'], bounded=True)
    except ValueError:
        return
    for value in arguments.values() if isinstance(arguments, dict) else ():
        if isinstance(value, str):
            yield value[:_SAMPLE_CHARS]
