"""A server that sends fixed bytes, with pauses, as no library would."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

TLS = b'\x16'
"""The first byte of TLS."""
NO_TLS = b'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n'
"""What a server without TLS answers to it."""


class RawServer:
    """Sends the same to each request, and keeps what it was asked.

    Args:
        steps: Bytes, or seconds until the next ones.
        stays_open: True if a connection takes further requests; else it is closed.
        context: Of TLS.
    """

    def __init__(self, steps: Sequence[bytes | float], stays_open: bool, context: ssl.SSLContext | None = None) -> None:
        self.steps, self.stays_open, self.context = steps, stays_open, context
        self.heads: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self.connections = 0
        self._is_over = threading.Event()
        self._socket = socket.create_server(('127.0.0.1', 0))
        self.port = self._socket.getsockname()[1]
        self.url = f'http://127.0.0.1:{self.port}/v1'
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection = self._socket.accept()[0]
                self.connections += 1
                threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError):
            if self.context:
                connection = self.context.wrap_socket(connection, server_side=True)
            with connection, connection.makefile('rb') as received:
                if received.peek(1)[:1] == TLS:
                    received.read1()
                    connection.sendall(NO_TLS)
                    return
                while head := list(iter(lambda: received.readline().strip(), b'')):
                    self.heads.append(b'\r\n'.join(head).decode('latin-1'))
                    for line in head:
                        name, _, value = line.partition(b':')
                        if name.lower() == b'content-length':
                            self.asked.append(json.loads(received.read(int(value))))
                    for step in self.steps:
                        if isinstance(step, float):
                            self._is_over.wait(step)
                        else:
                            connection.sendall(step)
                    if not self.stays_open:
                        return

    def close(self) -> None:
        self._is_over.set()
        self._socket.close()


@contextmanager
def serving_raw(
    *steps: bytes | float, stays_open: bool = False, context: ssl.SSLContext | None = None
) -> Iterator[RawServer]:
    server = RawServer(steps, stays_open, context)
    try:
        yield server
    finally:
        server.close()
