"""A lean OpenAI-compatible server that answers each question after a time of its own; part of ``benchmark.py``.

    python tools/latency_server.py

Latencies are lognormal, and follow from the last message alone, so that the best possible run can be simulated with the
very same ones. The first line of output is the base URL. Beside the client that is measured it takes little of the
processor: no framework, one thread.
"""

from __future__ import annotations

import asyncio
import json
import math
from random import Random

MEDIAN = 0.5
SIGMA = 1.0


def latency_of(question: str) -> float:
    """Seconds until a question is answered."""
    return MEDIAN * math.exp(Random(question).gauss(0.0, SIGMA))


class _Connection(asyncio.Protocol):
    """A connection that is kept open, with one request at a time on it."""

    def __init__(self) -> None:
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
            question = json.loads(body)['messages'][-1]['content']
            asyncio.get_running_loop().call_later(latency_of(question), self._answer, question)

    def _answer(self, question: str) -> None:
        message = {'role': 'assistant', 'content': f'answer to {question}'}
        usage = {'prompt_tokens': 10, 'completion_tokens': 10, 'total_tokens': 20}
        body = json.dumps({'choices': [{'index': 0, 'message': message, 'finish_reason': 'stop'}], 'usage': usage})
        head = f'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n'
        assert self._transport is not None
        self._transport.write((head + body).encode('ascii'))


async def main() -> None:
    """Serves until it is killed."""
    server = await asyncio.get_running_loop().create_server(_Connection, '127.0.0.1', 0)
    print(f'http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1', flush=True)
    await server.serve_forever()


if __name__ == '__main__':
    asyncio.run(main())
