"""A lean server that answers with ids of tokens; part of ``benchmark.py``.

    python tools/ids_server.py REPLIES

REPLIES is a JSON file: a list of pairs, a text and the reply to each request that has it, of which the first counts.
Each is answered after the same time. The first line of output is the base URL.
"""

from __future__ import annotations

import asyncio
import json
import sys
from functools import partial
from pathlib import Path

SECONDS = 0.1


class _Connection(asyncio.Protocol):
    """A connection that is kept open, with one request at a time on it."""

    def __init__(self, replies: list[tuple[bytes, bytes]]) -> None:
        self._replies = replies
        self._received = b''
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, body = self._received.partition(b'\r\n\r\n')
        length = next((line for line in head.lower().split(b'\r\n') if line.startswith(b'content-length:')), b':0')
        if found and len(body) >= int(length.partition(b':')[2]):
            self._received = b''
            reply = next(reply for text, reply in self._replies if text in body)
            assert self._transport is not None
            asyncio.get_running_loop().call_later(SECONDS, self._transport.write, reply)


def _http(body: str) -> bytes:
    head = f'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n'
    return (head + body).encode('ascii')


async def main() -> None:
    """Serves until it is killed."""
    pairs = json.loads(Path(sys.argv[1]).read_text(encoding='utf-8'))
    replies = [(text.encode('ascii'), _http(json.dumps(reply))) for text, reply in pairs]
    server = await asyncio.get_running_loop().create_server(partial(_Connection, replies), '127.0.0.1', 0)
    print(f'http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1', flush=True)
    await server.serve_forever()


if __name__ == '__main__':
    asyncio.run(main())
