"""One batch to one model, and why a prompt got no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.host.conversation import Conversation
from opencompass_tooleval.host.turns import turns_apart

TRUNCATED = 'infra:truncated'

_TOKENS_PER_MESSAGE = 32


def token_length(model: Any, prompt: Conversation) -> int:
    """Tokens of a prompt; the chat wrappers of HF count a conversation, others only text."""
    try:
        with turns_apart(model, [prompt]) as (given,):
            return int(model.get_token_len(given))
    except (AttributeError, KeyError, TypeError, ValueError):
        return int(model.get_token_len(str(prompt)))


def exceeds_context(model: Any, prompt: Conversation) -> bool:
    """Whether a local model would have to cut the prompt. API models say so themselves."""
    limit = getattr(model, 'max_seq_len', None)
    if model.is_api or not limit:
        return False
    most = len(str(prompt).encode('utf-8', 'replace')) + _TOKENS_PER_MESSAGE * len(prompt)
    return bool(most > limit and token_length(model, prompt) > limit)


def ask(
    model: Any, prompts: Sequence[Conversation], max_out_len: int, options: Mapping[str, Any] | None = None
) -> list[Answer]:
    """Returns one answer per prompt.

    Args:
        model: Any model of OpenCompass.
        prompts: The batch.
        max_out_len: Tokens per answer at most.
        options: More arguments for the model's ``generate``.

    Returns:
        Answers with ``reason`` None, or why there is none: ``infra:truncated`` for a prompt over a local model's
        limit, which is not asked; for API models what they say.
    """
    answers = {index: Answer('', TRUNCATED) for index, prompt in enumerate(prompts) if exceeds_context(model, prompt)}
    fitting = [index for index in range(len(prompts)) if index not in answers]
    if fitting:
        with torch.no_grad(), turns_apart(model, [prompts[index] for index in fitting]) as given:
            generated = model.generate_from_template(list(given), max_out_len=max_out_len, **(options or {}))
        for index, text in zip(fitting, generated, strict=True):
            answers[index] = Answer(str(text), getattr(text, 'reason', None))
    return [answers[index] for index in range(len(prompts))]
