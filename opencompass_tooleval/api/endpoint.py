"""A few requests to an OpenAI-compatible server, bounded in number, time and tokens. Imports no OpenCompass."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from opencompass_tooleval.api.failure import Failure, failure_of_status
from opencompass_tooleval.api.redaction import excerpt, redact, remember_keys
from opencompass_tooleval.api.reply import read_message
from opencompass_tooleval.api.transport import BoundedClient, UnreadableReplyError, run_within
from opencompass_tooleval.core.json_object import load_json
from opencompass_tooleval.core.usage import whole_number

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
        finish: Its ``finish_reason``; None if that is no text.
        usage: As it came.
        body: The whole object; empty for a stream.
    """

    message: Mapping[str, Any]
    finish: str | None
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
    _client: BoundedClient = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Cuts the path of chat completions off, and begins to count the time."""
        self.url = self.url.rstrip('/').removesuffix('/chat/completions')
        self._end = time.monotonic() + self.seconds
        self._client = BoundedClient(timeout=httpx.Timeout(None, connect=min(self.timeout, _SECONDS_TO_CONNECT)))
        remember_keys([self.key])

    def close(self) -> None:
        """Ends its connections."""
        run_within(self._client.aclose(), _SLACK)

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
        request = httpx.Request('GET', _url(url or self.url, path), headers=self._headers(key))
        (response,) = self._exchange([request])
        response = _checked(response)
        try:
            return load_json(response.content, bounded=True)
        except ValueError:
            raise Failure('infra:bad_response', f'no JSON: {excerpt(response.text)}') from None

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
        self, questions: Sequence[Sequence[Mapping[str, Any]]], within: float | None = None, **settings: Any
    ) -> list[RawReply | Failure]:
        """Asks all at the same time, each once; the replies are in the order of the questions."""
        url, headers = _url(self.url, 'chat/completions'), self._headers(None)
        bodies = [{'model': self.model, 'messages': list(messages), **settings} for messages in questions]
        try:
            requests = [httpx.Request('POST', url, headers=headers, json=body) for body in bodies]
            return [self._read(response) for response in self._exchange(requests, within)]
        except Failure as failure:
            return [failure for _ in questions]

    @property
    def _left(self) -> float:
        return self._end - time.monotonic()

    def _headers(self, key: str | None) -> dict[str, str]:
        key = self.key if key is None else key
        return {'Authorization': f'Bearer {key}'} if key else {}

    def _exchange(
        self, requests: Sequence[httpx.Request], within: float | None = None
    ) -> list[httpx.Response | Failure]:
        timeout = min(self.timeout, self._left, self.timeout if within is None else within)
        if timeout <= 0:
            raise Failure('infra:timeout', f'not asked: {self.seconds:g} s are over', again=False)
        self.requests += len(requests)
        try:
            return run_within(_send_all(self._client, requests, timeout), timeout + _SLACK)
        except (asyncio.TimeoutError, TimeoutError):
            raise Failure('infra:timeout', f'not even refused within {timeout + _SLACK:.0f} s') from None

    def _read(self, response: httpx.Response | Failure) -> RawReply | Failure:
        try:
            response = _checked(response)
            content_type = response.headers.get('content-type', '')
            read = read_message(response.content, content_type)
        except Failure as failure:
            return failure
        try:
            body = _mapping(load_json(response.content, bounded=True))
        except ValueError:  # a stream
            body = {}
        finish = read.finish[:_MAX_FINISH] if isinstance(read.finish, str) else None
        reply = RawReply(read.message, finish, read.usage, body)
        self.prompt_tokens += reply.tokens('prompt') or 0
        self.completion_tokens += reply.tokens('completion') or 0
        return reply


def _url(base: str, path: str) -> str:
    return f'{base}/{path}'


def _checked(response: httpx.Response | Failure) -> httpx.Response:
    """The response, if its status is 200.

    Raises:
        Failure: It is not.
    """
    if isinstance(response, Failure):
        raise response
    if response.status_code != 200:
        raise failure_of_status(response.status_code, response.headers, response.text)
    return response


async def _send_all(
    client: httpx.AsyncClient, requests: Sequence[httpx.Request], timeout: float
) -> list[httpx.Response | Failure]:
    return list(await asyncio.gather(*(_send(client, request, timeout) for request in requests)))


async def _send(client: httpx.AsyncClient, request: httpx.Request, timeout: float) -> httpx.Response | Failure:
    try:
        return await asyncio.wait_for(client.send(request), timeout)
    except httpx.ConnectTimeout:
        return Failure('infra:connection', 'no connection in time', no_connection=True)
    except (asyncio.TimeoutError, httpx.TimeoutException):
        return Failure('infra:timeout', f'no whole answer within {timeout:.0f} s')
    except UnreadableReplyError as error:
        return Failure('infra:bad_response', excerpt(str(error)))
    except (httpx.HTTPError, OSError) as error:
        words = excerpt(f'{type(error).__name__}: {error}')
        return Failure('infra:connection', words, no_connection=True)
