"""Neighbouring messages of one role as turns of their own, also through chat wrappers of OpenCompass, which merge."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import pairwise
from secrets import token_hex
from typing import Any

from opencompass.models import (
    HuggingFaceBaseModel,
    HuggingFacewithChatTemplate,
    TurboMindModelwithChatTemplate,
    VLLMwithChatTemplate,
)

from opencompass_tooleval.host.conversation import Conversation

_MARK = token_hex(16)
"""Begins a turn that the wrapper will merge into the one before; drawn anew in each process, so that no data has it."""

_MERGING = (HuggingFacewithChatTemplate, VLLMwithChatTemplate, TurboMindModelwithChatTemplate)
_RENDER = 'apply_chat_template'


def _merges(model: Any) -> bool:
    """Whether a wrapper merges neighbours and then asks its tokenizer for the text."""
    is_chat = isinstance(model, _MERGING) and not isinstance(model, HuggingFaceBaseModel)
    return is_chat and not getattr(model, 'fastchat_template', None)


def _has_neighbours(prompt: Conversation) -> bool:
    return any(before['role'] == after['role'] for before, after in pairwise(prompt))


def _marked(prompt: Conversation) -> Conversation:
    marked = deepcopy(prompt)
    for before, after in pairwise(marked):
        if before['role'] == after['role']:
            after['prompt'] = _MARK + after['prompt']
    return marked


def _split(messages: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    return [{**message, 'content': text} for message in messages for text in message['content'].split(f'\n{_MARK}')]


@contextmanager
def turns_apart(model: Any, prompts: Sequence[Conversation]) -> Iterator[Sequence[Conversation]]:
    """Gives prompts as this model has to get them while the block runs, for their turns to stay apart.

    Wrappers for servers leave turns as they are, and a base model has none.

    Raises:
        ValueError: The model's chat template takes no two turns of one role.
    """
    if not _merges(model) or not any(map(_has_neighbours, prompts)):
        yield prompts
        return
    tokenizer = model.tokenizer
    render, earlier = getattr(tokenizer, _RENDER), vars(tokenizer).get(_RENDER)

    def render_apart(messages: Sequence[dict[str, str]], *args: Any, **kwargs: Any) -> Any:
        from jinja2 import TemplateError

        try:
            return render(_split(messages), *args, **kwargs)
        except TemplateError as error:
            raise ValueError(
                f'the chat template of {model.path} takes no two turns of one role ({error}): '
                "leave out system_role='user'"
            ) from error

    setattr(tokenizer, _RENDER, render_apart)
    try:
        yield [_marked(prompt) for prompt in prompts]
    finally:
        if earlier is None:
            delattr(tokenizer, _RENDER)
        else:
            setattr(tokenizer, _RENDER, earlier)
