"""OpenAI-compatible servers, with failures told apart from answers."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import openai
from opencompass.models.base_api import BaseAPIModel
from opencompass.models.openai_api import OAI_REASONING_MODEL_LIST, OpenAISDK
from opencompass.registry import MODELS

from opencompass_tooleval.api.failure import MAX_WAIT, Failure, failure_of_status
from opencompass_tooleval.api.outage import Outage
from opencompass_tooleval.api.redaction import excerpt, redact, remember_headers, remember_keys
from opencompass_tooleval.api.reply import read_reply
from opencompass_tooleval.api.transport import BoundedClient, UnreadableReplyError, run_within
from opencompass_tooleval.core.answer import Answer
from opencompass_tooleval.core.prices import read_prices
from opencompass_tooleval.core.tool_set import ToolSet
from opencompass_tooleval.core.usage import Usage
from opencompass_tooleval.host.model_calls import AskingEndedError
from opencompass_tooleval.host.pipe import ConcurrentPipe

_SECONDS_TO_CONNECT = 60.0
_CONNECTIONS = 4096


@MODELS.register_module()
class ToolEvalOpenAI(OpenAISDK):
    """OpenCompass's :class:`OpenAISDK` for any OpenAI-compatible server.

    What differs: a sample that stays without an answer after all tries becomes an empty
    :class:`~opencompass_tooleval.core.answer.Answer` with a reason (``infra:timeout``, ``infra:rate_limit``,
    ``infra:server``, ``infra:connection``, ``infra:bad_response``, ``infra:filter``, ``infra:empty``,
    ``infra:truncated``, ``infra:bad_request``), and the run goes on. A wrong key or model name, or an account without
    credit, ends it at once; a server that is gone, after some patience. Nothing is downloaded: without a local
    tokenizer, token counts are estimates.

    Args:
        path: Name of the model on the server.
        retry: Tries after the first, with growing pauses; ``Retry-After`` is kept to.
        max_workers: Requests in flight.
        query_per_second: Requests started per second.
        timeout: Seconds per try, of wall time.
        tokenizer_path: Folder of a local HF tokenizer, to check prompts against ``max_seq_len``.
        backoff: First pause between two tries, in seconds; doubled each time.
        patience: Seconds to wait for a server that is gone: after twice as many failed connections in a row as may be
            in flight.
        tool_choice: Whether tools that are offered may or must be called: ``auto`` or ``required``.
        parallel_tool_calls: Whether the server is told if a data set wants one call per answer or several; some refuse
            the word.
        prices: What a million tokens cost, as ``dict(input=..., output=...)``; nothing is asked otherwise for it.
        kwargs: As :class:`OpenAISDK`.
    """

    tokenizer: Any = None
    takes_tools = True

    def __init__(
        self,
        path: str,
        retry: int = 4,
        max_workers: int = 16,
        query_per_second: int = 64,
        timeout: int = 600,
        tokenizer_path: str | None = None,
        backoff: float = 1.0,
        patience: float = 1800.0,
        tool_choice: str = 'auto',
        parallel_tool_calls: bool = True,
        prices: Mapping[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        read_prices(prices)  # tasks of OpenCompass's own hand them over
        self._local_tokenizer = tokenizer_path if tokenizer_path and Path(tokenizer_path).is_dir() else None
        super().__init__(
            path=path,
            retry=retry,
            max_workers=max_workers,
            query_per_second=query_per_second,
            timeout=timeout,
            tokenizer_path=tokenizer_path,
            **kwargs,
        )
        self.backoff = backoff
        self._tool_choice = tool_choice
        self._says_parallel = parallel_tool_calls
        self._pace = _Pace(query_per_second)
        if not self.tokenizer:
            self._init_tokenizer()  # OpenCompass 0.5.2 does not ask for it
        client_cfg = dict(kwargs.get('http_client_cfg') or {})
        remember_keys(self.keys)
        remember_headers(client_cfg.get('headers') or {})
        remember_headers((self.openai_extra_kwargs or {}).get('extra_headers') or {})
        self._server = redact(str(self.openai_api_base))
        self.outage = Outage(self._server, 2 * max_workers, patience, backoff, self.logger)
        self._end = ''  # why it cannot be asked any more
        self._client = self._make_client(client_cfg)

    def _make_client(self, settings: dict[str, Any]) -> openai.AsyncOpenAI:
        if self.proxy_url:
            settings.pop('proxies', None)
            settings['proxy'] = self.proxy_url
        client = BoundedClient(
            timeout=httpx.Timeout(self.timeout, connect=min(self.timeout, _SECONDS_TO_CONNECT)),
            limits=httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS),
            **settings,
        )
        return openai.AsyncOpenAI(
            base_url=self.openai_api_base, api_key=self.keys[0], http_client=client, max_retries=0
        )

    def _init_tokenizer(self) -> None:
        if self._local_tokenizer:
            from transformers import AutoTokenizer

            self.tokenizer = AutoTokenizer.from_pretrained(self._local_tokenizer)
            self.tokenizer_type = 'hf'

    def get_token_len(self, prompt: str) -> int:
        """Tokens by the local tokenizer, or else English words and Chinese characters."""
        return int(
            len(self.tokenizer(prompt).input_ids) if self.tokenizer else BaseAPIModel.get_token_len(self, prompt)
        )

    def generate(self, inputs: list[Any], max_out_len: int = 512, temperature: float = 0.0, **kwargs: Any) -> list[str]:
        """Answers a batch, ``max_workers`` requests at a time, in the order of ``inputs``.

        Raises:
            AskingEndedError: The server refuses every request, or is gone; ``answers`` holds what came before.
        """
        answers: list[str | None] = [None] * len(inputs)

        def answer(prompt: Any, stop: threading.Event) -> Answer | None:
            return self.answer(prompt, max_out_len, temperature, stop)

        with ConcurrentPipe[int](answer, self.max_workers) as pipe:
            for index, prompt in enumerate(inputs):
                pipe.put(index, prompt)
            try:
                while arrived := pipe.take():
                    for index, text in arrived:
                        answers[index] = text
            except AskingEndedError as error:
                raise AskingEndedError(str(error), answers) from None
        return [text for text in answers if text is not None]

    def answer(
        self,
        prompt: Any,
        max_out_len: int = 512,
        temperature: float = 0.0,
        stop: threading.Event | None = None,
        **kwargs: Any,
    ) -> Answer | None:
        """Answers one prompt, in the thread that calls: a pipe asks ``max_workers`` beside one another.

        Args:
            prompt: As one of the ``inputs`` of :meth:`generate`.
            max_out_len: Tokens at most.
            temperature: As there.
            stop: Ends the trying; is set where nothing more can be asked.
            kwargs: More arguments of :meth:`generate`, which has no use for them either.

        Returns:
            The answer, or one with its reason; None after ``stop``.

        Raises:
            AskingEndedError: The server refuses every request, or is gone.
        """
        temperature = temperature if self.temperature is None else self.temperature
        answer = self._answer(prompt, max_out_len, temperature, stop or threading.Event())
        if answer is None and self._end:
            raise AskingEndedError(self._end)
        return answer

    def _generate(self, input: Any, max_out_len: int, temperature: float) -> str:
        return self.generate([input], max_out_len, temperature)[0]

    def _answer(self, prompt: Any, max_out_len: int, temperature: float, stop: threading.Event) -> Answer | None:
        try:
            messages, max_out_len = self._preprocess_messages(
                prompt, max_out_len, self.max_seq_len, self.mode, self.get_token_len
            )
        except ValueError as error:  # OpenCompass's word for a prompt over max_seq_len
            self.logger.error(error)
            return Answer('', 'infra:truncated')
        limit: dict[str, Any] = {'max_tokens': max_out_len, 'temperature': temperature}
        if any(name in self.path for name in OAI_REASONING_MODEL_LIST):  # these take neither of the two
            limit = {'max_completion_tokens': max_out_len}
        tools = getattr(prompt, 'tools', None)
        offered = {} if tools is None else {'messages': prompt.as_request(), **self._offered(tools)}
        request = {'model': self.path, 'messages': messages, **limit, 'extra_body': self.extra_body, **offered}
        return self._try_until_answered({**request, **(self.openai_extra_kwargs or {})}, stop)

    def _offered(self, tools: ToolSet) -> dict[str, Any]:
        """What a request says of tools."""
        if not tools.tools:
            return {}  # servers refuse an empty list
        offered: dict[str, Any] = {'tools': tools.as_request(), 'tool_choice': self._tool_choice}
        if tools.parallel is not None and self._says_parallel:
            offered['parallel_tool_calls'] = tools.parallel
        return offered

    def _try_until_answered(self, request: dict[str, Any], stop: threading.Event) -> Answer | None:
        """Returns the answer, one with a reason, or None if the task ends."""
        tries = 0
        while not stop.is_set():
            try:
                if self._end:
                    raise Failure('infra:bad_request', self._end, ends=True)
                self.outage.wait(stop)
                if stop.is_set():
                    break
                answer, seconds = self._try(request)
                self.outage.reached()
                return _timed(answer, seconds, tries + 1)
            except Failure as failure:
                last = failure
            if last.ends:
                self._end = self._end or f'{self._server}: {last.words}'
                stop.set()
                break
            self.logger.error(f'{self._server}: {last.words}')
            if self._is_gone(last):
                continue  # a try at a server that is not there is none
            tries += 1
            if not last.again or tries > self.retry:
                return Answer('', last.reason, usage=Usage(tries=tries))
            self._pause(last.wait, tries, stop)
        return None

    def _is_gone(self, failure: Failure) -> bool:
        if failure.no_connection:
            return self.outage.missed(failure.words)
        self.outage.reached()
        return False

    def _pause(self, wait: float | None, tries: int, stop: threading.Event) -> None:
        growing = min(MAX_WAIT, self.backoff * 2 ** (tries - 1)) * random.uniform(0.5, 1.5)
        stop.wait(growing if wait is None else wait)

    def wait(self) -> None:
        """Waits until another request may start."""
        self._pace.wait()

    def _try(self, request: dict[str, Any]) -> tuple[Answer, float]:
        """Asks once; returns the answer and how many seconds it took, the wait for its turn aside."""
        self.acquire()
        started = time.monotonic()
        try:
            exchange = self._client.chat.completions.with_raw_response.create(**_unwalked(request))
            response: httpx.Response = run_within(exchange, self.timeout).http_response
        except openai.APIStatusError as error:
            raise failure_of_status(error.status_code, error.response.headers, error.response.text) from None
        except (asyncio.TimeoutError, openai.APITimeoutError) as error:
            if isinstance(error.__cause__, httpx.ConnectTimeout):
                raise Failure('infra:connection', 'no connection in time', no_connection=True) from None
            raise Failure('infra:timeout', f'no whole answer within {self.timeout} s') from None
        except openai.APIConnectionError as error:
            raise _failed_exchange(error.__cause__ or error) from None
        except Exception as error:  # what cannot even be sent, such as a setting that openai does not know
            raise Failure('infra:bad_request', _words_of(error), again=False) from None
        finally:
            self.release()
        seconds = time.monotonic() - started
        return read_reply(response.content, response.headers.get('content-type', ''), 'tools' in request), seconds


def _timed(answer: Answer, seconds: float, tries: int) -> Answer:
    return answer.changed(usage=replace(answer.usage or Usage(), seconds=round(seconds, 3), tries=tries))


class _Pace:
    """So many requests start per second, and as many at once after a pause.

    OpenCompass's bucket of tokens has a thread that wakes up for each token and never ends: a hundred models that were
    asked at 1,000 requests per second kept a processor busy.
    """

    def __init__(self, per_second: float) -> None:
        self._gap = 1 / per_second
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self) -> None:
        with self._lock:
            now = time.monotonic()
            earliest = now - 1 + self._gap if self._next else now
            self._next = max(self._next + self._gap, earliest)
            pause = self._next - now
        if pause > 0:
            time.sleep(pause)


def _unwalked(request: dict[str, Any]) -> dict[str, Any]:
    """The same request, with what is large in it as ``extra_body``.

    openai looks at each value of the other arguments by its type, which takes milliseconds where tools and their calls
    are many; of an ``extra_body`` it takes the keys, and puts them in the place of its own.
    """
    large = {name: request[name] for name in ('messages', 'tools') if name in request}
    rest = {name: value for name, value in request.items() if name != 'tools'}
    return {**rest, 'messages': [], 'extra_body': {**large, **(request.get('extra_body') or {})}}


def _words_of(error: BaseException) -> str:
    return excerpt(f'{type(error).__name__}: {error}')


def _failed_exchange(cause: BaseException) -> Failure:
    if isinstance(cause, UnreadableReplyError):
        return Failure('infra:bad_response', _words_of(cause))
    return Failure('infra:connection', _words_of(cause), no_connection=True)
