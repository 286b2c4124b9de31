"""A few requests to an OpenAI-compatible server, bounded in number, time and tokens. Imports no OpenCompass."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.json_object import load_json
from opencompass_tooleval.core.usage import whole_number
from opencompass_tooleval.models.api.event_loop import run
from opencompass_tooleval.models.api.failure import Failure, failure_of_status
from opencompass_tooleval.models.api.http_client import HttpClient, HttpReply, check_base_url
from opencompass_tooleval.models.api.redaction import excerpt, redact, remember_keys
from opencompass_tooleval.models.api.reply import read_message

_LONGEST_PAUSE = 10.0
_SECONDS_TO_CONNECT = 20.0
_SLACK = 300.0
"""Every request ends by itself; a machine that has much to do may be late with that."""


_AGAIN = ('infra:rate_limit', 'infra:server', 'infra:connection')
_MAX_FINISH = 32


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True)
class RawReply:
    """A reply as the server sent it.

    Attributes:
        message: Of the first choice; put together if it was streamed.
        finish_reason: Its ``finish_reason``; None if that is no text.
        usage: As it came.
        body: The whole object; empty for a stream.
    """

    message: Mapping[str, Any]
    finish_reason: str | None
    usage: Any
    body: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The content, where it is text."""
        content = self.message.get('content')
        return content if isinstance(content, str) else ''

    @property
    def functions(self) -> list[Mapping[str, Any]]:
        """The ``function`` of each tool call, as it came."""
        calls = self.message.get('tool_calls')
        return [_mapping(_mapping(call).get('function')) for call in calls] if isinstance(calls, list) else []

    @property
    def choices(self) -> int:
        """How many choices there are; of a stream 1."""
        choices = self.body.get('choices')
        return len(choices) if isinstance(choices, list) else 1

    def tokens(self, kind: str) -> int | None:
        """What ``usage`` says of ``prompt`` or ``completion``; None if it says nothing."""
        return whole_number(_mapping(self.usage).get(f'{kind}_tokens'))


@dataclass
class Endpoint:
    """A server and a model on it.

    Args:
        url: The base URL, such as ``http://127.0.0.1:8000/v1``.
        model: Its name on the server.
        key: '' sends none.
        timeout: Seconds per request at most.
        seconds: For all of them; none is sent after that.

    Attributes:
        requests: How many were sent.
        prompt_tokens, completion_tokens: Of all replies, as far as they say it.
    """

    url: str
    model: str
    key: str = ''
    timeout: float = 60.0
    seconds: float = 300.0
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    _end: float = field(init=False, repr=False)
    _client: HttpClient = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Cuts the path of chat completions off, and begins to count the time.

        Raises:
            ValueError: The URL is none.
        """
        self.url = check_base_url(self.url).removesuffix('/chat/completions')
        self._end = time.monotonic() + self.seconds
        self._client = HttpClient(_SECONDS_TO_CONNECT)
        remember_keys([self.key])

    def close(self) -> None:
        """Ends its connections."""
        run(self._client.close(), _SLACK)

    @property
    def shown(self) -> str:
        """The URL without keys."""
        return redact(self.url)

    def get(self, path: str, key: str | None = None, url: str = '') -> Any:
        """The JSON of a page below the base URL.

        Args:
            path: Such as ``models``.
            key: In place of the key.
            url: In place of the base URL.

        Raises:
            Failure: There is none.
        """
        (exchanged,) = self._exchange('GET', _url(url or self.url, path), [None], self._headers(key))
        reply = _checked(exchanged)
        try:
            return load_json(reply.body, bounded=True)
        except ValueError:
            raise Failure('infra:bad_response', f'no JSON: {excerpt(reply.text)}') from None

    def ask(self, messages: Sequence[Mapping[str, Any]], within: float | None = None, **settings: Any) -> RawReply:
        """Asks for a chat completion, once more where that may help: a server is busy, a connection broke.

        Args:
            messages: The conversation.
            within: Seconds at most, if fewer than ``timeout``.
            settings: What else the request says.

        Raises:
            Failure: No message came.
        """
        reply = self.ask_all([messages], within, **settings)[0]
        if isinstance(reply, Failure) and reply.again and reply.reason in _AGAIN:
            time.sleep(max(0.0, min(_LONGEST_PAUSE, 1.0 if reply.wait is None else reply.wait, self._left)))
            reply = self.ask_all([messages], within, **settings)[0]
        if isinstance(reply, Failure):
            raise reply
        return reply

    def ask_all(
        self,
        questions: Sequence[Sequence[Mapping[str, Any]]],
        within: float | None = None,
        key: str | None = None,
        **settings: Any,
    ) -> list[RawReply | Failure]:
        """Asks all at the same time, each once; the replies are in the order of the questions.

        Args:
            questions: A conversation each.
            within: As :meth:`ask`.
            key: In place of the key.
            settings: As :meth:`ask`.
        """
        headers = {**self._headers(key), 'Content-Type': 'application/json'}
        requests = ({'model': self.model, 'messages': list(messages), **settings} for messages in questions)
        bodies = [json.dumps(request).encode('ascii') for request in requests]
        try:
            exchanged = self._exchange('POST', _url(self.url, 'chat/completions'), bodies, headers, within)
        except Failure as failure:
            return [failure for _ in questions]
        return [self._read(reply) for reply in exchanged]

    @property
    def _left(self) -> float:
        return self._end - time.monotonic()

    def _headers(self, key: str | None) -> dict[str, str]:
        key = self.key if key is None else key
        return {'Authorization': f'Bearer {key}'} if key else {}

    def _exchange(
        self,
        method: str,
        url: str,
        bodies: Sequence[bytes | None],
        headers: Mapping[str, str],
        within: float | None = None,
    ) -> list[HttpReply | Failure]:
        """Sends all bodies at the same time."""
        timeout = min(self.timeout, self._left, self.timeout if within is None else within)
        if timeout <= 0:
            raise Failure('infra:timeout', f'not asked: {self.seconds:g} s are over', again=False)
        self.requests += len(bodies)

        async def send(body: bytes | None) -> HttpReply | Failure:
            try:
                return await self._client.request(method, url, headers, timeout, body)
            except Failure as failure:
                return failure

        async def send_all() -> list[HttpReply | Failure]:
            return list(await asyncio.gather(*map(send, bodies)))

        try:
            return run(send_all(), timeout + _SLACK)
        except TimeoutError:
            raise Failure('infra:timeout', f'not even refused within {timeout + _SLACK:.0f} s') from None

    def _read(self, exchanged: HttpReply | Failure) -> RawReply | Failure:
        try:
            whole = _checked(exchanged)
            read = read_message(whole.body, whole.content_type)
        except Failure as failure:
            return failure
        try:
            body = _mapping(load_json(whole.body, bounded=True))
        except ValueError:  # a stream
            body = {}
        finish_reason = read.finish_reason[:_MAX_FINISH] if isinstance(read.finish_reason, str) else None
        reply = RawReply(read.message, finish_reason, read.usage, body)
        self.prompt_tokens += reply.tokens('prompt') or 0
        self.completion_tokens += reply.tokens('completion') or 0
        return reply


def _url(base: str, path: str) -> str:
    return f'{base}/{path}'


def _checked(exchanged: HttpReply | Failure) -> HttpReply:
    """The reply, if its status is 200.

    Raises:
        Failure: It is not.
    """
    if isinstance(exchanged, Failure):
        raise exchanged
    if exchanged.status != 200:
        raise failure_of_status(exchanged.status, exchanged.headers, exchanged.text)
    return exchanged
