"""Sends one batch to one model; keeps turns separate, and finds the reasons for missing answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from secrets import token_hex
from typing import Any

import torch
from opencompass.models import (
    HuggingFaceBaseModel,
    HuggingFacewithChatTemplate,
    TurboMindModelwithChatTemplate,
    VLLMwithChatTemplate,
    base_api,
)

from opencompass_tooleval.core.calls.answer import CUT, STOP, Answer
from opencompass_tooleval.core.calls.sent import once
from opencompass_tooleval.core.calls.tool_calls import calls_text
from opencompass_tooleval.core.scoring.result import TRUNCATED
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.rendered_tools import render as render_conversation
from opencompass_tooleval.work_dir.prompt_tokens import ESTIMATE, estimate_tokens, prompt_texts, tokenizer_name

_MARK = token_hex(16)
"""Beginning of placeholders for conversations; random in each process, so it does not occur in data."""

_MERGING = (HuggingFacewithChatTemplate, VLLMwithChatTemplate, TurboMindModelwithChatTemplate)


def _merges(model: Any) -> bool:
    """Tests if a wrapper merges adjacent turns before it calls its tokenizer's chat template."""
    is_chat = isinstance(model, _MERGING) and not isinstance(model, HuggingFaceBaseModel)
    return is_chat and not getattr(model, 'fastchat_template', None)


def _has_neighbours(prompt: Conversation) -> bool:
    return any(before['role'] == after['role'] for before, after in pairwise(prompt))


def _stand_in(prompt: Conversation, mark: str) -> Conversation:
    """Returns a placeholder of one turn, for a conversation that the wrapper would change or whose roles it lacks."""
    stand_in = Conversation([{'role': 'HUMAN', 'prompt': mark, 'content': mark}])
    stand_in.tools = prompt.tools
    return stand_in


class _RenderingTokenizer:
    """A model's tokenizer that replaces placeholders by their conversations before it renders the chat template.

    Args:
        model: The model.
        behind: Text of a placeholder -> its conversation.
    """

    def __init__(self, model: Any, behind: Mapping[str, Conversation]) -> None:
        self._tokenizer = model.tokenizer
        self._template = f'the chat template of {model.path}'
        self._behind = behind

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tokenizer, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._tokenizer(*args, **kwargs)

    def apply_chat_template(self, messages: Sequence[Mapping[str, str]], *args: Any, **kwargs: Any) -> Any:
        from jinja2 import TemplateError

        render = self._tokenizer.apply_chat_template
        prompt = self._behind.get(messages[0]['content']) if messages else None
        if prompt is None:
            return render(messages, *args, **kwargs)
        try:
            return render_conversation(render, prompt, *args, **kwargs)
        except TemplateError as error:
            if prompt.tools is not None:
                fault = f'refuses such a round of tool calls ({error}): take the data set without -fc'
            else:
                fault = f"refuses two turns of one role ({error}): leave out system_role='user'"
            raise ValueError(f'{self._template} {fault}') from error


def turns_apart(model: Any, prompts: Sequence[Conversation]) -> tuple[Any, list[Conversation]]:
    """Returns a view of a model, and prompts for it, so that turns stay separate and tools are rendered.

    The model and its tokenizer do not change. Wrappers for servers keep turns anyway, and a base model has none. When
    the view renders a prompt, it raises a ``ValueError`` if the chat template refuses two turns of one role, or a call
    or a tool result.
    """
    changed = [_merges(model) and (prompt.tools is not None or _has_neighbours(prompt)) for prompt in prompts]
    if not any(changed):
        return model, list(prompts)
    behind = {f'{_MARK}{place}': prompt for place, prompt in enumerate(prompts) if changed[place]}
    view = copy(model)
    view.tokenizer = _RenderingTokenizer(model, behind)
    stand_ins = {id(prompt): _stand_in(prompt, mark) for mark, prompt in behind.items()}
    return view, [stand_ins.get(id(prompt), prompt) for prompt in prompts]


REFUSED = 'infra:bad_request'
SYSTEM_PROMPT = 'system_prompt'
"""Attribute of a model, and key in its config and in provenance."""

_PARSER_KEEPS_CONVERSATIONS = hasattr(base_api, 'CHATML_ROLE')  # since OpenCompass 0.5.3

TOKENS_PER_MESSAGE = 32
"""Maximum number of tokens that a chat template adds to a turn."""


class AskingEndedError(RuntimeError):
    """The model cannot be used any more: its server refuses every request, or is unreachable.

    Args:
        message: The reason and its fix.
        answers: An :class:`Answer` per prompt of the batch; None for a missing answer.
    """

    def __init__(self, message: str, answers: Sequence[Answer | None] = ()) -> None:
        super().__init__(message)
        self.answers = answers


def token_length(model: Any, prompt: Conversation) -> int:
    """Returns the number of tokens in a prompt. HF's chat wrappers count conversations; others only text."""
    try:
        view, (given,) = turns_apart(model, [prompt])
        return int(view.get_token_len(given))
    except (AttributeError, KeyError, TypeError, ValueError):
        return int(model.get_token_len(str(prompt)))


def prompt_length(model: Any, prompt: Conversation) -> int:
    """Returns the number of tokens in a refused prompt, counted by the model; for a server with tools and calls."""
    if model.is_api:
        texts = [message['prompt'] for message in prompt]
        if prompt.tools is not None:
            texts += filter(None, (calls_text(message.calls) for message in prompt.messages()))
            texts.append(json.dumps(prompt.tools.as_request(), ensure_ascii=False))
        return sum(int(model.get_token_len(text)) for text in texts)
    return token_length(model, prompt)


def texts_of(prompt: Conversation) -> list[str]:
    """Returns all texts of a prompt, with its tools, calls and returned thoughts, to count their tokens."""
    if prompt.tools is None:
        return prompt_texts(list(prompt))
    returned = (once(message.sent) for message in prompt.messages() if message.sent)
    thoughts = [value for sent in returned for name, value in sent.items() if name not in ('content', 'tool_calls')]
    texts = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in thoughts]
    return prompt_texts(prompt.as_request(), prompt.tools.as_request()) + texts


def exceeds_context(model: Any, prompt: Conversation) -> bool:
    """Tests if a prompt is too long for a local model. API models report this themselves."""
    limit = getattr(model, 'max_seq_len', None)
    if model.is_api or not limit:
        return False
    # A tokenizer never makes more tokens than bytes, so most prompts need no slow count.
    most = len(str(prompt).encode('utf-8', 'replace')) + TOKENS_PER_MESSAGE * len(prompt)
    return bool((prompt.tools is not None or most > limit) and token_length(model, prompt) > limit)


class _ConversationParser(base_api.APITemplateParser):
    """The parser of OpenCompass 0.5.2, changed to keep conversations as later versions do."""

    def parse_template(self, prompt_template: Any, mode: str) -> Any:
        if isinstance(prompt_template, Conversation):
            return prompt_template
        return super().parse_template(prompt_template, mode)


def adapt_model(model: Any) -> None:
    """Makes an OpenCompass model keep conversations unchanged (as since 0.5.3), and work with transformers 5.

    OpenCompass 0.5.4 calls ``batch_encode_plus``, which tokenizers of transformers 5 lack.
    """
    tokenizer = getattr(model, 'tokenizer', None)
    if callable(tokenizer) and not hasattr(tokenizer, 'batch_encode_plus'):
        tokenizer.batch_encode_plus = tokenizer.__call__
    parser: Any = getattr(model, 'template_parser', None)
    if type(parser) is base_api.APITemplateParser and not _PARSER_KEEPS_CONVERSATIONS:
        model.template_parser = _ConversationParser(parser.meta_template)


def check_tools(model: Any, prompts: Sequence[Conversation]) -> None:
    """Checks that a model accepts these prompts.

    Raises:
        ValueError: A prompt offers tools, and the model's class or chat template does not support them.
    """
    offering = [prompt for prompt in prompts if prompt.tools is not None]
    if not offering:
        return
    if not getattr(model, 'takes_tools', False):
        raise ValueError(
            f'{type(model).__name__} cannot offer tools natively: take ToolEvalOpenAI, ToolEvalHFChat or '
            'ToolEvalVLLMChat, or the data set without -fc'
        )
    if hasattr(model, 'check_offered'):  # local models, whose chat templates differ
        model.check_offered(offering)


def _why_unasked(model: Any, prompt: Conversation) -> str:
    """Returns why a local model cannot take a prompt; '' if it can. Servers report this themselves."""
    if prompt.tools is not None and hasattr(model, 'takes') and not model.takes(prompt):
        return REFUSED
    return TRUNCATED if exceeds_context(model, prompt) else ''


def asked_of(model: Any, prompt: Conversation) -> Conversation:
    """Returns the prompt to send to a model: with its ``system_prompt``, if it has one."""
    text = getattr(model, SYSTEM_PROMPT, '')
    return prompt.with_system(text) if text else prompt


def ask(
    model: Any, prompts: Sequence[Conversation], max_out_len: int, options: Mapping[str, Any] | None = None
) -> list[Answer]:
    """Returns one answer per prompt.

    Args:
        model: Any OpenCompass model.
        prompts: The batch.
        max_out_len: Maximum number of tokens per answer.
        options: Additional arguments of the model's ``generate``.

    Returns:
        Answers with ``reason`` None, or the reason for a missing answer: ``infra:truncated`` for a prompt over a local
        model's limit, which is not sent; ``infra:bad_request`` for tool rounds that its chat template refuses; the
        reported reason for API models. ``finish_reason`` comes from the model. A local model that reports none gets
        ``length`` if the answer has ``max_out_len`` tokens or more.

    Raises:
        AskingEndedError: The model cannot be used any more; ``answers`` has an :class:`Answer` or None per prompt.
        ValueError: A prompt offers tools, and the model's class does not support them.
    """
    adapt_model(model)
    prompts = [asked_of(model, prompt) for prompt in prompts]
    check_tools(model, prompts)
    unasked = ((index, _why_unasked(model, prompt)) for index, prompt in enumerate(prompts))
    answers = {index: Answer('', reason) for index, reason in unasked if reason}
    fitting = [index for index in range(len(prompts)) if index not in answers]
    if not fitting:
        return [answers[index] for index in range(len(prompts))]
    try:
        view, given = turns_apart(model, [prompts[index] for index in fitting])
        with torch.no_grad():
            generated = _generated(view, given, max_out_len, options or {})
    except AskingEndedError as error:
        kept = zip(fitting, error.answers, strict=False)
        answers.update((i, answer_of(model, prompts[i], one, max_out_len)) for i, one in kept if one is not None)
        raise AskingEndedError(str(error), [answers.get(index) for index in range(len(prompts))]) from None
    generated_of = zip(fitting, generated, strict=True)
    answers.update((i, answer_of(model, prompts[i], one, max_out_len)) for i, one in generated_of)
    return [answers[index] for index in range(len(prompts))]


def _generated(model: Any, given: list[Conversation], max_out_len: int, options: Mapping[str, Any]) -> list[Answer]:
    """Returns the complete answers of a model of this package, or the texts of any other model."""
    if hasattr(model, 'answers'):
        return list(model.answers(model.parse_template(given, mode='gen'), max_out_len=max_out_len, **options))
    return [Answer(text) for text in model.generate_from_template(given, max_out_len=max_out_len, **options)]


def answer_of(model: Any, prompt: Conversation, answer: Answer, max_out_len: int) -> Answer:
    """Returns a model's answer with token counts and parsed calls."""
    if not (answer.reason or answer.finish_reason):
        answer = replace(answer, finish_reason=_finish_reason_by_count(model, answer.text, max_out_len))
    answer = _with_counts(model, prompt, answer)
    if prompt.tools is not None and not answer.reason and hasattr(model, 'read_calls'):
        answer = model.read_calls(answer, prompt.tools)  # after counting, since calls have tokens too
    return prompt.with_original_names(answer)


def _with_counts(model: Any, prompt: Conversation, answer: Answer) -> Answer:
    """Adds the numbers of tokens of prompt and answer. If the server does not report them, they are counted and marked.

    A local model's tokenizer counts with the chat template. For a server the tokenizer in ``tokenizer_path`` counts, or
    else :func:`~opencompass_tooleval.work_dir.prompt_tokens.estimate_tokens`. Answers of models with neither (such as
    recorded ones) and failures stay unchanged.
    """
    usage = answer.usage or Usage()
    if answer.reason or (usage.prompt is not None and usage.completion is not None):
        return answer
    counted = _counted(model, prompt, answer.text + calls_text(answer.calls))
    if counted is None:
        return answer
    more: dict[str, Any] = {
        name: getattr(counted, name) for name in ('prompt', 'completion') if getattr(usage, name) is None
    }
    if usage.first_prompt is None:
        more['first_prompt'] = more.get('prompt', usage.prompt)
    return replace(answer, usage=replace(usage, counted=True, counter=counted.counter, **more))


def _counted(model: Any, prompt: Conversation, answer_text: str) -> Usage | None:
    """Counts the tokens of a prompt and its answer; None without a tokenizer or estimate."""
    completion = _encoded_length(model, answer_text)
    if completion is not None:
        by_text = (_encoded_length(model, text) or 0 for text in texts_of(prompt))
        asked = sum(by_text) if getattr(model, 'is_api', True) else token_length(model, prompt)
        counter = tokenizer_name(model.tokenizer)
    elif isinstance(model, base_api.BaseAPIModel):
        asked, completion, counter = (
            sum(estimate_tokens(texts_of(prompt))),
            sum(estimate_tokens([answer_text])),
            ESTIMATE,
        )
    else:
        return None
    return Usage(asked, completion, counter=counter)


def _encoded_length(model: Any, text: str) -> int | None:
    """Returns the number of tokens in a text; None without a tokenizer. (``get_token_len`` adds the chat template.)"""
    encode = getattr(getattr(model, 'tokenizer', None), 'encode', None)
    if encode is None:
        return None
    try:
        return len(encode(str(text), add_special_tokens=False))
    except TypeError:  # not an HF tokenizer
        return len(encode(str(text)))


def _finish_reason_by_count(model: Any, text: str, max_out_len: int) -> str | None:
    """Returns the finish reason of a local model's answer; None for API models, and without a tokenizer."""
    count = None if getattr(model, 'is_api', True) else _encoded_length(model, text)
    if count is None:
        return None
    return CUT if count >= max_out_len else STOP
