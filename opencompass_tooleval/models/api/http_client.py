"""The HTTP client of all requests: each request is limited in time and size."""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
import weakref
import zlib
from collections.abc import Callable, Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from ipaddress import ip_address, ip_network
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import certifi

from opencompass_tooleval.core.errors import certificate_fault
from opencompass_tooleval.core.text.redaction import excerpt, redact, remember_url
from opencompass_tooleval.models.api.event_loop import is_current
from opencompass_tooleval.models.api.failure import Failure, failure_of_status

MAX_REPLY_BYTES = 32 << 20
"""Maximum size after decompression."""
MAX_STREAM_BYTES = 128 << 20
"""Maximum size of an event stream that is read while it arrives; 100,000 tokens take some 25 MB."""

_SECONDS_TO_CONNECT = 60.0
_SECONDS_TO_CLOSE = 5.0
_SECONDS_TO_END = 1.0
"""Maximum time from the last event of a stream to the end of its response; after it the connection is closed."""
_SECONDS_IDLE = 3.0
"""Maximum age of an idle connection. uvicorn (and so vLLM) closes it after 5 s; a request sent just then is lost."""
_SECONDS_A_NAME_IS_KNOWN = 300
_MAX_HEADER_BYTES = 1 << 16
_SETTINGS = ('headers', 'verify', 'trust_env', 'proxy', 'proxies')


@dataclass(frozen=True)
class HttpReply:
    """A complete reply of any status.

    Attributes:
        status: HTTP status; 200 also for 201.
        headers: Headers by name, in any case; the first if a name occurs several times.
        body: The decompressed body.
        way: Names the proxy that may have sent the reply; ``''`` without a proxy, and through a tunnel.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    way: str = ''

    @property
    def content_type(self) -> str:
        """The ``Content-Type`` header; '' without one."""
        return self.headers.get('content-type', '')

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode('utf-8', 'replace')

    def failure(self) -> Failure:
        """Classifies a reply whose status is not 200."""
        failure = failure_of_status(self.status, self.headers, self.text)
        failure.words += '' if 'json' in self.content_type else self.way
        return failure


def check_base_url(url: str) -> str:
    """Returns the base URL of a server without a final slash.

    Raises:
        ValueError: The URL does not begin with ``http://`` or ``https://``, or has no host.
    """
    remember_url(url)
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ('http', 'https') and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port, or an incomplete IPv6 address
        is_usable = False
    if not is_usable:
        raise ValueError(
            f"{redact(url)!r} is not an address of a server: write the scheme and the host, as in 'http://127.0.0.1:8000/v1'"
        )
    return url.rstrip('/')


class HttpClient:
    """Sends requests to servers on this process's event loop.

    Takes proxies (``HTTP_PROXY``, ``HTTPS_PROXY``, ``NO_PROXY``) and certificates (``SSL_CERT_FILE``, ``SSL_CERT_DIR``)
    from the environment. Does not follow redirects, since they would receive the key.

    Args:
        connect_timeout: Maximum number of seconds to connect.
        settings: ``http_client_cfg`` of a config: ``headers``, ``verify`` (False, or a file of certificates),
            ``trust_env`` (False ignores the environment's proxies), ``proxy``, ``proxies`` (scheme -> proxy).

    Raises:
        ValueError: ``settings`` has an unknown name.
    """

    def __init__(self, connect_timeout: float = _SECONDS_TO_CONNECT, settings: Mapping[str, Any] | None = None) -> None:
        given = dict(settings or {})
        if unknown := sorted(set(given) - set(_SETTINGS)):
            raise ValueError(f'http_client_cfg: unknown {", ".join(unknown)}; it takes {", ".join(_SETTINGS)}')
        self._connect_timeout = connect_timeout
        self._headers = {'Accept-Encoding': 'gzip', **{str(k): str(v) for k, v in (given.get('headers') or {}).items()}}
        self._verify = given.get('verify', True)
        self._trust_env = bool(given.get('trust_env', True))
        self._named_proxies = _named_proxies(given)
        self._proxies: dict[tuple[str, str, int], str | None] = {}  # by scheme, host and port
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._has_reached: set[str] = set()

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        timeout: float,
        body: bytes | None = None,
        feed: Callable[[bytes], bool] | None = None,
        idle_timeout: float | None = None,
    ) -> HttpReply:
        """Sends a request and returns the complete reply, of any status.

        It must run on :func:`~opencompass_tooleval.models.api.event_loop.event_loop`.

        Args:
            method: ``GET`` or ``POST``.
            url: The URL.
            headers: Headers in addition to those of the settings.
            timeout: Maximum number of seconds for the whole exchange, even if the server sends a byte at a time.
            body: JSON of a ``POST``.
            feed: Receives the bytes of an event stream with status 200 as they arrive; the body of the reply is then
                empty. Returns True when the stream is complete, and may raise Failure.
            idle_timeout: Maximum number of seconds without a byte.

        Raises:
            Failure: No server was reached, a timeout passed, or the reply is unreadable. It ends the task if another
                try cannot help: the address is invalid, or its host was never found.
        """
        address = _address(url)
        proxy = self._proxy_of(address)
        way = '' if proxy is None else _way(proxy, '' if self._named_proxies else address.server)
        try:
            reply = await self._exchange(method, address, headers, timeout, body, proxy, feed, idle_timeout)
            return replace(reply, way=way) if address.scheme == 'http' and way else reply
        except Failure as failure:
            failure.words += way
            raise

    async def _exchange(
        self,
        method: str,
        address: _Address,
        headers: Mapping[str, str],
        timeout: float,
        body: bytes | None,
        proxy: str | None,
        feed: Callable[[bytes], bool] | None,
        idle_timeout: float | None,
    ) -> HttpReply:
        connect = min(timeout, self._connect_timeout)
        limits = aiohttp.ClientTimeout(total=timeout, sock_connect=connect, sock_read=idle_timeout)
        try:
            async with self._open().request(
                method,
                address.url,
                headers={**headers, **address.login},
                data=body,
                timeout=limits,
                allow_redirects=False,
                proxy=proxy,
                ssl=self._certificates if address.scheme == 'https' else True,
            ) as response:
                self._has_reached.add(address.host)
                status = 200 if response.status == 201 else response.status  # some gateways create answers
                is_stream = status == 200 and 'event-stream' in response.content_type
                content = await _read(response, feed if is_stream else None)
                return HttpReply(status, response.headers, content)
        except aiohttp.ConnectionTimeoutError:
            raise Failure('infra:connection', 'no connection in time', no_connection=True, sent=False) from None
        except aiohttp.SocketTimeoutError:
            raise Failure('infra:timeout', f'no byte within {idle_timeout:g} s (idle_timeout)') from None
        except asyncio.TimeoutError:
            raise Failure('infra:timeout', f'no whole answer within {timeout:g} s') from None
        except aiohttp.ClientConnectorDNSError:
            raise self._no_such_host(address.host) from None
        except aiohttp.ClientConnectorCertificateError as error:
            words = certificate_fault(error) or _words(error)
            raise Failure('infra:connection', words, again=False, ends=True, no_connection=True, sent=False) from None
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise Failure('infra:bad_request', _words(error), again=False, ends=True, sent=False) from None
        except aiohttp.ClientHttpProxyError as error:
            raise _connection_failure(error) from None
        except aiohttp.ClientResponseError as error:
            raise Failure('infra:bad_response', _words(error)) from None
        except (aiohttp.ClientError, OSError) as error:
            raise _connection_failure(error) from None

    async def close(self) -> None:
        """Closes the connections; the next request opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        """Returns the session of the running loop: a fork does not share its parent's loop."""
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            self._loop = loop
            connector = aiohttp.TCPConnector(
                limit=0, ttl_dns_cache=_SECONDS_A_NAME_IS_KNOWN, keepalive_timeout=_SECONDS_IDLE
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=self._headers,
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                max_line_size=_MAX_HEADER_BYTES,
                max_field_size=_MAX_HEADER_BYTES,
                skip_auto_headers=('User-Agent',) if 'User-Agent' in self._headers else (),
            )
            weakref.finalize(self, _close, self._session, loop)
        return self._session

    def _proxy_of(self, address: _Address) -> str | None:
        # Not aiohttp's trust_env: for each request it reads ~/.netrc in a thread.
        server = address.scheme, address.host, address.port
        if server not in self._proxies:
            named = self._named_proxies
            if not named and self._trust_env and not _is_direct(address):
                named = getproxies()
            self._proxies[server] = named.get(address.scheme) or named.get('all')
        return self._proxies[server]

    @cached_property
    def _certificates(self) -> ssl.SSLContext | bool:
        if self._verify is False:
            return False
        if isinstance(self._verify, (str, os.PathLike)):
            return ssl.create_default_context(cafile=self._verify)
        context = ssl.create_default_context()  # the system's, or $SSL_CERT_FILE and $SSL_CERT_DIR
        if not (os.environ.get('SSL_CERT_FILE') or os.environ.get('SSL_CERT_DIR')):
            context.load_verify_locations(certifi.where())
        return context

    def _no_such_host(self, host: str) -> Failure:
        """Returns the failure for an unknown host: another try may help only if the host was found before."""
        if host in self._has_reached:
            return Failure(
                'infra:connection', f'the host {host!r} does not resolve any more', no_connection=True, sent=False
            )
        words = f'the host {host!r} does not resolve: check the address (openai_api_base), or the proxy'
        return Failure('infra:connection', words, again=False, ends=True, no_connection=True, sent=False)


def _close(session: aiohttp.ClientSession, loop: asyncio.AbstractEventLoop) -> None:
    """Closes an unused session, also at exit, since aiohttp warns about open sessions."""
    if session.closed or not is_current(loop):  # a fork must not close its parent's connections
        return
    closing = asyncio.run_coroutine_threadsafe(session.close(), loop)
    with suppress(RuntimeError):
        if asyncio.get_running_loop() is loop:  # garbage-collected in the loop's thread, where waiting would never end
            return
    with suppress(FutureTimeoutError):
        closing.result(_SECONDS_TO_CLOSE)


def _named_proxies(settings: Mapping[str, Any]) -> dict[str, str]:
    """Returns the proxy by scheme or ``all``, from ``proxy`` or ``proxies`` as httpx and requests define them."""
    given = settings.get('proxy') or settings.get('proxies') or {}
    if isinstance(given, str):
        return {'all': given}
    return {str(name).partition(':')[0]: str(proxy) for name, proxy in given.items() if proxy}


@dataclass(frozen=True)
class _Address:
    """The parts of a URL.

    Attributes:
        url: The URL without user and password.
        scheme: Its scheme.
        host: Its host; '' without one.
        port: Its port, or that of the scheme.
        login: The header with user and password, which takes priority over a key; empty without them.
    """

    url: str
    scheme: str
    host: str
    port: int
    login: Mapping[str, str]

    @property
    def server(self) -> str:
        """Host and port; only the host of an IPv6 address."""
        return self.host if ':' in self.host else f'{self.host}:{self.port}'


@lru_cache(maxsize=256)
def _address(url: str) -> _Address:
    parts = urlsplit(url)
    server = parts.scheme, parts.hostname or '', parts.port or (443 if parts.scheme == 'https' else 80)
    if not parts.username and not parts.password:
        return _Address(url, *server, {})
    login = f'{unquote(parts.username or "")}:{unquote(parts.password or "")}'.encode()
    header = {'Authorization': f'Basic {base64.b64encode(login).decode()}'}
    plain = urlunsplit(parts._replace(netloc=parts.netloc.rpartition('@')[2]))
    return _Address(plain, *server, header)


def _is_direct(address: _Address) -> bool:
    """Tests if ``NO_PROXY`` names an address: by its host, a domain, host and port, or a range such as 10.0.0.0/8."""
    if proxy_bypass(address.host) or proxy_bypass(address.server):
        return True
    with suppress(ValueError):
        host = ip_address(address.host)
        for name in getproxies().get('no', '').split(','):
            with suppress(ValueError):
                if host in ip_network(name.strip().strip('[]'), strict=False):
                    return True
    return False


def _way(proxy: str, server: str) -> str:
    fix = f'; if {server} needs none: export no_proxy="$no_proxy,{server}"' if server else ''
    return f' (through the proxy {redact(proxy)}{fix})'


def _words(error: BaseException) -> str:
    return excerpt(f'{type(error).__name__}: {error}')


def _connection_failure(error: BaseException) -> Failure:
    if isinstance(error, aiohttp.ClientConnectorError):  # its text is long; that of the error below is short
        words = _words(error.os_error)
        if isinstance(error.os_error, ConnectionRefusedError):
            words = f'no connection to {error.host}:{error.port} (refused)'
        return Failure('infra:connection', words, no_connection=True, sent=False)
    return Failure('infra:connection', _words(error), no_connection=True)


async def _read(response: aiohttp.ClientResponse, feed: Callable[[bytes], bool] | None = None) -> bytes:
    """Returns the body; empty if ``feed`` receives it."""
    encoding = response.headers.get('Content-Encoding', 'identity').strip().lower()
    if encoding not in ('identity', 'gzip', 'x-gzip', 'deflate'):
        raise Failure('infra:bad_response', f'a reply encoded as {excerpt(encoding, 40)!r}, which was not requested')
    unpacker = None if encoding == 'identity' else zlib.decompressobj(zlib.MAX_WBITS | 32)
    limit = MAX_STREAM_BYTES if feed else MAX_REPLY_BYTES
    content, received, size = bytearray(), 0, 0
    async for chunk in response.content.iter_any():
        received += len(chunk)
        try:
            # The limit counts decompressed bytes: 40 kB of compressed zeros become 40 MB.
            part = unpacker.decompress(chunk, limit + 1 - size) if unpacker else chunk
        except zlib.error as error:
            raise Failure('infra:bad_response', f'a reply that cannot be decompressed ({error})') from None
        size += len(part)
        if max(received, size) > limit:  # compressed bytes may expand to nothing, endlessly
            raise Failure('infra:bad_response', f'a reply of more than {limit >> 20} MB')
        if not feed:
            content += part
        elif feed(part):
            await _end(response)
            return b''
        if unpacker and unpacker.eof:
            response.close()  # bytes after the end of the reply may never stop
            break
    if unpacker and size and not unpacker.eof:
        raise Failure('infra:bad_response', 'a compressed reply that ends too early')
    return bytes(content)


async def _end(response: aiohttp.ClientResponse) -> None:
    """Waits for the end of a response after its last event, so that the connection can be reused."""
    if not response.content.at_eof():
        with suppress(asyncio.TimeoutError, aiohttp.ClientError):
            await asyncio.wait_for(response.content.readany(), _SECONDS_TO_END)
