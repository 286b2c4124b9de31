"""Processor time per chunk, and throughput, of ``stream=True``; part of ``benchmark.py``.

A server sends 202 chunks, of a token each, 20 ms apart, or the whole answer after the same time. The same requests are
sent with and without streams, in turns, 256 in flight.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

from opencompass.utils.prompt import PromptList

from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tools.benchmark_parts.benchmark_pipe import server
from tools.benchmark_parts.stream_server import ANSWER, SECONDS_PER_TOKEN, TOKEN, TOKENS

WIDTH, REQUESTS, ROUNDS = 256, 1024, 3
CHUNKS = TOKENS + 4
"""With role, answer, end and usage."""


def seconds(url: str, stream: bool) -> tuple[float, float]:
    """Seconds of the clock and of this process's processor time for all requests."""
    model = ToolEvalOpenAI('tiny', key='none', openai_api_base=url, max_workers=WIDTH, stream=stream)
    texts = [f'question {number}' for number in range(REQUESTS)]
    prompts = [PromptList([{'role': 'HUMAN', 'prompt': text, 'content': text}]) for text in texts]
    started, busy = time.perf_counter(), time.process_time()
    answers = model.answers(prompts, 512)
    found = time.perf_counter() - started, time.process_time() - busy
    assert {answer.text for answer in answers} == {f'<think>{TOKEN * TOKENS}</think>{ANSWER}'}
    assert {answer.usage.completion for answer in answers if answer.usage} == {TOKENS + 1}
    return found


def measure() -> dict[str, Any]:
    """Measures and prints."""
    with server('stream_server.py') as url:
        seconds(url, True)  # imports
        runs = [[seconds(url, stream) for stream in (False, True)] for _ in range(ROUNDS)]
    (whole, whole_busy), (streamed, busy) = (
        [statistics.median(run[place][kind] for run in runs) for kind in (0, 1)] for place in (0, 1)
    )
    ideal = REQUESTS / WIDTH * (TOKENS + 2) * SECONDS_PER_TOKEN
    micros = 1e6 * (busy - whole_busy) / REQUESTS / CHUNKS
    print(
        f'Stream, {WIDTH} in flight, {REQUESTS} answers of {CHUNKS} chunks (ideal {ideal:.1f} s): whole {whole:.1f} s, '
        f'{1000 * whole_busy / REQUESTS:.2f} ms of processor per answer; streamed {streamed:.1f} s, '
        f'{1000 * busy / REQUESTS:.2f} ms, {micros:.1f} us per chunk, {REQUESTS * CHUNKS / streamed:.0f} chunks/s; '
        f'throughput {whole / streamed:.3f} of whole'
    )
    return {'stream': {'ideal': ideal, 'whole': whole, 'streamed': streamed, 'microseconds_per_chunk': micros}}
