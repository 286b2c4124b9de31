"""Models on OpenAI-compatible servers; keeps failures separate from answers."""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from opencompass.models.base_api import BaseAPIModel
from opencompass.models.openai_api import OpenAI
from opencompass.registry import MODELS

from opencompass_tooleval.core.calls.answer import CUT, STOP, Answer
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.sent import (
    AS_SENT,
    EMPTY_CONTENT,
    NULL_CONTENT,
    THOUGHTS,
    is_about_thoughts,
    named_members,
    names_of,
    refused_members,
    setting_faults,
    unreturned,
)
from opencompass_tooleval.core.calls.sent import (
    NONE as NO_THOUGHTS,
)
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.calls.written.formats import AUTO, parser_faults
from opencompass_tooleval.core.model_name import is_openais_reasoning
from opencompass_tooleval.core.scoring.prices import read_prices
from opencompass_tooleval.core.scoring.result import OVER_BUDGET
from opencompass_tooleval.core.scoring.usage import Usage, with_failed
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.redaction import excerpt, redact, remember_config, remember_keys, usable_key
from opencompass_tooleval.models.api.event_loop import sleep_unless
from opencompass_tooleval.models.api.failure import MAX_WAIT, Failure
from opencompass_tooleval.models.api.http_client import HttpClient, check_base_url
from opencompass_tooleval.models.api.outage import Outage
from opencompass_tooleval.models.api.raw_text import Request
from opencompass_tooleval.models.api.reply import Reply, answer_of, read_message, usage_of
from opencompass_tooleval.models.api.wires import WIRES
from opencompass_tooleval.models.api.wires.chat import CHAT, USAGE
from opencompass_tooleval.models.api.wires.wire import Choice
from opencompass_tooleval.models.budget import Reservation
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.model_calls import AskingEndedError
from opencompass_tooleval.models.observing import Observer
from opencompass_tooleval.models.request_queue import ConcurrentQueue
from opencompass_tooleval.models.request_settings import (
    MAX_WORKERS,
    addresses_of,
    body_faults,
    further_members,
    key_variable,
    why_no_temperature,
    wire_of,
)

if TYPE_CHECKING:
    from opencompass_tooleval.models.api.pace import Pace

_RESERVED = 100
"""Tokens that OpenCompass reserves in addition to prompt and answer."""
_FIX_NONE = "set thoughts='as_sent' in the config of the model, so that they go back to the server"
_FIX_HISTORY = "the server never sent some earlier calls; T-Eval's data sets with history='text' send them as text"
"""Advice added if a server refuses a request because thoughts are missing."""
_FIX_THOUGHTS = "if it refuses the thoughts that go back, set thoughts='none' in the config of the model"
_MOST_REFUSED = 16
_TOO_LONG = 'members that are too long'
_SPLIT = 'one may have the text and another the calls, as in LiteLLM before 1.103.5: update the gateway'
_SECONDS = {False: 600.0, True: 3600.0}
"""``timeout`` without and with ``stream``."""

_SEARCH_TOKENS = 16
"""Token limit of requests that search for a source of raw text."""


class SentRequest(NamedTuple):
    """A request to send.

    Attributes:
        body: Its JSON.
        prompt: The prompt.
        offers_tools: True if it offers tools.
        encode: Returns the body without the given members of the server's earlier messages.
    """

    body: bytes
    prompt: Any
    offers_tools: bool
    encode: Callable[[Collection[str]], bytes]


@MODELS.register_module()
class ToolEvalOpenAI(OpenAI):
    """OpenCompass's :class:`OpenAI` for OpenAI-compatible servers and Anthropic's, with hundreds of requests in flight.

    A sample without an answer after all tries becomes an empty ``Answer`` with a reason (``infra:timeout``,
    ``infra:rate_limit``, ``infra:server``, ``infra:connection``, ``infra:bad_response``, ``infra:filter``,
    ``infra:empty``, ``infra:truncated``, ``infra:bad_request``, ``infra:budget``), and the run continues. A wrong key,
    model name or address, or an account without credit, ends the run at once; an unreachable server ends it after
    ``patience``. Nothing is downloaded: without a local tokenizer, token counts are estimates.

    Args:
        path: Name of the model on the server.
        wire: Request format: ``chat`` (chat completions), ``responses`` (OpenAI's models since gpt-5.4, which refuse
            tools with thoughts on ``chat``) or ``messages`` (Anthropic's). Open engines lose evidence of cut calls on
            formats other than ``chat``.
        strict: True to tell the server that arguments must fit the schemas of tools, False that they need not; None to
            leave it to the server. ``responses`` requires the setting: there, None means False.
        openai_api_base: Base URL, such as ``http://127.0.0.1:8000/v1``; if it is a list, one URL is chosen at random.
        retry: Maximum number of tries after the first, with growing pauses. ``Retry-After`` is respected, up to
            ``patience``.
        max_workers: Maximum number of requests in flight.
        query_per_second: Maximum number of requests started per second; None for no limit. Models of a run with one
            address and key share it, a judge included, if they run on one machine; the lowest one counts.
        timeout: Maximum number of seconds per try, in wall time. The default is 600, or 3,600 with ``stream``.
        tokenizer_path: Folder of a local HF tokenizer, to check prompts against ``max_seq_len``.
        backoff: First pause between two tries, in seconds. Pauses double up to 60 s, times a random 0.5 to 1.5.
        patience: Maximum number of seconds to wait for an unreachable server. A server counts as unreachable after
            ``2 * max_workers`` failed connections in a row.
        tool_choice: ``auto`` if offered tools may be called, ``required`` if they must be.
        parallel_tool_calls: True to tell the server whether a dataset expects one call per answer or several. Some
            servers refuse this setting.
        prices: Price of a million tokens, as ``dict(input=..., output=...)``. It does not affect requests.
        thoughts: ``as_sent`` to return everything that the server sent with its calls (thoughts, signatures, the text
            of arguments) unchanged in the next request of a dialogue; ``none`` to encode calls again, without thoughts.
        system_prompt: System prompt of each request, placed before the dataset's in the same message.
        stream: True to stream each answer, so that gateways do not cut requests with long thoughts; None does so on
            ``messages`` only. Answers are the same, so a run may be resumed with or without it. Cannot be combined with
            ``attribution``.
        idle_timeout: Maximum number of seconds without a byte, with ``stream``. Comments that keep the connection alive
            count as bytes.
        attribution: True to request the model's raw text with each answer and to store it, so that the evaluation can
            find calls that the server lost or changed. Token ids, which vLLM and SGLang return, are decoded with
            ``tokenizer_path``. Sends up to 16 short requests first.
        tool_parser: Format in which the model writes calls, for ``attribution``: a name of
            :data:`~opencompass_tooleval.core.calls.written.formats.FORMATS`, or ``auto`` to take it from the chat
            template or a prompt of the server.
        http_client_cfg: Settings of :class:`~opencompass_tooleval.models.api.http_client.HttpClient`.
        openai_extra_kwargs: Additional members of each request, such as ``dict(top_p=0.9)``. None removes a member
            that is sent by default, such as ``dict(temperature=None)``. ``extra_headers`` and ``extra_query`` become
            headers and query.
        token_limit_key: Member of a request that sets the token limit. The default on ``chat`` is ``max_tokens``, or
            ``max_completion_tokens`` for reasoning models at OpenAI's own address, which also get no temperature.
        kwargs: Other arguments of :class:`OpenAI`. Prompts and answers are checked against the context only if
            ``max_seq_len`` is set: the token limit of an answer is then lowered to the room left by its prompt.

    Raises:
        ValueError: The address is invalid, ``mode`` needs a ``max_seq_len`` that is missing, an additional member sets
            the token limit (set ``max_out_len`` instead), or a temperature is set that would not be sent.
    """

    tokenizer: Any = None
    takes_tools = True

    def __init__(
        self,
        path: str,
        openai_api_base: str | list[str] = '',
        wire: str = 'chat',
        strict: bool | None = None,
        retry: int = 4,
        max_workers: int = MAX_WORKERS,
        query_per_second: float | None = None,
        timeout: float | None = None,
        tokenizer_path: str | None = None,
        backoff: float = 1.0,
        patience: float = 1800.0,
        tool_choice: str = 'auto',
        parallel_tool_calls: bool = True,
        prices: Mapping[str, float] | None = None,
        thoughts: str = AS_SENT,
        system_prompt: str = '',
        stream: bool | None = None,
        idle_timeout: float = 300,
        attribution: bool = False,
        tool_parser: str = AUTO,
        http_client_cfg: Mapping[str, Any] | None = None,
        openai_extra_kwargs: Mapping[str, Any] | None = None,
        token_limit_key: str | None = None,
        **kwargs: Any,
    ) -> None:
        given = {**kwargs, 'path': path, 'openai_extra_kwargs': openai_extra_kwargs, 'wire': wire}
        for fault in body_faults({**given, 'openai_api_base': openai_api_base}):
            raise ValueError(fault)
        self._wire = WIRES[wire]
        stream = self._wire.streams if stream is None else stream
        variable = key_variable(self._wire)
        if kwargs.get('key', 'ENV') == 'ENV' and variable != CHAT.key:  # which OpenCompass reads
            if not os.environ.get(variable):
                raise ValueError(f'there is no key: export {variable}=..., or set key in the config of the model')
            kwargs['key'] = os.environ[variable].split(',')
        read_prices(prices)  # so that OpenCompass's own tasks accept prices
        address = check_base_url(random.choice(addresses_of(openai_api_base, self._wire)))
        self._local_tokenizer = tokenizer_path if tokenizer_path and Path(tokenizer_path).is_dir() else None
        super().__init__(
            path=path,
            retry=retry,
            max_workers=max_workers,
            tokenizer_path=tokenizer_path,
            openai_api_base=address,
            **kwargs,
        )
        self.max_seq_len = kwargs.get('max_seq_len')  # OpenCompass's default, 16,384, fits no model
        if self.max_seq_len is None and self.mode != 'none':
            raise ValueError(f'mode={self.mode!r} shortens prompts to max_seq_len: set it in the config of the model')
        for fault in stream_faults({'stream': stream, 'attribution': attribution, 'wire': wire}):
            raise ValueError(fault)
        self.timeout = timeout or _SECONDS[stream]
        self._idle_timeout = idle_timeout if stream else None
        self.backoff = backoff
        self.patience = patience
        self._tool_choice = tool_choice
        self._says_parallel = parallel_tool_calls
        self._strict = strict
        for fault in setting_faults({THOUGHTS: thoughts}):
            raise ValueError(fault)
        self.thoughts = thoughts
        self.system_prompt = system_prompt
        self._refused: set[str] = set()  # members that the server sends but refuses to receive
        self._suspected: set[str] = set()  # members without which a request succeeded after two with status 500
        self._losses: set[str] = set()  # thoughts that do not reach the model, in words
        if not self.tokenizer:
            self._init_tokenizer()  # OpenCompass 0.5.2 does not call it
        remember_config([openai_extra_kwargs, http_client_cfg, kwargs, self.proxy_url])
        extra = dict(openai_extra_kwargs or {})
        settings = dict(http_client_cfg or {})
        if self.proxy_url:
            settings['proxy'] = self.proxy_url
        self._client = HttpClient(settings=settings)
        self.keys: list[str] = [usable_key(key) for key in self.keys]
        self._pace = _pace(query_per_second, f'{address} {self.keys}') if query_per_second else None
        self._headers = {**self._default_headers(), **(extra.get('extra_headers') or {})}
        self._query = urlencode(extra.get('extra_query') or {})
        members = further_members(given)
        self._left_out = {name for name, value in members.items() if value is None}
        self._body = {name: value for name, value in members.items() if value is not None}
        is_reasoning = self._wire is CHAT and is_openais_reasoning(address, path)
        self._limit_key = token_limit_key or self._wire.limits[is_reasoning]
        self.no_temperature = why_no_temperature({**given, 'openai_api_base': address})
        if self.no_temperature:
            self._left_out.add('temperature')
        for note in self.setting_notes({**given, 'openai_api_base': address}):
            self.logger.warning(f'{path}: {note}')
        remember_keys(self.keys)
        self.set_address(address)
        self._server = redact(address)
        self.outage = Outage(self._server, 2 * max_workers, patience, backoff, self.logger)
        options = self._body.get('chat_template_kwargs') or {}
        self._observer = Observer(tool_parser, self.tokenizer, options, self.logger) if attribution else None
        self._stream: Mapping[str, Any] = self._wire.streamed if stream else {}
        self._end = ''  # why the model cannot be used any more

    @staticmethod
    def check_settings(settings: Mapping[str, Any]) -> Iterator[str]:
        """Yields the faults of a config: of addresses, HTTP client, requests, and parser of calls."""
        yield from parser_faults(settings)
        yield from body_faults(settings)
        yield from setting_faults(settings)
        yield from stream_faults(settings)
        try:
            for address in addresses_of(settings.get('openai_api_base') or '', wire_of(settings)):
                check_base_url(address)
            HttpClient(settings=settings.get('http_client_cfg'))
        except ValueError as error:
            yield str(error)

    @staticmethod
    def setting_notes(settings: Mapping[str, Any]) -> Iterator[str]:
        """Yields notes on a config: if a temperature is not sent, or blanks are removed from a key."""
        temperature, why = settings.get('temperature'), why_no_temperature(settings)
        if why and temperature is not None:
            yield f'temperature={temperature:g} is not sent, {why}'
        key = settings.get('key', 'ENV')
        keys = [key] if isinstance(key, str) else key
        variable = key_variable(wire_of(settings))
        where = f' in ${variable}' if keys == ['ENV'] else ''
        if any(key != key.strip() for key in ([os.environ.get(variable, '')] if where else keys)):
            yield f'the key{where} begins or ends with a blank or line break, which is left out'

    @staticmethod
    def why_no_temperature(settings: Mapping[str, Any]) -> str:
        """Returns why no temperature is sent to the model of a config; ``''`` if one is sent."""
        return why_no_temperature(settings)

    def set_address(self, base_url: str, key: str = '') -> None:
        """Makes later requests go to another server, with another key if one is given."""
        if key:
            remember_keys([key])
            self._headers = {**self._headers, 'Authorization': f'Bearer {key}'}
        path, query = self._wire.path, f'?{self._query}' if self._query else ''
        self._url = base_url.rstrip('/').removesuffix(CHAT.path).removesuffix(path) + path + query

    def _default_headers(self) -> dict[str, str]:
        named = {
            'OpenAI-Organization': (self.orgs or [None])[0] or os.environ.get('OPENAI_ORG_ID'),
            'OpenAI-Project': os.environ.get('OPENAI_PROJECT_ID'),
        }
        headers = {'Content-Type': 'application/json', 'Authorization': f'Bearer {self.keys[0]}', **self._wire.headers}
        return {**headers, **{name: value for name, value in named.items() if value}}

    def _init_tokenizer(self) -> None:
        if self._local_tokenizer:
            from transformers import AutoTokenizer

            self.tokenizer = AutoTokenizer.from_pretrained(self._local_tokenizer)
            self.tokenizer_type = 'hf'

    def get_token_len(self, prompt: str) -> int:
        """Returns the number of tokens by the local tokenizer, or else of English words and Chinese characters."""
        return int(
            len(self.tokenizer(prompt).input_ids) if self.tokenizer else BaseAPIModel.get_token_len(self, prompt)
        )

    def generate(self, inputs: list[Any], max_out_len: int = 512, temperature: float = 0.0, **kwargs: Any) -> list[str]:
        """Returns the texts of :meth:`answers` for OpenCompass; ``''`` for a missing answer.

        Raises:
            AskingEndedError: The server refuses every request, or is unreachable.
        """
        return [answer.text for answer in self.answers(inputs, max_out_len, temperature)]

    def answers(
        self, inputs: list[Any], max_out_len: int = 512, temperature: float = 0.0, **kwargs: Any
    ) -> list[Answer]:
        """Returns the answers to a batch in the order of ``inputs``, with ``max_workers`` requests in flight.

        Raises:
            AskingEndedError: The server refuses every request, or is unreachable; ``answers`` has the earlier answers.
        """
        answers: list[Answer | None] = [None] * len(inputs)

        async def answer(prompt: Any, stop: asyncio.Event) -> Answer | None:
            return await self.answer(prompt, max_out_len, temperature, stop)

        with ConcurrentQueue[int](answer, self.max_workers) as queue:
            for index, prompt in enumerate(inputs):
                queue.submit(index, prompt)
            try:
                while arrived := queue.results():
                    for index, arrived_answer in arrived:
                        answers[index] = arrived_answer
            except AskingEndedError as error:
                raise AskingEndedError(str(error), answers) from None
        return [answered for answered in answers if answered is not None]

    async def answer(
        self,
        prompt: Any,
        max_out_len: int = 512,
        temperature: float = 0.0,
        stop: asyncio.Event | None = None,
        reservation: Reservation | None = None,
        **kwargs: Any,
    ) -> Answer | None:
        """Answers one prompt. A :class:`~opencompass_tooleval.models.request_queue.ConcurrentQueue` runs many at once.

        Args:
            prompt: One of the ``inputs`` of :meth:`answers`.
            max_out_len: Maximum number of tokens.
            temperature: Temperature, used if the model's config sets none.
            stop: Ends the tries. Set when no more requests can be sent.
            reservation: Reserves the cost of each try before it is sent; None without a budget.
            kwargs: Other arguments of :meth:`answers`, which are ignored.

        Returns:
            The answer, or an empty one with a reason; None after ``stop``.

        Raises:
            AskingEndedError: The server refuses every request, or is unreachable.
        """
        stop = stop or asyncio.Event()
        if self._wire is not CHAT and not isinstance(prompt, Conversation):
            prompt = Conversation.of_prompt(prompt)
        temperature = temperature if self.temperature is None else self.temperature
        encode = partial(self._request_body, prompt, max_out_len, temperature)
        try:
            body = encode(())
        except ValueError as error:  # OpenCompass's error for a prompt over max_seq_len
            self.logger.error(error)
            return Answer('', 'infra:truncated')
        tools = getattr(prompt, 'tools', None)
        offers_tools = bool(tools and tools.tools) or 'tools' in self._body
        answer = await self._try_until_answered(SentRequest(body, prompt, offers_tools, encode), stop, reservation)
        if answer is None and self._end:
            raise AskingEndedError(self._end)
        return replace(answer, sent=None) if answer and self.thoughts == NO_THOUGHTS else answer

    @property
    def returned_thoughts(self) -> str:
        """The setting ``thoughts``, with the members that the server refuses to receive."""
        names = [*sorted(self._refused - {EMPTY_CONTENT, NULL_CONTENT}), *sorted(self._losses)]
        left_out = f' without {", ".join(names)}' if names else ''
        return self.thoughts + left_out

    def _request_body(self, prompt: Any, max_out_len: int, temperature: float, without: Collection[str] = ()) -> bytes:
        """Returns the encoded request, without the members in ``without`` and those that the server has refused.

        Raises:
            ValueError: The prompt is too long.
        """
        conversation, max_out_len = self._fitted(prompt, max_out_len, self._refused.union(without))
        tools = getattr(prompt, 'tools', None)
        offered = {} if tools is None else self._offered(tools)
        members = {
            'model': self.path,
            self._limit_key: max_out_len,
            'temperature': temperature,
            **offered,
            **self._body,
        }
        further = json.dumps({name: value for name, value in members.items() if name not in self._left_out})
        if self._wire.conversation not in members:  # one set by the user has priority, like all members that are set
            further = f'{{{conversation}, {further[1:]}'
        return further.encode('ascii')

    def _fitted(self, prompt: Any, max_out_len: int, without: Collection[str]) -> tuple[str, int]:
        """Returns the JSON of the members with the conversation, and the token limit of the answer.

        The limit is lowered to the context, as OpenCompass does.

        Tools, calls and returned thoughts count. Short prompts are not counted, since counting takes longer than
        everything else here.
        """
        limit, text = self.max_seq_len, ''
        mode = self.mode if getattr(prompt, 'tools', None) is None else 'none'  # servers refuse shortened calls
        if isinstance(prompt, Conversation) and (limit is None or mode == 'none'):
            text = self._wire.encode(prompt, without)
            if limit is None:
                return text, max_out_len
            prompt = [{'role': 'HUMAN', 'prompt': shown} for shown in prompt.shown_texts(without)]
        is_short = limit is None or (mode == 'none' and _most_tokens(prompt) + max_out_len + _RESERVED <= limit)
        if text and is_short:
            return text, max_out_len
        count: Callable[[str], int] = _nothing if is_short else cache(self.get_token_len)
        most = None if limit is None else max_out_len
        messages, fitting = self._preprocess_messages(prompt, most, limit or 0, mode, count)
        return text or f'"messages": {json.dumps(messages)}', max_out_len if fitting is None else int(fitting)

    def _offered(self, tools: ToolSet) -> dict[str, Any]:
        """Returns the members of a request that describe tools."""
        if not tools.tools:
            return {}  # servers refuse an empty list
        parallel = tools.parallel if self._says_parallel else None
        return self._wire.offer(tools, Choice(self._tool_choice, parallel, self._strict))

    async def _try_until_answered(
        self, sent: SentRequest, stop: asyncio.Event, reservation: Reservation | None
    ) -> Answer | None:
        """Returns the answer, or an empty one with a reason; None if the task ends."""
        waits, tries, failed = self.patience, 0, list[Usage | None]()
        last: Failure | None = None
        while not stop.is_set():
            try:
                if self._end:
                    raise Failure('infra:bad_request', self._end, ends=True)
                await self.outage.wait(stop)
                may_send = reservation is None or await reservation.hold(stop)
                if stop.is_set():
                    break
                if not may_send:
                    return Answer('', OVER_BUDGET, usage=with_failed(None, failed))
                answer, seconds = await self._try_with_thoughts(sent, failed, bool(last and last.status == 500))
                self.outage.reached()
                return _timed(answer, seconds, failed)
            except Failure as failure:
                last = failure
                failed.append(last.cost)
                if reservation:
                    reservation.fail(failure)
            if last.ends:
                self._end = self._end or f'{self._server}: {last.words}'
                stop.set()
                break
            self.logger.error(f'{self._server}: {last.words}')
            if await self._is_gone(last):
                continue  # a try at an unreachable server does not count
            tries += 1
            if not last.again or tries > self.retry:
                usage = with_failed(None, failed)
                return replace(last.answer or Answer('', last.reason), usage=usage, server_words=last.words)
            waits -= await self._pause(last.wait, waits, tries, stop)
        return None

    async def _is_gone(self, failure: Failure) -> bool:
        if failure.no_connection:
            return await self.outage.missed(failure.words)
        self.outage.reached()
        return False

    async def _pause(self, asked: float | None, most: float, tries: int, stop: asyncio.Event) -> float:
        """Waits before the next try; returns the seconds waited because the server requested it.

        Args:
            asked: Seconds in ``Retry-After``; None without it.
            most: Maximum number of seconds: the rest of the patience for this request.
            tries: Number of tries so far.
            stop: Ends the wait.
        """
        if asked is None:
            await sleep_unless(stop, min(MAX_WAIT, self.backoff * 2 ** (tries - 1)) * random.uniform(0.5, 1.5))
            return 0.0
        if asked > most:
            self.logger.warning(f'{self._server}: Retry-After asks for {asked:.3g} s, waiting {most:.0f} s (patience)')
        await sleep_unless(stop, min(asked, most))
        return min(asked, most)

    async def _try_with_thoughts(
        self, sent: SentRequest, failed: list[Usage | None], is_again: bool
    ) -> tuple[Answer, float]:
        """Sends the request; while the server refuses members of its own earlier messages, sends it again without them.

        An error may name a member for another reason, such as that it is missing elsewhere. So the task stops sending a
        member only if the server accepts a request without it. Requests in flight then leave it out too. A status of
        500, as of an error in the chat template, may have any cause: members are left out after a second one, and for
        the task if the error names them, or if that helped before.

        Args:
            sent: The request.
            failed: Gets the usage of each request that was sent again.
            is_again: True if the try before had status 500.
        """
        messages = sent.prompt.messages() if isinstance(sent.prompt, Conversation) else []
        refused: set[str] = set()
        first: Failure | None = None
        while True:
            try:
                answered = await self._try(sent)
                break
            except Failure as failure:
                first = first or failure
                is_guess = failure.status == 500
                if not failure.may_refuse_members or (is_guess and (refused or not is_again)):
                    raise first if failure.reason == first.reason else failure from None
                body = sent.encode(refused)
                if body == sent.body:  # no other request has found a refused member since this one was encoded
                    more = self._refused_next(failure.body, messages, refused)
                    if not more:
                        first.words += self._advice(first, messages, bool(refused))
                        raise first from None
                    refused.update(more)
                    body = sent.encode(refused)
                sent = sent._replace(body=body)
                failed.append(failure.cost)
        named = named_members(first.body, sorted(refused)) if first and first.status == 500 else refused
        new = refused.intersection(self._suspected.union(named)) - self._refused
        self._suspected |= refused
        if first and new:
            self._refused |= new
            self.logger.warning(
                f'{self._server} refuses {", ".join(sorted(new))} of its earlier messages; this task no longer returns '
                f'them: {first.words}'
            )
        return answered

    def _refused_next(self, error: str, messages: Sequence[Message], refused: Collection[str]) -> list[str]:
        """Returns the members to leave out after an error: at most 16, including ``refused``."""
        is_chat = self._wire is CHAT
        names = [
            [*names_of(message.sent), *[NULL_CONTENT] * bool(is_chat and message.calls and not message.content)]
            for message in messages
        ]
        left_out = self._refused.union(refused)
        distinct = dict.fromkeys(name for of_message in names for name in of_message if name not in left_out)
        return refused_members(error, list(distinct))[: _MOST_REFUSED - len(refused)]

    def _advice(self, failure: Failure, messages: Sequence[Message], is_without: bool) -> str:
        """Returns the setting to add to an error about thoughts that leaving members out did not fix."""
        if not is_about_thoughts(failure.body):
            return ''
        if any(message.calls and not message.sent for message in messages):
            return f'; {_FIX_NONE if self.thoughts == NO_THOUGHTS else _FIX_HISTORY}'
        return f'; {_FIX_THOUGHTS}' if is_without else ''

    async def _try(self, sent: SentRequest) -> tuple[Answer, float]:
        """Sends the request once; returns the answer and the seconds from sending to receiving."""
        observer, further = self._observer, self._stream
        if observer:
            await observer.prepare(self._send)
            further = observer.members
        body = _with_members(sent.body, {key: value for key, value in further.items() if key not in self._body})
        if self._pace:
            await asyncio.sleep(self._pace.next_pause(time.time()))
        started = time.monotonic()
        stream = self._wire.reader()
        reply = await self._client.request(
            'POST', self._url, self._headers, self.timeout, body, stream.feed, self._idle_timeout
        )
        seconds = time.monotonic() - started
        if reply.status != 200:
            if reply.status in (400, 422) and USAGE in further and USAGE in reply.text:
                self._stream = {'stream': True}
                self.logger.warning(f'{self._server} refuses {USAGE}: tokens of answers are estimated')
                return await self._try(sent)
            failure = reply.failure()
            failure.answer = observer.observed_failure(failure) if observer else None
            raise failure
        message = (
            stream.reply()
            if stream.has_begun
            else read_message(reply.body, reply.content_type, self._wire.read, self._wire.reader)
        )
        message = self._cut(message, sent.body)
        if message.choices > 1 and 'n' not in self._body:
            words = f'{message.choices} choices in one reply, though one was requested: {_SPLIT}'
            raise Failure('infra:bad_request', words, again=False, ends=True)
        tools = getattr(sent.prompt, 'tools', None)
        asked = {**(self._offered(tools) if tools and observer else {}), **self._body}
        try:
            answer = answer_of(message, sent.offers_tools)
        except Failure as failure:
            if observer:
                failure.answer = observer.observed(Answer('', failure.reason), message, sent.prompt, asked)
            raise
        for reason in message.withheld:
            self._losses.add(f'those that the server withheld ({reason})')
        if answer.calls and _TOO_LONG not in self._losses and (names := unreturned(message.message, answer.sent)):
            self._losses.add(_TOO_LONG)
            self.logger.warning(f'{self._server} sends members that are too long to return: {", ".join(sorted(names))}')
        return observer.observed(answer, message, sent.prompt, asked) if observer else answer, seconds

    def _cut(self, message: Reply, body: bytes) -> Reply:
        """Corrects the finish reason of a cut answer: on ``responses``, llama.cpp reports it as ``completed``."""
        if self._wire is not WIRES['responses'] or message.finish_reason not in (STOP, 'tool_calls'):
            return message
        limit, usage = json.loads(body).get(self._limit_key), usage_of(message.usage)
        is_cut = usage is not None and isinstance(limit, int) and (usage.completion or 0) >= limit
        return replace(message, finish_reason=CUT) if is_cut else message

    async def _send(self, request: Request) -> Reply | Mapping[str, Any] | Failure:
        """Sends a request of the search for raw text; returns its reply, or the failure."""
        path, members = request
        root = self._url.partition('?')[0].removesuffix(CHAT.path)
        is_chat = not path.startswith('/')
        url = self._url if is_chat else root.removesuffix('/v1') + path
        limit = {self._limit_key: _SEARCH_TOKENS}
        body = {'model': self.path, **self._body, **(limit if is_chat else {}), **members}
        try:
            reply = await self._client.request('POST', url, self._headers, self.timeout, json.dumps(body).encode())
            if reply.status != 200:
                return reply.failure()
            return read_message(reply.body, reply.content_type) if is_chat else load_json(reply.body, bounded=True)
        except Failure as failure:
            return failure
        except ValueError as error:
            return Failure('infra:bad_response', excerpt(str(error)))


def stream_faults(settings: Mapping[str, Any]) -> Iterator[str]:
    """Yields the faults of ``attribution``, which needs whole answers of chat completions."""
    if settings.get('stream') and settings.get('attribution'):
        yield 'attribution: raw text is read from whole answers only: set stream=False, or attribution=False'
    if wire_of(settings) is not CHAT and settings.get('attribution'):
        yield "attribution: raw text comes with chat completions only: set wire='chat', or attribution=False"


def _with_members(body: bytes, members: Mapping[str, Any]) -> bytes:
    """Adds members to the JSON of a non-empty object."""
    return body[:-1] + b', ' + json.dumps(members).encode()[1:] if members else body


def _nothing(text: str) -> int:
    return 0


def _most_tokens(prompt: Any) -> float:
    """Returns an upper bound of a prompt's tokens: a tokenizer never makes more tokens than bytes."""
    texts = [prompt] if isinstance(prompt, str) else [item.get('prompt', item.get('content')) for item in prompt]
    if not all(isinstance(text, str) for text in texts):
        return math.inf
    return sum(len(text) if text.isascii() else len(text.encode('utf-8', 'replace')) for text in texts)


def _pace(per_second: float, server: str) -> Pace:
    from opencompass_tooleval.models.api.pace import Pace  # few configs have a rate

    return Pace(per_second, server)


def _timed(answer: Answer, seconds: float, failed: Sequence[Usage | None]) -> Answer:
    usage = replace(answer.usage or Usage(), seconds=round(seconds, 3))
    return replace(answer, usage=with_failed(usage, failed))
