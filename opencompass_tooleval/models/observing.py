"""Requests the raw text with each answer of a server, and keeps it with the answer."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any

from opencompass_tooleval.core.calls.answer import CUT, Answer
from opencompass_tooleval.core.calls.observed import Observed
from opencompass_tooleval.core.calls.prompt_parts import CALLS, RESULTS, SYSTEM, TOOLS, lost_parts
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.calls.written.formats import AUTO, NONE, choose_format
from opencompass_tooleval.core.calls.written.reading import has_thoughts, opens_thoughts
from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.raw_text import Decode, Found, Request, prompt_ids, search
from opencompass_tooleval.models.api.reply import Reply
from opencompass_tooleval.models.conversation import Conversation

_PARSE_ERROR = 'parse_error'
"""LMDeploy's finish reason for an answer that it could not parse."""
PARSE_WORDS = 'the server could not parse the answer'
"""The error of a record with this finish reason."""
_IN_MARKS = re.compile(r'<[^<>\s]{1,64}>'), re.compile(r'\[[^\[\]\s]{1,64}]')
"""Patterns of special tokens, as most model families write them."""
_END_TOKENS = 16
"""Number of tokens at the end of a prompt that show if the prompt opens thoughts."""
_CHARS_PER_TOKEN = 8
"""With more characters per token, a part of the prompt is missing: English has 4 to 5, JSON fewer."""
_MOST_TOKENS = 1_000
"""Maximum number of special tokens: some tokenizers have thousands that no model writes."""
_MOST_SHAPES = 10_000
"""Maximum number of kinds of conversations to remember."""

_CALL_AND_RESULT: Sequence[Mapping[str, Any]] = (
    {
        'role': 'assistant',
        'content': '',
        'tool_calls': [{'id': 'call00001', 'type': 'function', 'function': {'name': 'f', 'arguments': '{}'}}],
    },
    {'role': 'tool', 'tool_call_id': 'call00001', 'name': 'f', 'content': 'ready'},
)
"""A call and its result, after which a template may add another generation prompt."""

Send = Callable[[Request], Awaitable['Reply | Mapping[str, Any] | Failure']]


@dataclass
class Observer:
    """Adds records to the answers of one server: the raw text, and what the prompt and the parser lost.

    Args:
        tool_parser: Format of the model's calls, or ``auto`` to take it from the chat template.
        tokenizer: The model's tokenizer; None without one.
        template_options: Additional arguments of the chat template (``chat_template_kwargs``).
        logger: Logs how the server returns raw text.
    """

    tool_parser: str
    tokenizer: Any
    template_options: Mapping[str, Any]
    logger: logging.Logger
    _found: Found | None = None
    _format: str = NONE
    _opened: bool = False
    _may_think: bool = True
    _whole: set[tuple[int, tuple[str, ...]]] = field(default_factory=set)
    _searching: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def members(self) -> Mapping[str, Any]:
        """Additional members of each request."""
        return self._found.source.members if self._found and self._found.source else {}

    async def prepare(self, send: Send) -> None:
        """Finds out how the server returns raw text, once.

        Raises:
            Failure: The server cannot be used.
        """
        if self._found is not None:
            return
        async with self._searching:
            if self._found is None:
                self._note(await self._search(send))

    async def _search(self, send: Send) -> Found:
        searching = search(self._decode, self._tails['user'])
        request = next(searching)
        while True:
            reply = await send(request)
            try:
                request = searching.send(reply)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    def _note(self, found: Found) -> None:
        known = (name for name in (choose_format(self._template), choose_format(found.prompt)) if name != NONE)
        self._format = next(known, NONE) if self.tool_parser == AUTO else self.tool_parser
        self._opened = opens_thoughts(found.prompt or self._tails['user'])
        self._may_think = has_thoughts(found.prompt + self._template)
        self._found = found
        if found.source is None:
            path = 'set tokenizer_path to the tokenizer of its model'
            why = f'returns ids of tokens: {path}' if found.has_unread_ids else 'returns no raw text'
            self.logger.warning(f'attribution: the server {why}; faults of its parser stay unknown')
        else:
            self.logger.info(f'attribution: raw text by {found.source.name}, calls in format {self._format}')
        if found.lost:
            self.logger.warning(f'attribution: the prompts of the server lack {", ".join(found.lost)}')

    @cached_property
    def _decode(self) -> Decode | None:
        if self.tokenizer is None:
            return None
        backend = getattr(self.tokenizer, 'backend_tokenizer', None)
        if backend is not None:  # half of the time for short texts is spent in the wrapper
            return partial(backend.decode, skip_special_tokens=False)
        return partial(self.tokenizer.decode, skip_special_tokens=False, clean_up_tokenization_spaces=False)

    @cached_property
    def _special_tokens(self) -> tuple[frozenset[str], Sequence[str]]:
        """All special tokens (which servers remove from texts), and those in no common format."""
        tokens = getattr(self.tokenizer, 'added_tokens_decoder', None) or {}
        special = [token.content for token in tokens.values() if token.special][:_MOST_TOKENS]
        bare = [token for token in special if not any(pattern.fullmatch(token) for pattern in _IN_MARKS)]
        return frozenset(special), bare

    def _special_tokens_in(self, raw: str) -> list[str]:
        """Returns the special tokens in a raw text, without searching each of thousands."""
        special, bare = self._special_tokens
        found = {mark for pattern in _IN_MARKS for mark in pattern.findall(raw)} & special if special else set()
        return sorted(found | {token for token in bare if token in raw})

    @cached_property
    def _template(self) -> str:
        """The chat template of the tokenizer; '' without one."""
        try:
            return str(self.tokenizer.get_chat_template(tools=[{}])) if self.tokenizer else ''
        except ValueError:
            return ''

    @cached_property
    def _tails(self) -> dict[str, str]:
        """The generation prompt of the tokenizer's chat template, by role of the last message; '' if unknown.

        DeepSeek V3.1's template adds a generation prompt after users, but not after tools.
        """
        user = {'role': 'user', 'content': 'ready'}
        return {'user': self._measure_tail([user]), 'tool': self._measure_tail([user, *_CALL_AND_RESULT])}

    def _measure_tail(self, messages: Sequence[Mapping[str, Any]]) -> str:
        """Returns the generation prompt after a conversation; '' if unknown."""
        if not self._template:
            return ''
        render = partial(self.tokenizer.apply_chat_template, messages, tokenize=False, **self.template_options)
        try:
            without, whole = str(render(add_generation_prompt=False)), str(render(add_generation_prompt=True))
        except Exception:  # a template may raise anything, and this one may need tools
            return ''
        return whole[len(without) :] if whole.startswith(without) else ''

    def observed(self, answer: Answer, reply: Reply, prompt: Any, asked: Mapping[str, Any]) -> Answer:
        """Returns the answer with its record.

        Args:
            answer: The answer, with a reason if it is missing.
            reply: The reply.
            prompt: The prompt.
            asked: Members of the request about tools.
        """
        assert self._found is not None
        source, tools = self._found.source, getattr(prompt, 'tools', None)
        tools = tools if tools and tools.tools else None
        raw = source.read(reply, self._decode) if source else ''
        raw = raw if len(raw) <= MAX_CHARS else ''
        end = source.prompt(reply, self._decode, _END_TOKENS) if source and self._may_think else ''
        stop = asked.get('stop')
        record = Observed(
            raw,
            source.name if source and raw else '',
            self._format,
            opens_thoughts(end) if end else self._opened,
            self._lost(answer, reply, prompt, asked),
            asked.get('tool_choice', 'auto'),
            asked.get('parallel_tool_calls') is False,
            [word for word in (stop if isinstance(stop, list) else [stop]) if word and isinstance(word, str)],
            self._special_tokens_in(raw),
            is_cut=reply.finish_reason == CUT,
            is_call_for_text=not tools and not asked.get('tools') and bool(reply.functions) and not reply.text,
            names=[call.name for call in answer.calls],
            originals=_originals(tools) if tools else None,
            error=PARSE_WORDS if reply.finish_reason == _PARSE_ERROR else '',
        )
        return replace(answer, observed=(record,))

    def observed_failure(self, failure: Failure) -> Answer:
        """Returns an empty answer with the error that the server returned."""
        is_error = failure.reason == 'infra:server'
        return Answer('', failure.reason, observed=(Observed(error=failure.words),) if is_error else ())

    def _lost(self, answer: Answer, reply: Reply, prompt: Any, asked: Mapping[str, Any]) -> tuple[str, ...]:
        """Returns the parts of a conversation that the server's prompt lacks.

        Some are known from the search. Reading each prompt would take longer than everything else, so only doubtful
        prompts are read. Templates depend on roles and tools, not on their texts: of answers without calls, one prompt
        of each kind is read.
        """
        if not isinstance(prompt, Conversation) or self._found is None:
            return ()
        messages, tools = prompt.messages(), prompt.tools
        if asked.get('tool_choice') == 'none' or (tools and not tools.tools):
            tools = None  # with tool_choice='none', vLLM may leave the tools out
        roles = tuple(message.role for message in messages)
        has = {
            TOOLS: tools is not None,
            SYSTEM: 'system' in roles,
            RESULTS: 'tool' in roles,
            CALLS: any(message.calls for message in messages),
        }
        lost = [part for part in self._found.lost if has.get(part.partition(' as ')[0], True)]
        tokens = reply.tokens('prompt')
        chars = sum(len(message.content) for message in messages)
        is_short = tokens is not None and chars > _CHARS_PER_TOKEN * tokens
        shape = (len(tools.tools) if tools else 0, roles)
        is_new = tools is not None and not answer.calls and shape not in self._whole
        is_doubtful = is_new or is_short or self._is_cut(reply)
        shown = self._found.source.prompt(reply, self._decode) if self._found.source and is_doubtful else ''
        if shown:
            tail = self._tails['tool' if roles[-1:] == ('tool',) else 'user']
            here = lost_parts(shown, prompt.as_request(), tools.as_request() if tools else [], tail)
            if not here and len(self._whole) < _MOST_SHAPES:
                self._whole.add(shape)
            lost += here
        return tuple(dict.fromkeys(lost))

    def _is_cut(self, reply: Reply) -> bool:
        """Tests if a prompt begins with another token than the prompt of the search, so its beginning may be cut."""
        assert self._found is not None
        return bool(self._found.first) and tuple(prompt_ids(reply)[:1]) != self._found.first


@lru_cache(maxsize=64)
def _originals(tools: ToolSet) -> Mapping[str, str] | None:
    """Returns the original name by sent name for renamed tools; None if there are none."""
    names = {sent: tool.name for tool in tools.tools if (sent := tools.sent_name(tool.name)) != tool.name}
    return names or None
