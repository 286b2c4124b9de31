"""A lean server that answers with ids of tokens; part of ``benchmark.py``.

    python tools/benchmark_parts/ids_server.py REPLIES

REPLIES is a JSON file: a list of pairs, a text and the reply to each request that has it, of which the first counts.
Each is answered after the same time. The first line of output is the base URL.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tools.benchmark_parts.latency_server import http_answer, serve

SECONDS = 0.1


def main() -> None:
    """Serves until it is killed."""
    pairs = json.loads(Path(sys.argv[1]).read_text(encoding='utf-8'))
    replies = [(text.encode('ascii'), http_answer(reply)) for text, reply in pairs]
    asyncio.run(serve(lambda body: (SECONDS, next(reply for text, reply in replies if text in body))))


if __name__ == '__main__':
    main()
