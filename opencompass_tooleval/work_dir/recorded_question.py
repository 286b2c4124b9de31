"""Reads the question that was recorded with an answer, in the usual file formats. Imports no OpenCompass."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from opencompass_tooleval.core.calls.messages import Message, messages_text, prompt_digest


@dataclass(frozen=True)
class RecordedQuestion:
    """The question of a recorded answer, as far as known.

    Attributes:
        source: Name of the dataset in this package's predictions files, such as ``plan_json_v2``, or ''.
        dataset: Abbr of the dataset in exported predictions, or ''.
        prompt: All texts of the prompt, or ''.
        asked: Digest of the prompt in this package's predictions files, or ''.
    """

    source: str = ''
    dataset: str = ''
    prompt: str = ''
    asked: str = ''

    def fits(self, messages: Sequence[Message]) -> bool:
        """Tests if these messages may be the recorded prompt, with any roles."""
        if self.prompt:
            return all(message.content in self.prompt for message in messages)
        return not self.asked or self.asked in _digests(messages)


def _digests(messages: Sequence[Message]) -> Iterator[str]:
    """Yields the digests of a prompt with these messages, one for each choice of roles."""
    text = messages_text(messages)
    for function_role, system_role in product(('user', 'system', 'assistant'), ('system', 'user', 'assistant')):
        yield prompt_digest(text, function_role, system_role)


def _texts(prompt: Any) -> Iterator[str]:
    if isinstance(prompt, str):
        try:
            parsed = json.loads(prompt) if prompt.lstrip().startswith('[') else None
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, list) and all(isinstance(item, dict) for item in parsed):
            yield from _texts(parsed)
        else:
            yield prompt
    elif isinstance(prompt, list):
        for item in prompt:
            text = item.get('prompt', item.get('content')) if isinstance(item, dict) else item
            if isinstance(text, str):
                yield text


def question_of(row: Any) -> RecordedQuestion:
    """Reads the question from a row of a predictions file or of the authors' results."""
    if not isinstance(row, Mapping):
        return RecordedQuestion()
    names = ('source', 'dataset', 'prompt_digest')
    source, dataset, asked = (row[name] if isinstance(row.get(name), str) else '' for name in names)
    prompt = row.get('origin_prompt', row.get('prompt') if dataset else None)  # an exported row has a dataset
    return RecordedQuestion(source, dataset, '\n'.join(_texts(prompt)), asked)
