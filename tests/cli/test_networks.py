"""Servers at addresses of IPv6, and with certificates: what the commands and a sweep say."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import Command
from tests.conftest import ModelServer, sweep_of
from tests.forked import run_opencompass


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while received := source.recv(1 << 16):
            target.sendall(received)
        target.shutdown(socket.SHUT_WR)


def _forward(listening: socket.socket, port: int | None, context: ssl.SSLContext | None) -> None:
    while True:
        try:
            here = listening.accept()[0]
        except OSError:
            return
        with suppress(OSError):  # such as a client that does not trust the certificate
            if context:
                here = context.wrap_socket(here, server_side=True)
            there = socket.create_connection(('127.0.0.1', port or 80))
            for ends in ((here, there), (there, here)):
                threading.Thread(target=_copy, args=ends, daemon=True).start()


@contextmanager
def in_front(url: str, host: str = '127.0.0.1', certificate: Path | None = None) -> Iterator[str]:
    """Makes a server reachable at another address, or with a certificate; yields its base URL."""
    context = None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    try:
        listening = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip(f'there is no {host} here')
    port = urlsplit(url).port
    with listening:
        threading.Thread(target=_forward, args=[listening, port, context], daemon=True).start()
        shown = f'[{host}]' if ':' in host else host
        yield f'http{"s" if context else ""}://{shown}:{listening.getsockname()[1]}{urlsplit(url).path}'


def make_certificate(file: Path, host: str, days: int) -> Path:
    """Writes a certificate, which nobody vouches for, with its key; returns the file.

    Args:
        file: The file.
        host: Its host, such as ``IP:127.0.0.1``.
        days: How long it is valid from now on; negative if it no longer is.
    """
    request, key = file.with_suffix('.request'), file.with_suffix('.key')
    asked = ['openssl', 'req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=test']
    asked += ['-addext', f'subjectAltName={host}', '-keyout', str(key), '-out', str(request)]
    signed = ['openssl', 'x509', '-req', '-in', str(request), '-signkey', str(key), '-days', str(days)]
    for command in (asked, [*signed, '-copy_extensions', 'copyall', '-out', str(file)]):
        subprocess.run(command, check=True, capture_output=True)
    file.write_bytes(file.read_bytes() + key.read_bytes())
    return file


@pytest.fixture(scope='module')
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Name -> certificate with its key: of this host, which nobody vouches for, of another one, and an old one."""
    folder, here = tmp_path_factory.mktemp('tls'), 'IP:127.0.0.1,IP:::1'
    of = {'unknown': (here, 2), 'other': ('DNS:other.example', 2), 'expired': (here, -1)}
    return {name: make_certificate(folder / f'{name}.pem', host, days) for name, (host, days) in of.items()}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'right')


FIXES = {
    'unknown': 'name its authority in $SSL_CERT_FILE',
    'other': "not valid for '127.0.0.1'; write the host that it is made for in the URL",
    'expired': "certificate has expired; it has to be renewed, or this machine's clock is wrong",
}


@pytest.mark.parametrize('name', FIXES)
def test_a_wrong_certificate(
    tooleval: Command,
    canned_server: ModelServer,
    tmp_path: Path,
    certificates: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    """One line says what is wrong with it and what fixes it, and nothing is sent."""
    if name != 'unknown':
        monkeypatch.setenv('SSL_CERT_FILE', str(certificates[name]))
    with in_front(canned_server.url, certificate=certificates[name]) as url:
        done = tooleval('doctor', '--endpoint', url, '--model', 'tiny')
        faults = [line for line in done.out.splitlines() if line.startswith('FAULT')]
        assert done.code == 1 and len(faults) == 1 and url in faults[0] and FIXES[name] in faults[0]
        done = tooleval('agents', 'bank', 'record', '--input', f'{url}/mcp', '--out', tmp_path / 'a.bank')
        assert done.code == 1 and len(done.err.splitlines()) == 1 and url in done.err and FIXES[name] in done.err
    assert canned_server.stats()['requests'] == 0


@pytest.mark.long
def test_a_sweep_goes_on_once_the_authority_is_named(
    tooleval: Command,
    canned_server: ModelServer,
    tmp_path: Path,
    certificates: dict[str, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At an address of IPv6."""
    with in_front(canned_server.url, '::1', certificates['unknown']) as url:
        config = sweep_of('tooleval-teval-review_str_v2', max_workers=4, batch_size=8).replace('URL', url)
        (tmp_path / 'mine.py').write_text(config, encoding='utf-8')
        assert run_opencompass('mine.py', '-w', 'out', cwd=tmp_path).returncode == 1
        done = tooleval('status', tmp_path / 'out')
        assert done.code == 1 and url in done.out and FIXES['unknown'] in done.out
        assert canned_server.stats()['requests'] == 0
        monkeypatch.setenv('SSL_CERT_FILE', str(certificates['unknown']))
        assert run_opencompass('mine.py', '-w', 'out', '-r', '--debug', cwd=tmp_path).returncode == 0
    assert canned_server.stats()['requests'] == 6
    assert tooleval('status', tmp_path / 'out').code == 0
