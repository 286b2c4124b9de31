"""The HTTP client for servers at a URL. It limits all answers; the SDK limits only streamed ones."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2

from opencompass_tooleval.core.errors import certificate_fault
from opencompass_tooleval.extras.mcp_servers.stdio import ServerState

_STREAMED = 'text/event-stream'


def bounded_client(most: int, seconds: float, state: ServerState) -> httpx2.AsyncClient:
    """Creates a client with limits.

    A failed connection becomes an answer with status 503, and a truncated answer an unreadable one; otherwise the SDK
    would end the connection.

    Args:
        most: Maximum number of bytes of a JSON answer.
        seconds: Time to connect, and between two parts of an answer.
        state: Receives the errors.
    """
    transport = _BoundedTransport(most, state)
    return httpx2.AsyncClient(transport=transport, timeout=seconds, headers={'Accept-Encoding': 'identity'})


class _BoundedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, most: int, state: ServerState) -> None:
        super().__init__()
        self._most = most
        self._state = state

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await super().handle_async_request(request)
        except httpx2.TransportError as error:
            self._state.disconnected = certificate_fault(error) or f'{type(error).__name__}: {error}'
            return httpx2.Response(503, request=request)
        if response.headers.get('content-encoding', 'identity') != 'identity':
            await response.aclose()  # a small compressed answer can have any size
            self._state.disconnected = 'it sends compressed answers, which were not requested'
            return httpx2.Response(503, request=request)
        if not response.headers.get('content-type', '').startswith(_STREAMED):
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _BoundedStream(response.stream, self._most, self._state)
        return response


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, most: int, state: ServerState) -> None:
        self._inner = inner
        self._left = most
        self._state = state

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                self._left -= len(chunk)
                if self._left < 0:
                    self._state.is_too_large = True
                    raise httpx2.StreamError('the answer is too large')
                yield chunk
        except httpx2.TransportError as error:
            self._state.disconnected = f'{type(error).__name__}: {error}'
            raise httpx2.StreamError('the answer breaks off') from error

    async def aclose(self) -> None:
        await self._inner.aclose()
