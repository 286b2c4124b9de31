"""A scripted server that returns raw text beside its answers, in each way that engines have."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerFast
from transformers.convert_slow_tokenizer import bytes_to_unicode

from opencompass_tooleval.core.calls.answer import Answer, extras
from opencompass_tooleval.core.calls.tool_calls import calls_payload
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.extras.attribution.causes import Attribution
from opencompass_tooleval.extras.attribution.reading import attribution_of_row
from opencompass_tooleval.models.api.raw_text import CANARIES
from tests.conftest import load_tool
from tests.extras.attribution.shapes import Shape
from tests.models.api.scripted_server import Refused, Request, Script

TEMPLATE = (
    '{% macro turn(role, text) %}<|im_start|>{{ role }}\n{{ text }}<|im_end|>\n{% endmacro %}'
    '{% if tools %}<|im_start|>system\n# Tools\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}'
    '{"name": ..., "arguments": ...} in <tool_call></tool_call><|im_end|>\n{% endif %}'
    '{% for message in messages %}{% if message.tool_calls %}<|im_start|>assistant\n{{ message.content or "" }}'
    '{% for call in message.tool_calls %}<tool_call>\n{"name": "{{ call.function.name }}", "arguments": '
    '{{ call.function.arguments | tojson }}}\n</tool_call>{% endfor %}<|im_end|>\n'
    '{% else %}{{ turn(message.role, message.content) }}{% endif %}{% endfor %}'
    '{% if add_generation_prompt %}<|im_start|>assistant\n{% if opens_thoughts %}<think>\n{% endif %}{% endif %}'
)
"""ChatML with tools, as Qwen's template has them."""
MARKS = (
    *('<tool_call>', '</tool_call>', '<think>', '</think>', '[TOOL_CALLS]', '</s>', '<|eot_id|>', '<|python_tag|>'),
    *('<|tool_calls_section_begin|>', '<|tool_calls_section_end|>', '<|tool_call_begin|>', '<|tool_call_end|>'),
    *('<|tool_call_argument_begin|>', '<｜tool▁calls▁begin｜>', '<｜tool▁call▁begin｜>', '<｜tool▁sep｜>'),
    *('<｜tool▁call▁end｜>', '<｜tool▁calls▁end｜>', '<｜end▁of▁sentence｜>', '<|observation|>', '[e~['),
    *('<|channel|>', '<|message|>', '<|start|>', '<|end|>', '<|call|>', '<|return|>', '<|constrain|>'),
)
"""Special tokens of the families."""


def save_tokenizer(folder: Path, marks: Sequence[str] = MARKS) -> Path:
    """Writes a tokenizer with the special tokens of all families to a folder, and returns it."""
    tokenizer = load_tool('make_tiny_model').make_tokenizer()
    tokenizer.add_special_tokens({'additional_special_tokens': ['<|im_start|>', *marks]})
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return folder


def attributed(answer: Answer, tools: ToolSet | None = None) -> Attribution | None:
    """The attribution of an answer, read from its row as the inferencer writes it."""
    return attribution_of_row(stored_row(answer, tools))


def stored_row(answer: Answer, tools: ToolSet | None = None, record_id: str = 'r0') -> dict[str, Any]:
    """The row of an answer, as the inferencer writes it."""
    row = {'record_id': record_id, 'prediction': answer.text, 'infra': answer.reason, **extras(answer)}
    if tools is not None:
        row |= {'calls': calls_payload(answer.calls), 'tools': tools.as_request()}
    stored: dict[str, Any] = json.loads(json.dumps(row))
    return stored


Members = dict[str, Any]


class Engine:
    """How an engine returns raw text; this one ignores what it does not know."""

    members: Sequence[str] = ()
    """Members of a request that ask for it, beside those of every server."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.tokenizer = tokenizer

    def ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False).input_ids
        return ids

    def check(self, request: Request) -> None:
        """Raises :class:`Refused` for members that it refuses."""

    def texts(self, prompt: str, raw: str) -> tuple[Members, Members]:
        """What a reply and its choice have then."""
        return {}, {}


class VLLM(Engine):
    """Ids of prompt and answer."""

    members = ('return_token_ids',)

    def texts(self, prompt: str, raw: str) -> tuple[Members, Members]:
        return {'prompt_token_ids': self.ids(prompt)}, {'token_ids': self.ids(raw)}


class SGLang(VLLM):
    """The same under other names."""

    def texts(self, prompt: str, raw: str) -> tuple[Members, Members]:
        return {}, {'prompt_token_ids': self.ids(prompt), 'response_token_ids': self.ids(raw)}


class LMDeploy(VLLM):
    """Ids of the answer alone."""

    def texts(self, prompt: str, raw: str) -> tuple[Members, Members]:
        return {}, {'output_ids': self.ids(raw)}


class LlamaCpp(Engine):
    """Texts of prompt and answer."""

    members = ('verbose',)

    def texts(self, prompt: str, raw: str) -> tuple[Members, Members]:
        return {'__verbose': {'content': raw, 'prompt': prompt}}, {}


class Logprobs(Engine):
    """Tokens with their probabilities: bytes, as OpenAI has them."""

    members: Sequence[str] = ('logprobs',)

    def texts(self, prompt: str, raw: str) -> tuple[Members, Members]:
        return {}, {'logprobs': {'content': [self.row(token) for token in self.ids(raw)]}}

    def row(self, token: int) -> dict[str, Any]:
        return {'token': self.tokenizer.decode([token]), 'bytes': list(self.bytes(token)), 'logprob': -0.1}

    def bytes(self, token: int) -> bytes:
        """The bytes of a token, which may be a part of a character."""
        text, values = self.tokenizer.convert_ids_to_tokens(token), {v: k for k, v in bytes_to_unicode().items()}
        if text in self.tokenizer.all_special_tokens:
            return text.encode()
        return bytes(values[letter] for letter in text)


class OldVLLM(Logprobs):
    """Ids in place of the tokens' texts, which are lossy."""

    members = ('logprobs', 'return_tokens_as_token_ids')

    def row(self, token: int) -> dict[str, Any]:
        return {'token': f'token_id:{token}', 'bytes': None, 'logprob': -0.1}


class LlamaCppLogprobs(Logprobs):
    """Ids beside texts; special tokens have none."""

    def row(self, token: int) -> dict[str, Any]:
        is_special = self.tokenizer.convert_ids_to_tokens(token) in self.tokenizer.all_special_tokens
        text = '' if is_special else self.tokenizer.decode([token])
        return {'id': token, 'token': text, 'bytes': [] if is_special else list(self.bytes(token)), 'logprob': -0.1}


class Strict(Engine):
    """A server that refuses what it does not know, as ``transformers serve`` does."""

    def check(self, request: Request) -> None:
        known = {'model', 'messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'max_tokens', 'temperature'}
        if unknown := request.keys() - known - set(self.members):
            raise Refused(422, f'Unexpected fields: {sorted(unknown)}')


class StrictVerbose(Strict, LlamaCpp):
    """A strict server with one of the later ways."""


def _without(role: str) -> Callable[[Request], None]:
    def leave_out(request: Request) -> None:
        request['messages'] = [message for message in request['messages'] if message['role'] != role]

    return leave_out


def _without_calls(request: Request) -> None:
    for message in request['messages']:
        message.pop('tool_calls', None)
        message['content'] = message['content'] or ''


FAULTS: Mapping[str, Callable[[Request], object]] = {
    'tools': lambda request: request.pop('tools', None),
    'system': _without('system'),
    'results': _without('tool'),
    'calls': _without_calls,
}
"""Those that are not in the rendered text."""
LIMIT = 500
"""Tokens of the context of a server that cuts the front of a prompt."""


class ServingScript(Script):
    """A server with the fault of a shape; its answers to other requests are right.

    Args:
        engine: How it returns raw text.
        shape: The shape.
    """

    def __init__(self, engine: Engine, shape: Shape) -> None:
        super().__init__()
        self.engine, self.shape = engine, shape

    def prompt(self, request: Request) -> str:
        request = copy.deepcopy(request)
        fault = self.shape.prompt
        FAULTS.get(fault, len)(request)
        for message in request['messages'] if fault != 'objects' else ():
            for call in message.get('tool_calls') or ():
                call['function']['arguments'] = json.loads(call['function']['arguments'])
        tokenizer = self.engine.tokenizer
        text = tokenizer.apply_chat_template(
            request['messages'],
            tools=request.get('tools'),
            add_generation_prompt=fault != 'generation',
            tokenize=False,
            opens_thoughts=self.shape.opened_thoughts,
        )
        if fault == 'front' and len(ids := self.engine.ids(text)) > LIMIT:
            return str(tokenizer.decode(ids[-LIMIT // 2 :], skip_special_tokens=False))
        return str(text)

    def prompt_tokens(self, request: Request) -> int:
        return len(self.engine.ids(self.prompt(request)))

    def complete(self, request: Request) -> Any:
        with self.lock:
            self.asked.append(request)
        self.check(request)
        self.engine.check(request)
        is_search = any(request['messages'] == messages for messages, _ in CANARIES)
        if self.shape.status != 200 and not is_search:
            raise Refused(self.shape.status, self.shape.error)
        message, raw, finish = {'role': 'assistant', 'content': 'I look.'}, 'I look.<|im_end|>', 'stop'
        if not is_search:
            message, raw, finish = self.shape.message(), self.shape.raw, self.shape.finish_reason
        prompt = self.prompt(request)
        usage = {'prompt_tokens': len(self.engine.ids(prompt)), 'completion_tokens': len(self.engine.ids(raw))}
        is_asked = any(map(request.get, self.engine.members))
        in_page, in_choice = self.engine.texts(prompt, raw) if is_asked else ({}, {})
        choice = {'index': 0, 'message': message, 'finish_reason': finish, **in_choice}
        return {'object': 'chat.completion', 'choices': [choice], 'usage': usage, **in_page}
