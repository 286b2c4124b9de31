"""Sends a few requests to an OpenAI-compatible server, bounded in number, time and tokens. Imports no OpenCompass."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.core.text.redaction import excerpt, redact, remember_keys
from opencompass_tooleval.models.api.event_loop import run
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.http_client import HttpClient, HttpReply, check_base_url
from opencompass_tooleval.models.api.reply import Reply, read_message
from opencompass_tooleval.models.api.wires.chat import CHAT
from opencompass_tooleval.models.api.wires.wire import Wire

Turn = Mapping[str, Any] | Message
"""A message of chat as a request has it, or a message that a wire other than chat encodes."""

_SECONDS_TO_CONNECT = 20.0
_SLACK = 300.0
"""Extra seconds to wait: requests have their own timeouts, but may end late on a busy machine."""


@dataclass(frozen=True)
class _Turns:
    """Messages that a wire encodes as it encodes a conversation. (A conversation is OpenCompass's.)"""

    turns: list[Message]

    def messages(self) -> list[Message]:
        """Returns the messages."""
        return self.turns

    def requested_call(self, call: ToolCall) -> dict[str, Any]:
        """Returns a call in the server's format."""
        return {'name': call.name, 'arguments': json.dumps(call.arguments)}


@dataclass
class Endpoint:
    """A server and a model on it.

    Args:
        url: The base URL, such as ``http://127.0.0.1:8000/v1``.
        model: Its name on the server.
        key: The API key; '' sends none.
        timeout: Maximum number of seconds per request.
        seconds: Maximum number of seconds for all requests.
        wire: The request format.

    Attributes:
        requests: Number of requests so far.
        prompt_tokens, completion_tokens: Sums over all replies that report tokens.
    """

    url: str
    model: str
    key: str = ''
    timeout: float = 60.0
    seconds: float = 300.0
    wire: Wire = CHAT
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    _end: float = field(init=False, repr=False)
    _client: HttpClient = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Removes ``/chat/completions`` from the URL, and starts the clock.

        Raises:
            ValueError: The URL is invalid.
        """
        self.url = check_base_url(self.url).removesuffix('/chat/completions').removesuffix(self.wire.path)
        self._end = time.monotonic() + self.seconds
        self._client = HttpClient(_SECONDS_TO_CONNECT)
        remember_keys([self.key])

    def close(self) -> None:
        """Closes the connections."""
        run(self._client.close(), _SLACK)

    @property
    def shown(self) -> str:
        """The URL without keys."""
        return redact(self.url)

    def get(self, path: str, key: str | None = None, url: str = '') -> Any:
        """Returns the JSON of a page below the base URL.

        Args:
            path: A path such as ``models``.
            key: Used in place of the key.
            url: Used in place of the base URL.

        Raises:
            Failure: The request failed, or the reply is not JSON.
        """
        (exchanged,) = self._exchange('GET', f'{url or self.url}/{path}', [None], self._headers(key))
        return _page(exchanged)

    def post(self, path: str, members: Mapping[str, Any]) -> Any:
        """Returns the JSON of a page at the root of the server, without ``/v1``.

        Args:
            path: A path such as ``/tokenize``.
            members: Members of the request in addition to ``model``.

        Raises:
            Failure: The request failed, or the reply is not JSON.
        """
        body = json.dumps({'model': self.model, **members}).encode('ascii')
        headers = {**self._headers(None), 'Content-Type': 'application/json'}
        (exchanged,) = self._exchange('POST', self.url.removesuffix('/v1') + path, [body], headers)
        return _page(exchanged)

    def ask(self, messages: Sequence[Turn], within: float | None = None, **settings: Any) -> Reply:
        """Sends a conversation once and returns the reply.

        Args:
            messages: The conversation.
            within: Maximum number of seconds, if lower than ``timeout``.
            settings: Further members of the request.

        Raises:
            Failure: The request failed, or the reply has no message.
        """
        (reply,) = self.ask_all([messages], within, **settings)
        if isinstance(reply, Failure):
            raise reply
        return reply

    def ask_all(
        self,
        questions: Sequence[Sequence[Turn]],
        within: float | None = None,
        key: str | None = None,
        **settings: Any,
    ) -> list[Reply | Failure]:
        """Sends all requests at the same time, each once, and returns the replies in the order of the questions.

        Args:
            questions: One conversation per request.
            within: Maximum number of seconds, if lower than ``timeout``.
            key: Used in place of the key.
            settings: Further members of each request; None leaves a member out.
        """
        headers = {**self._headers(key), 'Content-Type': 'application/json'}
        requests = ({'model': self.model, **self._asked(messages), **settings} for messages in questions)
        members = ({name: value for name, value in request.items() if value is not None} for request in requests)
        bodies = [json.dumps(request).encode('ascii') for request in members]
        try:
            exchanged = self._exchange('POST', f'{self.url}{self.wire.path}', bodies, headers, within)
        except Failure as failure:
            return [failure for _ in questions]
        return [self._read(reply) for reply in exchanged]

    def _asked(self, messages: Sequence[Turn]) -> dict[str, Any]:
        """Returns the members of a request with the messages."""
        if self.wire is CHAT:
            return {'messages': list(messages)}
        turns = [one if isinstance(one, Message) else Message(one['role'], one['content']) for one in messages]
        encoded = self.wire.encode(_Turns(turns), ())  # type: ignore[arg-type]
        return {**self.wire.members, **json.loads(f'{{{encoded}}}')}

    @property
    def _left(self) -> float:
        return self._end - time.monotonic()

    def _headers(self, key: str | None) -> dict[str, str]:
        key = self.key if key is None else key
        return {**self.wire.headers, **({'Authorization': f'Bearer {key}'} if key else {})}

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
            raise Failure('infra:timeout', f'not sent: the limit of {self.seconds:g} s is over', again=False)
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
            raise Failure('infra:timeout', f'no reaction within {timeout + _SLACK:.0f} s') from None

    def _read(self, exchanged: HttpReply | Failure) -> Reply | Failure:
        try:
            whole = _checked(exchanged)
            reply = read_message(whole.body, whole.content_type, self.wire.read, self.wire.reader)
        except Failure as failure:
            return failure
        self.prompt_tokens += reply.tokens('prompt') or 0
        self.completion_tokens += reply.tokens('completion') or 0
        return reply


def _page(exchanged: HttpReply | Failure) -> Any:
    """Returns the JSON of a page.

    Raises:
        Failure: The request failed, or the reply is not JSON.
    """
    reply = _checked(exchanged)
    try:
        return load_json(reply.body, bounded=True)
    except ValueError:
        raise Failure('infra:bad_response', f'no JSON: {excerpt(reply.text)}') from None


def _checked(exchanged: HttpReply | Failure) -> HttpReply:
    """Returns the reply.

    Raises:
        Failure: The request failed, or the status is not 200.
    """
    if isinstance(exchanged, Failure):
        raise exchanged
    if exchanged.status != 200:
        raise exchanged.failure()
    return exchanged
