"""Times questions to a server against the best that can be, and against batches; part of ``benchmark.py``.

A server with lognormal latencies is asked 2,000 single questions, and 200 dialogues of 4 to 8 rounds, 64 in flight, by
the inferencers that data sets have: the journal is written, and the predictions. The best that can be is a queue that
costs nothing: each question leaves as soon as one of 64 slots is free, and is answered after the very same time.
Lockstep is the same model asked by ``generate``, in batches of four times as many questions as are in flight.
"""

from __future__ import annotations

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

from datasets import Dataset
from latency_server import latency_of
from opencompass.datasets.base import BaseDataset
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.core.messages import Message
from opencompass_tooleval.core.rounds import Rounds, Turn
from opencompass_tooleval.host.api_model import ToolEvalOpenAI
from opencompass_tooleval.host.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.host.inferencer import ToolEvalGenInferencer
from opencompass_tooleval.host.rounds_inferencer import ToolEvalRoundsGenInferencer

TOOLS = Path(__file__).resolve().parent
SEEDS = 3
IN_FLIGHT = 64
BATCH = 4 * IN_FLIGHT
SINGLE = 2000
DIALOGUES = 200
ROUNDS = (4, 8)
GOAL = 1.15

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

    def __call__(self, row: Mapping[str, Any]) -> Rounds[str]:
        """Begins one dialogue; it ends in its last answer."""
        answer = ''
        for question in json.loads(row['record']):
            answer = yield Turn((Message('user', question),))
        return answer


class InBatches:
    """A model that is asked by ``generate`` only, as all were."""

    def __init__(self, model: ToolEvalOpenAI) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        if name == 'answer':
            raise AttributeError(name)
        return getattr(self._model, name)


@contextmanager
def server() -> Iterator[str]:
    """The server in a process of its own; yields its base URL."""
    process = subprocess.Popen([sys.executable, TOOLS / 'latency_server.py'], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def questions_of(kind: str, seed: int) -> Questions:
    """Single questions, or those of dialogues."""
    if kind == 'single':
        return [[f'{seed}/{number:04}'] for number in range(SINGLE)]
    rng = Random(seed)
    return [[f'{seed}/{n:04}, round {r}' for r in range(rng.randint(*ROUNDS))] for n in range(DIALOGUES)]


def ideal_seconds(questions: Questions, slots: int = IN_FLIGHT) -> float:
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
        common = {'model': model, 'max_out_len': 512, 'batch_size': BATCH, 'output_json_filepath': folder}
        is_single = all(len(texts) == 1 for texts in questions)
        inferencer: ToolEvalGenInferencer = (
            ToolEvalGenInferencer(**common)
            if is_single
            else ToolEvalRoundsGenInferencer(dialogues={'type': Talk}, **common)
        )
        started, busy = time.perf_counter(), time.process_time()
        answers = inferencer.inference(retriever, None, ToolEvalConversationTemplate(), folder, 'pipe.json')
        seconds = {'wall': time.perf_counter() - started, 'processor': time.process_time() - busy}
    assert answers == [f'answer to {texts[-1]}' for texts in questions]
    return seconds


def measure_seed(model: ToolEvalOpenAI, kind: str, seed: int) -> dict[str, float]:
    """Seconds of one set of questions: the best that can be, ours, and in batches."""
    questions = questions_of(kind, seed)
    ideal, ours, lockstep = ideal_seconds(questions), ask(model, questions), ask(InBatches(model), questions)
    calls = sum(map(len, questions))
    return {
        'calls': calls,
        'ideal': ideal,
        'ours': ours['wall'],
        'lockstep': lockstep['wall'],
        'ours / ideal': ours['wall'] / ideal,
        'lockstep / ideal': lockstep['wall'] / ideal,
        'processor seconds per call': ours['processor'] / calls,
    }


def median_of(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """The median of each figure."""
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def measure() -> dict[str, Any]:
    """Measures and prints."""
    figures: dict[str, Any] = {}
    with server() as url:
        model = ToolEvalOpenAI(
            'pipe', key='none', openai_api_base=url, max_workers=IN_FLIGHT, query_per_second=10_000, max_seq_len=100_000
        )
        for kind in ('single', 'dialogues'):
            runs = [measure_seed(model, kind, seed) for seed in range(SEEDS)]
            median = median_of(runs)
            busy = 1000 * median['processor seconds per call']
            print(
                f'Pipe, {kind}, {median["calls"]:.0f} calls, {IN_FLIGHT} in flight, median of {SEEDS} seeds: '
                f'{median["ours"]:.1f} s ({busy:.1f} ms of processor per call), at best {median["ideal"]:.1f} s, '
                f'in batches of {BATCH} {median["lockstep"]:.1f} s'
            )
            for run in runs:
                print('  ' + ', '.join(f'{name} {value:.3f}' for name, value in run.items()))
            print(f'Pipe, {kind}: ours / best: {median["ours / ideal"]:.3f} (goal <= {GOAL})')
            print(f'Pipe, {kind}: in batches / best: {median["lockstep / ideal"]:.3f}')
            figures[kind] = {'runs': runs, 'median': median}
    return {'pipe': figures}
