"""A lean OpenAI-compatible server that answers each question after a time of its own; part of ``benchmark.py``.

    python tools/benchmark_parts/latency_server.py

Latencies are lognormal, and follow from the last message alone, so that the best possible run can be simulated with the
very same ones. The first line of output is the base URL. Beside the client that is measured it takes little of the
processor: no framework, one thread.

To an agent, whose request is the JSON object :func:`request_of`, it makes one of the calls that stand there in each
round, natively where tools are offered, else in ReAct's words, and then says :data:`END`.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

END = 'done'
_CALLS = '{"calls": '
Answer = Callable[[bytes], tuple[Any, ...]]
MEDIAN = 0.5
SIGMA = 1.0


def latency_of(question: str) -> float:
    """Seconds until a question is answered."""
    return MEDIAN * math.exp(Random(question).gauss(0.0, SIGMA))


def request_of(name: str, calls: list[dict[str, Any]]) -> str:
    """What an agent is to do: calls with ``name`` and ``arguments``.

    Args:
        name: Tells it from others, whose latencies are others.
        calls: What it calls, in order.
    """
    return json.dumps({'calls': calls, 'name': name})


def round_of(request: str, number: int) -> str:
    """What stands for an agent's round in :func:`latency_of`."""
    return f'{request}, round {number}'


def reply_to(asked: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The question of a request, as :func:`latency_of` takes it, and the message that answers it."""
    messages = asked['messages']
    request = next((row['content'] for row in messages if str(row['content']).startswith(_CALLS)), None)
    if request is None:
        question = messages[-1]['content']
        return question, {'role': 'assistant', 'content': f'answer to {question}'}
    number = sum(row['role'] == 'assistant' for row in messages)
    calls = json.loads(request)['calls']
    is_native = 'tools' in asked
    if number >= len(calls):
        message: dict[str, Any] = {'content': END if is_native else f'Thought: all is there.\nFinal Answer: {END}'}
    elif is_native:
        function = {'name': calls[number]['name'], 'arguments': json.dumps(calls[number]['arguments'])}
        message = {'content': None, 'tool_calls': [{'id': f'c{number}', 'type': 'function', 'function': function}]}
    else:
        arguments = json.dumps(calls[number]['arguments'])
        message = {'content': f'Thought: next.\nAction: {calls[number]["name"]}\nAction Input: {arguments}'}
    return round_of(request, number), {'role': 'assistant', **message}


class Connection(asyncio.Protocol):
    """A connection that is kept open, with one request at a time on it.

    Args:
        answer: Takes the body of a request; returns the seconds before each part of its answer, and the parts.
    """

    def __init__(self, answer: Answer) -> None:
        self._reply_to = answer
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
            seconds, *parts = self._reply_to(body)
            assert self._transport is not None
            for number, part in enumerate(parts, 1):
                asyncio.get_running_loop().call_later(number * seconds, self._transport.write, part)


def http_answer(page: Any) -> bytes:
    """Returns a JSON value as a response with status 200."""
    body = json.dumps(page)
    head = f'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n'
    return (head + body).encode('ascii')


async def serve(answer: Answer) -> None:
    """Serves on a free port until it is killed; prints the base URL."""
    server = await asyncio.get_running_loop().create_server(lambda: Connection(answer), '127.0.0.1', 0)
    print(f'http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1', flush=True)
    await server.serve_forever()


def _answer(body: bytes) -> tuple[float, bytes]:
    asked = json.loads(body)
    if 'input' in asked or 'thinking' in asked:  # Responses or Messages
        question = (asked.get('input') or asked['messages'])[-1]['content']
        usage, text = {'input_tokens': 10, 'output_tokens': 10}, f'answer to {question}'
        content = [{'type': 'output_text' if 'input' in asked else 'text', 'text': text}]
        item = {'type': 'message', 'id': 'msg_1', 'role': 'assistant', 'status': 'completed', 'content': content}
        page: dict[str, Any] = {'content': content, 'stop_reason': 'end_turn', 'usage': usage}
        if 'input' in asked:
            page = {'output': [item], 'status': 'completed', 'usage': usage}
        return latency_of(question), http_answer(page)
    question, message = reply_to(asked)
    usage = {'prompt_tokens': 10, 'completion_tokens': 10, 'total_tokens': 20}
    choice = {'index': 0, 'message': message, 'finish_reason': 'stop'}
    page = {'model': 'latency', 'choices': [choice], 'usage': usage}  # inspect_ai wants a model's name
    return latency_of(question), http_answer(page)


if __name__ == '__main__':
    asyncio.run(serve(_answer))
