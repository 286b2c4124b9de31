"""Local chat models with native tool calls: the chat template offers tools, and a parser reads calls from the text."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jinja2 import TemplateError
from opencompass.models import HuggingFacewithChatTemplate, VLLMwithChatTemplate
from opencompass.registry import MODELS

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.sent import AS_SENT, THOUGHTS, setting_faults, thoughts_member
from opencompass_tooleval.core.calls.sent import NONE as NO_THOUGHTS
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.calls.written.formats import AUTO, FORMATS, NONE, choose_format, parser_faults
from opencompass_tooleval.core.calls.written.reading import (
    Reading,
    opens_thoughts,
    read_reference,
    unread_format,
    without_end_tokens,
)
from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.rendered_tools import generation_prompt, left_out, render

_WAY_OUT = 'take the data set without -fc, which has the tools in the prompt'


class _OffersTools:
    """Adds native tools to a chat wrapper.

    Attributes:
        takes_tools: True, for :func:`~opencompass_tooleval.models.model_calls.check_tools`.
    """

    takes_tools = True

    path: str
    tokenizer: Any
    fastchat_template: str | None
    logger: logging.Logger

    def __init__(
        self, *args: Any, tool_parser: str = AUTO, thoughts: str = AS_SENT, system_prompt: str = '', **kwargs: Any
    ) -> None:
        for fault in self.check_settings({'tool_parser': tool_parser, THOUGHTS: thoughts}):
            raise ValueError(fault)
        super().__init__(*args, **kwargs)
        self._tool_parser = tool_parser
        self.system_prompt = system_prompt
        self.thoughts = self.returned_thoughts = thoughts
        self._opens_thoughts = False
        self._checked: set[bool] = set()
        self._unread: set[str] = set()

    @staticmethod
    def check_settings(settings: Mapping[str, Any]) -> Iterator[str]:
        """Yields the faults of a config's ``tool_parser`` and ``thoughts``."""
        yield from parser_faults(settings)
        yield from setting_faults(settings)

    def check_offered(self, prompts: Sequence[Conversation]) -> None:
        """Checks, once each, that the chat template shows tools, and that it shows tool results.

        Raises:
            ValueError: The template does not, or does not show the format of calls.
        """
        offering = [prompt for prompt in prompts if prompt.tools and prompt.tools.tools]
        has_answers = any(message.call_id for prompt in offering for message in prompt.messages())
        if not offering or has_answers in self._checked:
            return
        if self.fastchat_template:
            raise ValueError(f'{self.path}: fastchat_template has no place for tools: leave it out, or {_WAY_OUT}')
        tools = offering[0].tools
        assert tools is not None
        try:
            lost = left_out(self.tokenizer.apply_chat_template, tools, has_answers)
        except TemplateError as error:
            raise ValueError(f'the chat template of {self.path} refuses tools ({error}): {_WAY_OUT}') from error
        if lost:
            raise ValueError(f'the chat template of {self.path} leaves {lost} out: {_WAY_OUT}')
        self._tool_parser = self._parser_of_template() if self._tool_parser == AUTO else self._tool_parser
        options = getattr(self, 'chat_template_kwargs', {})  # set by OpenCompass's vLLM wrapper
        self._opens_thoughts = opens_thoughts(generation_prompt(self.tokenizer.apply_chat_template, tools, **options))
        self._checked.add(has_answers)

    def takes(self, prompt: Conversation) -> bool:
        """Tests if the chat template accepts a conversation. Some refuse answers with two calls, which models make."""
        try:
            render(self.tokenizer.apply_chat_template, prompt, tokenize=False)
        except TemplateError as error:
            self.logger.error(f'the chat template of {self.path} refuses a round: {error}')
            return False
        return True

    def _parser_of_template(self) -> str:
        parser = choose_format(str(self.tokenizer.get_chat_template(tools=[{}])))
        if parser == NONE:
            readable = ', '.join(name for name in FORMATS if name != NONE)
            raise ValueError(
                f'the chat template of {self.path} does not say how calls are written: set tool_parser to one of '
                f'{readable}, or {_WAY_OUT}'
            )
        return parser

    def read_calls(self, answer: Answer, tools: ToolSet) -> Answer:
        """Returns the answer with the calls parsed from its text, and without special tokens at the end."""
        reading = read_reference(answer.text, self._tool_parser, tools, self._opens_thoughts)
        marked = unread_format(reading, tools)
        if marked and marked not in self._unread:
            self._unread.add(marked)
            self.logger.warning(
                f'{self.path}: an answer has marks of calls of {marked}, and tool_parser={self._tool_parser!r} '
                f'finds no call; if the model writes calls in this format, set tool_parser={marked!r}'
            )
        text = without_end_tokens(reading.text, self.tokenizer.all_special_tokens)
        sent = None if self.thoughts == NO_THOUGHTS else self._sent(reading)
        return replace(answer, text=text, calls=reading.calls, sent=sent)

    def _sent(self, reading: Reading) -> Mapping[str, str] | None:
        """Returns the thoughts before calls, by the member that the chat template reads; None if there are none."""
        member = thoughts_member(str(self.tokenizer.get_chat_template(tools=[{}])))
        thoughts = reading.thoughts if reading.calls and len(reading.thoughts) <= MAX_CHARS else ''
        # gpt-oss's template: 'Cannot pass both content and thinking in an assistant message with tool calls!'
        is_refused = member == 'thinking' and bool(reading.content.strip())
        return {member: thoughts} if member and thoughts and not is_refused else None


@MODELS.register_module()
class ToolEvalHFChat(_OffersTools, HuggingFacewithChatTemplate):
    """OpenCompass's :class:`HuggingFacewithChatTemplate` with native function calling.

    A run with ``opencompass -a`` is refused, since ``-a`` does not replace this class.

    Args:
        thoughts: ``as_sent`` puts the thoughts of earlier calls into the member of a message that the chat template
            reads; ``none`` leaves them out.
        tool_parser: Format of the model's calls: a name of
            :data:`~opencompass_tooleval.core.calls.written.formats.FORMATS`, such as ``hermes``, or ``auto``, which
            reads the chat template.
        system_prompt: System prompt of each request, placed before the dataset's in the same message.
        kwargs: Other arguments of :class:`HuggingFacewithChatTemplate`.
    """

    not_accelerated = True
    """For :func:`~opencompass_tooleval.models.accelerator.accelerator_faults`."""


@MODELS.register_module()
class ToolEvalVLLMChat(_OffersTools, VLLMwithChatTemplate):
    """OpenCompass's :class:`VLLMwithChatTemplate` with native function calling.

    Args:
        thoughts: As for :class:`ToolEvalHFChat`.
        tool_parser: Format of the model's calls, as for :class:`ToolEvalHFChat`.
        system_prompt: As for :class:`ToolEvalHFChat`.
        kwargs: Other arguments of :class:`VLLMwithChatTemplate`.
    """

    def generate(
        self, inputs: list[Any], max_out_len: int, stopping_criteria: Sequence[str] = (), **kwargs: Any
    ) -> list[str]:
        """Returns the answers to a batch. With tools, special tokens are kept, since calls may begin with one."""
        if any(getattr(prompt, 'tools', None) is not None for prompt in inputs):
            kwargs.setdefault('skip_special_tokens', False)
        answers: list[str] = super().generate(inputs, max_out_len, list(stopping_criteria), **kwargs)
        return answers
