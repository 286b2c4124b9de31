"""Times requests to a server against an ideal queue, a bare client and another harness; part of ``benchmark.py``.

A server with lognormal latencies is asked 6,000 single questions with 64, 256, 512 and 1,024 in flight, and dialogues
of 4 to 8 rounds with 256, by the inferencers that data sets have: answers are stored, and predictions are written. All
ways of one row ask the same questions in the same order:

* the ideal queue costs nothing: each question leaves as soon as a place is free, and takes the very same time;
* the bare client is a loop over ``aiohttp`` that sends the same bodies and only reads the replies;
* inspect_ai, where ``--inspect`` names an interpreter that has it, evaluates a task of these questions.
"""

from __future__ import annotations

import asyncio
import heapq
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
from datasets import Dataset
from opencompass.datasets.base import BaseDataset
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.inferencers.dialogue_inferencer import ToolEvalDialogueGenInferencer
from opencompass_tooleval.inferencers.inferencer import ToolEvalGenInferencer
from opencompass_tooleval.models.api.wires import WIRES
from opencompass_tooleval.models.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tools.benchmark_parts.latency_server import latency_of

PARTS = Path(__file__).resolve().parent
SEEDS = 3
WIDTHS = (64, 256, 512, 1024)
SINGLE = 6000
DIALOGUE_WIDTH = 256
DIALOGUES = 1000
ROUNDS = (4, 8)
GOALS = {'single': 1.10, 'dialogues': 1.15}
GOAL_PROCESSOR = 1.2
"""Milliseconds per call, store and predictions included."""
GOAL_WIRES = 1.2
"""Processor time on other request formats than chat completions, as a multiple of theirs."""
MOST_PER_SECOND = 500
"""Up to so many calls per second the goal for single questions holds."""

Questions = list[list[str]]
"""What each dialogue asks, round by round."""


class RowsDataset(BaseDataset):
    """Rows made by this script."""

    @staticmethod
    def load(rows: list[dict[str, str]]) -> Dataset:
        """Returns them."""
        return Dataset.from_list(rows)


class Talk:
    """Asks what its row says, round by round."""

    def __call__(self, row: Mapping[str, Any]) -> Dialogue[Answer]:
        """Begins one dialogue; it ends in its last answer."""
        answer = Answer('')
        for question in json.loads(row['record']):
            answer = yield ModelRequest((Message('user', question),))
        return answer


@contextmanager
def server(script: str = 'latency_server.py') -> Iterator[str]:
    """The server in a process of its own; yields its base URL."""
    process = subprocess.Popen([sys.executable, PARTS / script], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def questions_of(kind: str, seed: int) -> Questions:
    """Single questions, or those of dialogues. They are in prefix order, in which a data set is asked."""
    if kind == 'single':
        return [[f'{seed}/{number:05}'] for number in range(SINGLE)]
    rng = Random(seed)
    return [[f'{seed}/{n:04}, round {r}' for r in range(rng.randint(*ROUNDS))] for n in range(DIALOGUES)]


def ideal_seconds(questions: Questions, slots: int) -> float:
    """How long it takes if a free slot takes the next question at once: dialogues that wait, in order of arrival."""
    waiting = deque((dialogue, 0) for dialogue in range(len(questions)))
    running: list[tuple[float, int, int]] = []
    now = 0.0
    while waiting or running:
        while waiting and len(running) < slots:
            dialogue, number = waiting.popleft()
            heapq.heappush(running, (now + latency_of(questions[dialogue][number]), dialogue, number))
        now, dialogue, number = heapq.heappop(running)
        if number + 1 < len(questions[dialogue]):
            waiting.append((dialogue, number + 1))
    return now


def ask(model: Any, questions: Questions) -> dict[str, float]:
    """Seconds, of the clock and of this process's processor time, for a data set of these questions."""
    rows = [
        {
            'record_id': texts[0],
            'messages': json.dumps([{'role': 'user', 'content': texts[0]}]),
            'record': json.dumps(texts),
            'gold_answer': '',
            'source': 'pipe',
        }
        for texts in questions
    ]
    reader = {'input_columns': ['messages'], 'output_column': 'record'}
    retriever = ZeroRetriever(RowsDataset(reader_cfg=reader, abbr='pipe', rows=rows))
    with tempfile.TemporaryDirectory() as folder:
        common = {'model': model, 'max_out_len': 512, 'batch_size': 1, 'output_json_filepath': folder}
        is_single = all(len(texts) == 1 for texts in questions)
        inferencer: ToolEvalGenInferencer = (
            ToolEvalGenInferencer(**common)
            if is_single
            else ToolEvalDialogueGenInferencer(dialogues={'type': Talk}, **common)
        )
        started, busy = time.perf_counter(), time.process_time()
        answers = inferencer.inference(retriever, None, ToolEvalConversationTemplate(), folder, 'pipe.json')
        seconds = {'wall': time.perf_counter() - started, 'processor': time.process_time() - busy}
    assert answers == [f'answer to {texts[-1]}' for texts in questions]
    return seconds


async def _ask_bare(url: str, questions: Questions, width: int) -> None:
    waiting = deque(texts[0] for texts in questions)

    async def work(session: aiohttp.ClientSession) -> None:
        while waiting:
            question = waiting.popleft()
            message = {'role': 'user', 'content': question}
            body = {'model': 'pipe', 'messages': [message], 'max_tokens': 512, 'temperature': 0.0}
            async with session.post(f'{url}/chat/completions', json=body) as response:
                reply = await response.json()
            assert reply['choices'][0]['message']['content'] == f'answer to {question}'

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        await asyncio.gather(*(work(session) for _ in range(width)))


def ask_bare(url: str, questions: Questions, width: int) -> dict[str, float]:
    """Seconds of a loop that sends the same questions, and keeps nothing."""
    started, busy = time.perf_counter(), time.process_time()
    asyncio.run(_ask_bare(url, questions, width))
    return {'wall': time.perf_counter() - started, 'processor': time.process_time() - busy}


def ask_inspect(interpreter: str, url: str, questions: Questions, width: int) -> dict[str, float]:
    """Seconds of inspect_ai, in a process of its own; importing it is not counted."""
    given = json.dumps({'url': url, 'questions': [texts[0] for texts in questions], 'width': width})
    command = [interpreter, str(PARTS / 'benchmark_inspect.py')]
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, text=True, check=True)
    seconds: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seconds


def measure_seed(url: str, kind: str, width: int, seed: int, inspect: str | None) -> dict[str, float]:
    """Seconds of one set of questions, asked in each way."""
    questions = questions_of(kind, seed)
    calls = sum(map(len, questions))
    model = ToolEvalOpenAI('pipe', key='none', openai_api_base=url, max_workers=width, max_seq_len=100_000)
    ideal, measured = ideal_seconds(questions, width), ask(model, questions)
    row = {'calls': calls, 'ideal': ideal, 'ours': measured['wall'], 'ours / ideal': measured['wall'] / ideal}
    row['ours, ms of processor per call'] = 1000 * measured['processor'] / calls
    if kind == 'single':
        others = {'bare': ask_bare(url, questions, width)}
        if inspect:
            others['inspect_ai'] = ask_inspect(inspect, url, questions, width)
        for name, seconds in others.items():
            row[name] = seconds['wall']
            row[f'{name}, ms of processor per call'] = 1000 * seconds['processor'] / calls
    return row


def measure_wires(url: str) -> dict[str, Any]:
    """Measures and prints the processor time of each request format, beside that of chat completions."""
    questions, milliseconds = questions_of('single', 0), dict[str, float]()
    for wire in WIRES:
        settings: dict[str, Any] = {
            'openai_api_base': url,
            'max_workers': DIALOGUE_WIDTH,
            'max_seq_len': 100_000,
            'stream': False,
        }
        model = ToolEvalOpenAI('pipe', key='none', wire=wire, **settings)
        milliseconds[wire] = 1000 * ask(model, questions)['processor'] / len(questions)
    ratios = {wire: value / milliseconds['chat'] for wire, value in milliseconds.items()}
    shown = ', '.join(f'{wire} {value:.2f} ({ratios[wire]:.2f})' for wire, value in milliseconds.items())
    print(f'Pipe, ms of processor per call by request format: {shown} (goal <= {GOAL_WIRES} of chat)', flush=True)
    return {'wires': {'milliseconds': milliseconds, 'ratios': ratios}}


def median_of(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each figure."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def report(title: str, runs: Sequence[Mapping[str, float]], goal: float) -> dict[str, Any]:
    """Prints the median of some runs, and returns both."""
    median = median_of(runs)
    figures = ', '.join(f'{name} {value:.2f}' for name, value in median.items() if name != 'calls')
    print(f'{title}, {median["calls"]:.0f} calls, median of {len(runs)} seeds: {figures} (goal <= {goal})', flush=True)
    return {'runs': list(runs), 'median': median}


def measure(seeds: int = SEEDS, inspect: str | None = None) -> dict[str, Any]:
    """Measures and prints.

    Args:
        seeds: Sets of questions.
        inspect: Interpreter that has inspect_ai; None leaves it out.
    """
    figures: dict[str, Any] = {}
    widths = [('single', width) for width in WIDTHS] + [('dialogues', DIALOGUE_WIDTH)]
    with server() as url:
        for kind, width in widths:
            runs = [measure_seed(url, kind, width, seed, inspect) for seed in range(seeds)]
            title = f'Pipe, {kind}, {width} in flight'
            figures[f'{kind} {width}'] = report(title, runs, GOALS[kind])
        figures |= measure_wires(url)
    print(f'Pipe: goals hold up to {MOST_PER_SECOND} calls a second; {GOAL_PROCESSOR} ms of processor per call')
    return {'pipe': figures}
