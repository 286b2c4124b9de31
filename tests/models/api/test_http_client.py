"""The HTTP client against sockets that answer as no library would."""

from __future__ import annotations

import base64
import gzip
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import certifi
import pytest
import uvicorn

from opencompass_tooleval.models.api import http_client
from opencompass_tooleval.models.api.event_loop import run
from opencompass_tooleval.models.api.failure import Failure
from opencompass_tooleval.models.api.http_client import HttpClient, HttpReply, check_base_url
from tests.models.api.raw_server import serving_raw

OK = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
KEY = {'Authorization': 'Bearer right'}


@pytest.fixture
def get() -> Iterator[Callable[..., HttpReply]]:
    clients: list[HttpClient] = []

    def send(url: str, client: HttpClient | None = None, **settings: object) -> HttpReply:
        client = client or HttpClient(settings=settings)
        clients.append(client)
        return run(client.request('GET', url, KEY, 1500))

    yield send
    for client in clients:
        run(client.close())


def failure_of(get: Callable[..., HttpReply], url: str, **settings: object) -> Failure:
    with pytest.raises(Failure) as caught:
        get(url, **settings)
    return caught.value


def test_headers_of_other_alphabets(get: Callable[..., HttpReply]) -> None:
    odd = 'X-Region: 北京\r\nX-Bytes: '.encode() + b'\xff\xfe\r\n'
    with serving_raw(OK.replace(b'Content-Type', odd + b'Content-Type')) as server:
        reply = get(server.url)
    assert (reply.status, reply.body, reply.content_type) == (200, b'{}', 'application/json')
    # The server is there, so that nobody waits for it to come back.
    with serving_raw(OK.replace(b'Content-Type', 'X-Région: 1\r\nContent-Type'.encode())) as server:
        failure = failure_of(get, server.url)
    assert failure.reason == 'infra:bad_response' and not failure.no_connection


@pytest.mark.parametrize('reply', [
    b'no HTTP at all\r\n\r\n',
    b'HTTP/1.1 200 OK\r\nX-Long: ' + b'x' * (1 << 20) + b'\r\n\r\n',
    b'HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n',
    b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    b'HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 2\r\n\r\n{}',
    b'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}',
    b'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 18\r\n\r\n' + gzip.compress(b'{}', mtime=0)[:18],
    b'HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{}',
    b'',
])  # fmt: skip
def test_replies_that_are_none(get: Callable[..., HttpReply], reply: bytes) -> None:
    with serving_raw(reply) as server:
        failure = failure_of(get, server.url)
    assert failure.reason in ('infra:bad_response', 'infra:connection') and failure.again and not failure.ends


def test_a_redirect_is_not_followed(get: Callable[..., HttpReply]) -> None:
    with serving_raw(OK) as other:
        moved = f'HTTP/1.1 307 Moved\r\nLocation: {other.url}\r\nContent-Length: 0\r\n\r\n'
        with serving_raw(moved.encode()) as server:
            assert get(server.url).status == 307
        assert other.heads == []


def test_a_login_in_the_url_goes_before_the_key(get: Callable[..., HttpReply]) -> None:
    with serving_raw(OK) as server:
        assert get(server.url.replace('//', '//me:p%40ss@')).status == 200
    (head,) = server.heads
    assert f'Authorization: Basic {base64.b64encode(b"me:p@ss").decode()}' in head.splitlines()
    assert head.startswith('GET /v1 HTTP/1.1') and 'Bearer' not in head


def test_connections_are_used_again_but_those_that_their_server_may_be_closing(
    get: Callable[..., HttpReply], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert uvicorn.Config('an app').timeout_keep_alive > http_client._SECONDS_IDLE
    with serving_raw(OK, stays_open=True) as server:
        for seconds, connections in ((3600.0, 1), (0.01, 3)):
            monkeypatch.setattr(http_client, '_SECONDS_IDLE', seconds)
            client = HttpClient()
            for _ in range(2):
                assert get(server.url, client).status == 200
                time.sleep(0.1)
            assert server.connections == connections


def test_a_host_that_was_never_found_ends_the_task_and_one_that_was_is_waited_for(
    get: Callable[..., HttpReply],
) -> None:
    failure = failure_of(get, 'http://no-such-host.invalid/v1')
    assert failure.ends and failure.no_connection
    assert failure.words.startswith("the host 'no-such-host.invalid' does not resolve: check the address")
    client = HttpClient()
    client._has_reached.add('no-such-host.invalid')
    failure = failure_of(get, 'http://no-such-host.invalid/v1', client=client)
    assert failure.no_connection and not failure.ends


@pytest.mark.parametrize(
    'url', ['127.0.0.1:8000/v1', 'localhost/v1', 'ftp://host/v1', 'http:///v1', 'http://[::1/v1', '']
)
def test_what_is_no_address_says_how_one_looks(url: str) -> None:
    with pytest.raises(
        ValueError, match=r"is not an address of a server: write the scheme and the host, as in 'http://"
    ):
        check_base_url(url)


def test_settings_that_there_are_not_and_an_address_without_its_slash() -> None:
    assert check_base_url('https://host/v1/') == 'https://host/v1'
    with pytest.raises(ValueError, match=r'http_client_cfg: unknown http2, transport; it takes headers, '):
        HttpClient(settings={'transport': 1, 'http2': True, 'verify': False})


@pytest.mark.parametrize('setting', ['proxy', 'http://', 'all://', ''])
def test_proxies(get: Callable[..., HttpReply], setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_raw(OK) as proxy:
        address = f'http://127.0.0.1:{proxy.port}'
        settings: dict[str, Any] = {'proxy': address} if setting == 'proxy' else {'proxies': {setting: address}}
        if not setting:
            monkeypatch.setenv('http_proxy', address)
            monkeypatch.setenv('no_proxy', 'elsewhere')
        assert get('http://model.invalid/v1', **settings if setting else {}).status == 200
        assert proxy.heads[0].startswith('GET http://model.invalid/v1 HTTP/1.1')
        if not setting:
            failure_of(get, 'http://model.invalid/v1', trust_env=False)
            assert len(proxy.heads) == 1


DIRECT = ('127.0.0.1', '127.0.0.1:PORT', 'a.b, 127.0.0.1/32', '*', '10/8,127.0.0.0/24')


@pytest.mark.parametrize('no_proxy', [*DIRECT, '127.0.0.1:1', '128.0.0.0/8', 'x/8', 'localhost', ''])
def test_servers_without_a_proxy(get: Callable[..., HttpReply], no_proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving_raw(OK) as server, serving_raw(OK) as proxy:
        monkeypatch.setenv('http_proxy', f'http://127.0.0.1:{proxy.port}')
        monkeypatch.setenv('no_proxy', no_proxy.replace('PORT', str(server.port)))
        assert get(server.url).status == 200
        assert (len(server.heads), len(proxy.heads)) == ((1, 0) if no_proxy in DIRECT else (0, 1))


PAGE = b'<html><title>ERROR</title><body>Access Denied.</body></html>'


def test_failures_name_the_proxy(get: Callable[..., HttpReply], monkeypatch: pytest.MonkeyPatch) -> None:
    denied = b'HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n' % len(PAGE) + PAGE
    monkeypatch.delenv('no_proxy', raising=False)
    monkeypatch.delenv('NO_PROXY', raising=False)
    fix = 'if 127.0.0.1:9 needs none: export no_proxy="$no_proxy,127.0.0.1:9"'
    with serving_raw(denied) as proxy:
        monkeypatch.setenv('http_proxy', f'http://me:secret-of-me@127.0.0.1:{proxy.port}')
        refused = get('http://127.0.0.1:9/v1').failure()
    assert (refused.reason, refused.ends, refused.status) == ('infra:bad_request', False, None)
    assert 'status 403: ERROR Access Denied.' in refused.words and fix in refused.words
    assert f'[key]@127.0.0.1:{proxy.port}' in refused.words
    monkeypatch.setenv('http_proxy', 'http://127.0.0.1:1')  # nobody listens there
    dead = failure_of(get, 'http://127.0.0.1:9/v1')
    assert dead.no_connection and 'through the proxy http://127.0.0.1:1;' in dead.words and fix in dead.words


@pytest.fixture(scope='module')
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of 127.0.0.1, which nobody vouches for."""
    file = tmp_path_factory.mktemp('tls') / 'both.pem'
    key = file.with_name('key.pem')
    command = ['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=127.0.0.1']
    command += ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', str(key), '-out', str(file)]
    subprocess.run(command, check=True, capture_output=True)
    with file.open('ab') as stream:
        stream.write(key.read_bytes())
    return file


def test_certificates(get: Callable[..., HttpReply], certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving_raw(OK, context=context) as server:
        url = server.url.replace('http:', 'https:')
        refused = failure_of(get, url)
        assert refused.ends and 'CERTIFICATE_VERIFY_FAILED' in refused.words.upper().replace(' ', '_')
        assert get(url, verify=False).status == 200
        assert get(url, verify=str(certificate)).status == 200
        monkeypatch.setenv('SSL_CERT_FILE', str(certificate))
        assert get(url).status == 200


def test_a_fork_has_an_event_loop_and_connections_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, '_SECONDS_IDLE', 3600.0)  # else a busy machine closes ours in the meantime
    client = HttpClient()
    with serving_raw(OK, stays_open=True) as server:
        assert run(client.request('GET', server.url, KEY, 1500)).status == 200
        child = os.fork()
        if not child:
            status = 1
            with suppress(BaseException):
                status = run(client.request('GET', server.url, KEY, 1500)).status - 200
            os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert server.connections == 2
        assert run(client.request('GET', server.url, KEY, 1500)).status == 200  # the child has not closed ours
        assert server.connections == 2
    run(client.close())


def test_nothing_is_said_at_exit(tmp_path: Path) -> None:
    """aiohttp complains of sessions that are left open."""
    script = (
        'import sys\n'
        'from opencompass_tooleval.models.api.event_loop import run\n'
        'from opencompass_tooleval.models.api.http_client import HttpClient\n'
        'client = HttpClient()\n'
        "print(run(client.request('GET', sys.argv[1], {}, 1500)).status)\n"
    )
    with serving_raw(OK, stays_open=True) as server:
        # Not -X dev, in which asyncio also says which callbacks took long.
        command = [sys.executable, '-W', 'always', '-c', script, server.url]
        done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ('200\n', '', 0)


@pytest.mark.parametrize('tail', [bytes(1 << 20), gzip.compress(b'')], ids=['after the member', 'empty members'])
def test_what_follows_a_packed_reply_is_not_read(get: Callable[..., HttpReply], tail: bytes) -> None:
    """A server may send it without an end; the reply counts, and the connection is closed."""
    sent = 0
    head = b'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\n\r\n'
    with socket.create_server(('127.0.0.1', 0)) as listening:

        def serve() -> None:
            nonlocal sent
            connection = listening.accept()[0]
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                connection.sendall(head + gzip.compress(b'{}'))
                time.sleep(0.1)
                while True:
                    connection.sendall(tail)
                    sent += len(tail)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert get(f'http://127.0.0.1:{listening.getsockname()[1]}/v1').body == b'{}'
        thread.join(300)
        assert not thread.is_alive() and sent < 1 << 25


def test_a_packed_reply_that_unpacks_to_nothing_ends(
    get: Callable[..., HttpReply], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Empty blocks of deflate have no end, and no content."""
    monkeypatch.setattr(http_client, 'MAX_REPLY_BYTES', 1 << 20)
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    packed = packer.compress(b'{') + packer.flush(zlib.Z_SYNC_FLUSH) + b'\x00\x00\x00\xff\xff' * 500_000
    head = b'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n'
    with serving_raw(head + packed) as server:
        failure = failure_of(get, server.url)
    assert 'more than 1 MB' in failure.words and failure.reason == 'infra:bad_response' and failure.again


def test_certificates_that_the_environment_names_are_trusted_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere certifi's are trusted, too."""
    for name in ('SSL_CERT_FILE', 'SSL_CERT_DIR'):
        monkeypatch.delenv(name, raising=False)
    context = HttpClient()._certificates
    assert isinstance(context, ssl.SSLContext) and len(context.get_ca_certs()) > 50
    end = '-----END CERTIFICATE-----'
    (tmp_path / 'one.pem').write_text(Path(certifi.where()).read_text(encoding='utf-8').partition(end)[0] + end)
    monkeypatch.setenv('SSL_CERT_FILE', str(tmp_path / 'one.pem'))
    context = HttpClient()._certificates
    assert isinstance(context, ssl.SSLContext) and len(context.get_ca_certs()) == 1
