"""HTTP whose every exchange ends in time and stays small, whatever the server does. Imports no OpenCompass."""

from __future__ import annotations

import asyncio
import os
import threading
import zlib
from collections.abc import Awaitable
from typing import Any, TypeVar

import httpx

MAX_REPLY_BYTES = 32 << 20
"""After decompression; a stream of 100,000 tokens takes some 25 MB."""

_MAX_REDIRECTS = 5
_OF_THE_BODY = {'content-encoding', 'content-length', 'transfer-encoding'}

T = TypeVar('T')


class UnreadableReplyError(Exception):
    """A reply is too large, or packed in a way that was not asked for."""


class BoundedClient(httpx.AsyncClient):
    """A client of httpx that reads every reply whole, errors too, up to :data:`MAX_REPLY_BYTES`."""

    def __init__(self, **kwargs: Any) -> None:
        headers = {'Accept-Encoding': 'gzip', **(kwargs.pop('headers', None) or {})}
        super().__init__(headers=headers, **kwargs)

    async def send(self, request: httpx.Request, **kwargs: Any) -> httpx.Response:
        """Sends a request and reads the reply.

        Raises:
            UnreadableReplyError: It is over the limit.
        """
        kwargs.update(stream=True, follow_redirects=False)  # httpx would read the redirects whole
        response = await super().send(request, **kwargs)
        for _ in range(_MAX_REDIRECTS if self.follow_redirects else 0):
            if response.next_request is None:
                break
            await response.aclose()
            response = await super().send(response.next_request, **kwargs)
        try:
            content = await _read(response)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.items() if name not in _OF_THE_BODY]
        return httpx.Response(response.status_code, headers=headers, content=content, request=response.request)


async def _read(response: httpx.Response) -> bytes:
    encoding = response.headers.get('content-encoding', 'identity').strip().lower()
    if encoding not in ('identity', 'gzip', 'x-gzip', 'deflate'):
        raise UnreadableReplyError(f'a reply packed as {encoding[:40]!r}, which was not asked for')
    unpacker = None if encoding == 'identity' else zlib.decompressobj(zlib.MAX_WBITS | 32)
    content = bytearray()
    async for chunk in response.aiter_raw():
        try:
            # The limit is on what comes out: 40 kB of zeros, packed, are 40 MB.
            content += unpacker.decompress(chunk, MAX_REPLY_BYTES + 1 - len(content)) if unpacker else chunk
        except zlib.error as error:
            raise UnreadableReplyError(f'a reply that cannot be unpacked ({error})') from None
        if len(content) > MAX_REPLY_BYTES:
            raise UnreadableReplyError(f'a reply of more than {MAX_REPLY_BYTES >> 20} MB')
    if unpacker and content and not unpacker.eof:
        raise UnreadableReplyError('a packed reply that ends too early')
    return bytes(content)


class _Loop:
    """The event loop of this process's requests, in a thread of its own, from the first request on."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def get(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, daemon=True, name='api_transport').start()
            return self._loop

    def forget(self) -> None:
        """For a process that was forked: the thread is its parent's."""
        self._starting, self._loop = threading.Lock(), None


_loop = _Loop()
os.register_at_fork(after_in_child=_loop.forget)


def run_within(exchange: Awaitable[T], seconds: float) -> T:
    """Runs an exchange to its end, from any thread.

    A timeout of httpx bounds one wait for the socket: a server that sends a byte now and then is never late.

    Raises:
        asyncio.TimeoutError: It took more than ``seconds`` of wall time.
    """

    async def bounded() -> T:
        return await asyncio.wait_for(exchange, seconds)

    return asyncio.run_coroutine_threadsafe(bounded(), _loop.get()).result()
