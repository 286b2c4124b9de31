"""Generation prompts of chat templates by the kind of the last message."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import jinja2
import pytest

from opencompass_tooleval.models.attributing import Attributor

_TURNS = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}'
_ALWAYS = _TURNS + '{% if add_generation_prompt %}<assistant>{% endif %}'
_LIKE_DEEPSEEK_V3_1 = (
    _TURNS + "{% if add_generation_prompt and messages[-1].role == 'user' %}<assistant></think>{% endif %}"
)


class _Tokenizer:
    """Renders a chat template as transformers does."""

    def __init__(self, template: str) -> None:
        self.template = template

    def get_chat_template(self, tools: Any) -> str:
        """Returns the template."""
        return self.template

    def apply_chat_template(self, messages: Any, tokenize: bool, **options: Any) -> str:
        """Renders a conversation."""
        return jinja2.Template(self.template).render(messages=messages, **options)


@pytest.mark.parametrize(
    ('template', 'tails'),
    [
        (_ALWAYS, {'user': '<assistant>', 'tool': '<assistant>'}),
        (_LIKE_DEEPSEEK_V3_1, {'user': '<assistant></think>', 'tool': ''}),
    ],
)
def test_a_generation_prompt_is_measured_per_kind_of_last_message(template: str, tails: dict[str, str]) -> None:
    attributor = partial(Attributor, 'auto', template_options={}, logger=logging.getLogger(__name__))
    assert attributor(_Tokenizer(template))._tails == tails
