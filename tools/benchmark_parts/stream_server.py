"""A lean server that streams thoughts and an answer, or sends both whole after the same time; part of ``benchmark.py``.

    python tools/benchmark_parts/stream_server.py

The chunks look like those of vLLM. The first line of output is the base URL.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tools.benchmark_parts.latency_server import http_answer, serve

TOKENS = 200
SECONDS_PER_TOKEN = 0.02
TOKEN, ANSWER = ' thought', 'answer'
USAGE = {'prompt_tokens': 10, 'completion_tokens': TOKENS + 1, 'total_tokens': TOKENS + 11}
_HEAD = b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n'


def _event(content: Any) -> bytes:
    text = content if isinstance(content, str) else json.dumps(content)
    event = f'data: {text}\n\n'.encode()
    return b'%x\r\n%s\r\n' % (len(event), event)


def _chunk(finish: str | None = None, **delta: str) -> bytes:
    choice = {'index': 0, 'delta': delta, 'logprobs': None, 'finish_reason': finish, 'token_ids': None}
    return _event({**_page('chat.completion.chunk'), 'choices': [choice]})


def _page(kind: str) -> dict[str, Any]:
    return {'id': 'chatcmpl-0123456789abcdef0123456789abcdef', 'object': kind, 'created': 1764000000, 'model': 'tiny'}


_LAST = [
    _chunk('stop', content=''),
    _event({**_page('chat.completion.chunk'), 'choices': [], 'usage': USAGE}),
    _event('[DONE]'),
    b'0\r\n\r\n',
]
_MESSAGE = {'role': 'assistant', 'content': ANSWER, 'reasoning': TOKEN * TOKENS}
_WHOLE = http_answer(
    {
        **_page('chat.completion'),
        'choices': [{'index': 0, 'message': _MESSAGE, 'finish_reason': 'stop'}],
        'usage': USAGE,
    }
)
_STREAM = (
    _HEAD + _chunk(role='assistant', content=''),
    *[_chunk(reasoning=TOKEN)] * TOKENS,
    _chunk(content=ANSWER) + b''.join(_LAST),
)


def _answer(body: bytes) -> tuple[Any, ...]:
    if b'"stream": true' in body:
        return SECONDS_PER_TOKEN, *_STREAM
    return SECONDS_PER_TOKEN * len(_STREAM), _WHOLE


if __name__ == '__main__':
    asyncio.run(serve(_answer))
