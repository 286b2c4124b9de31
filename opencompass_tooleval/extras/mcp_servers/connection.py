"""A connection to a server: lists and calls its tools; an error has a one-word code."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from pydantic import ValidationError

from opencompass_tooleval.core.errors import certificate_fault, shorten
from opencompass_tooleval.core.text.jsonable import MAX_CHARS, clean_text, printable
from opencompass_tooleval.core.text.redaction import redact, remember_headers, remember_url
from opencompass_tooleval.environments.live_source import (
    DISCONNECTED,
    FATAL,
    GONE,
    INVALID_OUTPUT,
    REFUSED,
    TIMEOUT,
    TOO_LARGE,
    TOOL_ERROR,
    ServerError,
)
from opencompass_tooleval.extras.mcp_servers.server import Server
from opencompass_tooleval.extras.mcp_servers.stdio import ServerState, bounded_stdio, end_late_start

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


_MAX_MESSAGE = 300
logger = logging.getLogger(__name__)

# The SDK logs a traceback of each error, which the answer also reports.
logging.getLogger('mcp.client').setLevel(logging.CRITICAL)


@dataclass(frozen=True)
class ToolAnswer:
    """A server's answer to a call.

    Attributes:
        text: The texts in its content, joined by line breaks, up to 200,000 characters; other content as its type, such
            as ``[image/png]``. Without content, the structured content as JSON.
        error: ``''`` for a successful call; ``tool_error`` if the tool reports an error; else one of
            :data:`~opencompass_tooleval.environments.live_source.SERVER_ERRORS`, with a description in the text.
        texts: Number of texts in its content; several if a function returned a list.
    """

    text: str
    error: str = ''
    texts: int = 1


@dataclass
class Connection:
    """A connected server.

    Attributes:
        server: The server.
        name: The name and version that it reports, such as ``mcp-git 1.27.0``.
        protocol: The negotiated version of the protocol.
        state: The state of its process or connection.
        failed: Why it is no longer called, one of :data:`FATAL`; ``''`` if it works.
    """

    server: Server
    client: Client = field(repr=False)
    name: str
    protocol: str
    state: ServerState
    failed: str = ''

    async def tools(self) -> list[types.Tool]:
        """Lists the tools of all pages that the protocol allows, in the server's order.

        An empty or repeated cursor ends the list.

        Raises:
            ServerError: A page is missing, there are too many pages, or two tools share a name.
        """
        limits = self.server.limits
        found: dict[str, types.Tool] = {}
        seen: set[str | None] = set()
        cursor: str | None = None
        try:
            with anyio.fail_after(limits.start_seconds):
                while True:
                    page = await self.client.list_tools(cursor=cursor)
                    for tool in page.tools:
                        if tool.name in found:
                            raise ServerError(f'{self.server}: two of its tools have the name {tool.name[:100]!r}')
                        found[tool.name] = tool
                    seen.add(cursor)
                    cursor = page.next_cursor
                    if not cursor or cursor in seen:
                        break
                    if len(found) > limits.tools or len(seen) > limits.tools:
                        raise ServerError(f'{self.server}: the list of its tools has no end')
        except (MCPError, ValidationError, TimeoutError) as error:
            raise unreachable(self.server, 'it does not list its tools', error, self.state) from error
        if cursor is not None:
            logger.warning(
                '%s: the cursor %r is empty or repeated, and ends the list of tools', self.server, cursor[:100]
            )
        return list(found.values())

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Calls a tool; returns within the limits, whatever the server does."""

        async def ask(seconds: float) -> ToolAnswer:
            result = await self.client.call_tool(name, dict(arguments), read_timeout_seconds=seconds)
            return ToolAnswer(_text(result)[:MAX_CHARS], TOOL_ERROR if result.is_error else '', len(result.content))

        return await self._answer(ask)

    async def _answer(self, ask: Callable[[float], Awaitable[ToolAnswer]]) -> ToolAnswer:
        """Sends a request and returns within the limits, whatever the server does; ``ask`` takes the seconds of a
        request."""
        if self.failed:
            return ToolAnswer(f'{GONE} ({self.failed}).', DISCONNECTED)
        seconds = self.server.limits.call_seconds
        self.state.disconnected = ''  # may come from a stream that the SDK has reopened
        try:
            with anyio.fail_after(2 * seconds):  # the SDK limits each of several requests
                answer = await ask(seconds)
        except TimeoutError:
            answer = _slow(seconds)
        except MCPError as error:
            answer = self._failure(error, seconds)
        except (RuntimeError, ValidationError) as error:  # RuntimeError: the SDK's, if an answer violates the schema
            message = shorten(_first_line(error), _MAX_MESSAGE)
            answer = ToolAnswer(f'The server broke its own contract: {message}', INVALID_OUTPUT)
        if answer.error in FATAL:
            self.failed = answer.error
        return answer

    def _failure(self, error: MCPError, seconds: float) -> ToolAnswer:
        if self.state.is_too_large:
            most = self.server.limits.message_bytes
            return ToolAnswer(f'The server sent more than {most:,} bytes and was stopped.', TOO_LARGE)
        if error.code == types.REQUEST_TIMEOUT:
            return _slow(seconds)
        message = shorten(_first_line(error), _MAX_MESSAGE)
        if error.code == types.CONNECTION_CLOSED or self.state.disconnected:
            return ToolAnswer(
                f'The connection to the server broke off: {self.state.last_words or message}', DISCONNECTED
            )
        return ToolAnswer(message, REFUSED)


def unreachable(server: Server, what: str, error: BaseException, state: ServerState) -> ServerError:
    """Returns the error of an unusable server, with the last line on its standard error."""
    error = _innermost(error)
    line = _first_line(error) or ('no answer in time' if isinstance(error, TimeoutError) else '')
    message = ' '.join(filter(None, (f'{type(error).__name__}:', line)))
    words = state.last_words or (state.first_output and f'it printed: {state.first_output}')
    ending = f'; {shorten(clean_text(words), _MAX_MESSAGE)}' if words else ''
    return ServerError(f'the MCP server {server}: {what} ({shorten(clean_text(message), _MAX_MESSAGE)}){ending}')


def documentation(tool: types.Tool) -> dict[str, Any]:
    """Returns a tool's entry in ``tools/list`` as JSON values, without icons and metadata."""
    return tool.model_dump(mode='json', by_alias=True, exclude_none=True, exclude={'icons', 'meta', 'execution'})


@asynccontextmanager
async def connect(server: Server) -> AsyncIterator[Connection]:
    """Starts or connects to a server; on exit, stops a command with all processes that it started.

    The same task must enter and leave. Any task of the same event loop may call tools.

    Raises:
        ServerError: The server cannot be started or reached within its limits.
    """
    limits, state = server.limits, ServerState()
    _remember_keys_of(server)
    is_connected = False
    try:
        async with AsyncExitStack() as stack:
            transport: Any
            late = asyncio.get_running_loop().call_later(
                limits.start_seconds, end_late_start, state, limits.start_seconds
            )
            stack.callback(late.cancel)
            if server.command:
                transport = bounded_stdio(server, state)
            else:
                http = bounded_client(limits.message_bytes, max(limits.start_seconds, limits.call_seconds), state)
                await stack.enter_async_context(http)
                transport = streamable_http_client(
                    server.url, http_client=http, max_sse_event_size=limits.message_bytes
                )
            client = await stack.enter_async_context(
                Client(_allowed(transport, server), read_timeout_seconds=limits.start_seconds, cache=None)
            )
            info = client.server_info
            name = printable(clean_text(f'{info.name} {info.version}'.strip()[:200])) if info else str(server)
            late.cancel()
            is_connected = True
            yield Connection(server, client, name, client.protocol_version, state)
    except Exception as error:
        if is_connected:
            raise _innermost(error) from None
        what = 'it cannot be started' if server.command else 'it does not answer'
        raise unreachable(server, what, error, state) from error


class _Received:
    """A stream of a server's messages, in which lists of tools have only tools that the protocol allows."""

    def __init__(self, stream: Any, server: Server) -> None:
        self._stream, self._server = stream, server

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def __aiter__(self) -> _Received:
        return self

    async def __aenter__(self) -> _Received:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stream.aclose()

    async def __anext__(self) -> Any:
        message = await self._stream.__anext__()
        result = getattr(getattr(message, 'message', None), 'result', None)
        if isinstance(result, dict) and isinstance(result.get('tools'), list):
            result['tools'] = [tool for tool in result['tools'] if self._is_allowed(tool)]
        return message

    def _is_allowed(self, tool: Any) -> bool:
        try:
            types.Tool.model_validate(tool, by_name=False)
            if tool['inputSchema'].setdefault('type', 'object') != 'object':  # some servers send {}
                raise ValueError("inputSchema.type: it is not 'object'")
        except ValueError as error:  # of which pydantic's is one
            name = str(tool.get('name') if isinstance(tool, dict) else tool)[:100]
            logger.warning('%s: its tool %r is left out: %s', self._server, name, _first_line(error))
            return False
        return True


@asynccontextmanager
async def _allowed(transport: Any, server: Server) -> AsyncIterator[Any]:
    async with transport as (received, *others):
        yield (_Received(received, server), *others)


def _innermost(error: BaseException) -> BaseException:
    """Returns the first exception in a group, as the SDK's tasks raise groups."""
    while isinstance(inner := getattr(error, 'exceptions', None), tuple) and inner:
        error = inner[0]
    return error


def _slow(seconds: float) -> ToolAnswer:
    return ToolAnswer(f'The server did not answer within {seconds:g} seconds.', TIMEOUT)


def _first_line(error: BaseException) -> str:
    if isinstance(error, ValidationError):  # its first line only has the number of errors
        fault = error.errors(include_url=False, include_input=False)[0]
        return printable(clean_text(f'{".".join(map(str, fault["loc"]))}: {fault["msg"]}'))
    return printable(clean_text(redact((str(error).strip().splitlines() or [''])[0])))


def _remember_keys_of(server: Server) -> None:
    """Records the keys that a server gets, so that no message shows them if the server repeats them."""
    words = [part for word in server.command for part in word.split('=', 1)]  # --api-key VALUE, --api-key=VALUE
    remember_headers({**dict(pairwise(words)), **server.env})
    remember_url(server.url)


def _text(result: types.CallToolResult) -> str:
    if not result.content and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return clean_text('\n'.join(_block_text(block) for block in result.content))


def _block_text(block: types.ContentBlock) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.EmbeddedResource):
        if isinstance(block.resource, types.TextResourceContents):
            return block.resource.text
        return f'[{block.resource.mime_type or "data"}]'
    if isinstance(block, types.ResourceLink):
        return f'[{block.name}: {block.uri}]'
    return f'[{block.mime_type}]'
