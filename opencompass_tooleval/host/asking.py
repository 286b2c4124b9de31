"""One batch to one model, and why a prompt got no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from opencompass.models import base_api

from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.host.conversation import Conversation
from opencompass_tooleval.host.turns import turns_apart

TRUNCATED = 'infra:truncated'

_PARSER_KEEPS_CONVERSATIONS = hasattr(base_api, 'CHATML_ROLE')  # from OpenCompass 0.5.3 on

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


class _ConversationParser(base_api.APITemplateParser):
    """The parser of OpenCompass 0.5.2, which knows its own sections only, but for conversations: these it leaves."""

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        if isinstance(prompt_template, Conversation):
            return prompt_template
        return super().parse_template(prompt_template, mode)


def keep_conversations(model: Any) -> None:
    """Has a model's parser leave conversations as they are, as that of OpenCompass 0.5.3 and later does by itself."""
    parser: Any = getattr(model, 'template_parser', None)
    if type(parser) is base_api.APITemplateParser and not _PARSER_KEEPS_CONVERSATIONS:
        model.template_parser = _ConversationParser(parser.meta_template)


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
    keep_conversations(model)
    answers = {index: Answer('', TRUNCATED) for index, prompt in enumerate(prompts) if exceeds_context(model, prompt)}
    fitting = [index for index in range(len(prompts)) if index not in answers]
    if fitting:
        with torch.no_grad(), turns_apart(model, [prompts[index] for index in fitting]) as given:
            generated = model.generate_from_template(list(given), max_out_len=max_out_len, **(options or {}))
        for index, text in zip(fitting, generated, strict=True):
            answers[index] = Answer(str(text), getattr(text, 'reason', None))
    return [answers[index] for index in range(len(prompts))]
