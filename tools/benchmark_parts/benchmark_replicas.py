"""Times replicas against OpenCompass's static shards; part of ``benchmark.py``.

Four tasks work on one data set, each with a server of its own on the loopback: three take 3.2 s for an answer, one
0.8 s, each with four requests in flight. The clock starts when all four have asked, and stops with the last answer.
"Ideal" is the work divided by the sum of the speeds. In further runs one task is killed in the middle; the others, and
none in its place, end the work.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from mmengine.config import Config
from opencompass.partitioners import NumWorkerPartitioner

from opencompass_tooleval.partitioner import ToolEvalPartitioner

CONFIG = Path(__file__).resolve().parents[2] / 'opencompass_tooleval' / 'configs' / 'eval_demo.py'
DATASET = 'tooleval-teval-review_str_v2'
RECORDS, TRIALS = 6, 100
IN_FLIGHT = 4
LATENCIES = (3.2, 3.2, 3.2, 0.8)
"""Long, as those of models are: what four clients take of two processors then counts little."""
MODEL = {
    'type': 'opencompass_tooleval.models.ToolEvalOpenAI',
    'abbr': 'm',
    'path': 'm',
    'key': 'none',
    'max_workers': IN_FLIGHT,
    'max_out_len': 16,
    'query_per_second': 10_000,
    'max_seq_len': 100_000,
    'run_cfg': {'num_gpus': 0},
}
GOAL = 1.1


@dataclass
class Clock:
    """When each server answered, since all were asked; ``asked`` counts the requests."""

    start: float = 0.0
    asked: list[int] = field(default_factory=lambda: [0] * len(LATENCIES))
    last: list[float] = field(default_factory=lambda: [0.0] * len(LATENCIES))
    lock: threading.Lock = field(default_factory=threading.Lock)
    ready: list[threading.Event] = field(default_factory=lambda: [threading.Event() for _ in LATENCIES])

    def wait(self, number: int) -> None:
        """Waits until every server has been asked, and then as long as this one takes."""
        self.ready[number].set()
        for event in self.ready:
            event.wait()
        with self.lock:
            self.start = self.start or time.monotonic()
            self.asked[number] += 1
        time.sleep(LATENCIES[number])

    def answered(self, number: int) -> None:
        """Notes an answer."""
        with self.lock:
            self.last[number] = time.monotonic() - self.start


class Handler(BaseHTTPRequestHandler):
    """Answers ``/NUMBER/v1/chat/completions``; everything else is unknown."""

    protocol_version = 'HTTP/1.1'
    clock: Clock

    def do_POST(self) -> None:
        """Answers after the server's latency."""
        number = int(self.path.split('/')[1])
        self.rfile.read(int(self.headers['Content-Length']))
        self.clock.wait(number)
        choice = {'index': 0, 'message': {'role': 'assistant', 'content': 'A'}, 'finish_reason': 'stop'}
        body = json.dumps({'model': 'm', 'choices': [choice]}).encode()
        self.send_response(200)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.clock.answered(number)

    def log_message(self, *words: Any) -> None:
        """Says nothing."""

    def handle(self) -> None:
        """Ends without a word with a client that is killed."""
        with suppress(ConnectionError):
            super().handle()


@dataclass(frozen=True)
class Run:
    """What a run took.

    Attributes:
        seconds: From the first question to the last answer.
        ideal: The least that it could take.
        first: When the first task had its last answer.
        asked: Number of requests.
    """

    seconds: float
    ideal: float
    first: float
    asked: int


def run(folder: Path, replicas: bool, trials: int, dies: int | None = None) -> Run:
    """Runs four tasks.

    Args:
        folder: Empty.
        replicas: True for replicas, False for static shards.
        trials: Trials of each record.
        dies: Number of the task that is killed when half of the work is done; None for none.
    """
    folder.mkdir()
    clock = Clock()
    server = ThreadingHTTPServer(('127.0.0.1', 0), type('Mine', (Handler,), {'clock': clock}))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = Config.fromfile(CONFIG).to_dict()
    rows = [{**row, 'n': trials} for row in config['datasets'] if row['abbr'] == DATASET]
    content = {'models': [MODEL], 'datasets': rows, 'work_dir': str(folder / 'run')}
    predictions, count = str(folder / 'run' / 'predictions'), len(LATENCIES)
    partitioner = (
        ToolEvalPartitioner(predictions, replicas=count)
        if replicas
        else NumWorkerPartitioner(predictions, count, min_task_size=1, dataset_size_path='', force_rebuild=True)
    )
    tasks = []
    for number, task in enumerate(partitioner(Config(content))):
        for model in task['models']:
            model['openai_api_base'] = f'http://127.0.0.1:{server.server_address[1]}/{number}/v1'
        Config(task.to_dict(), format_python_code=False).dump(file := folder / f'{number}.py')
        command = [sys.executable, '-m', 'opencompass_tooleval.tasks.task_process', 'infer', str(file)]
        with file.with_suffix('.txt').open('w') as log:
            tasks.append(subprocess.Popen(command, stdout=log, stderr=log))
    if len(tasks) != count:
        raise RuntimeError(f'{len(tasks)} tasks')
    samples, speeds = RECORDS * trials, [IN_FLIGHT / latency for latency in LATENCIES]
    ideal, death = samples / sum(speeds), 0.0
    if dies is not None:
        while sum(clock.asked) < samples / 2:
            time.sleep(0.01)
        tasks[dies].kill()
        death = time.monotonic() - clock.start
        ideal = death + (samples - death * sum(speeds)) / (sum(speeds) - speeds[dies])
    codes = [task.wait() for task in tasks]
    server.shutdown()
    server.server_close()
    if any(code for number, code in enumerate(codes) if number != dies):
        raise RuntimeError(f'exit codes {codes}: {(folder / "1.txt").read_text()[-2000:]}')
    alive = [last for number, last in enumerate(clock.last) if number != dies]
    return Run(max(alive), ideal, min(alive), sum(clock.asked))


def measure(trials: int = TRIALS, dying: Sequence[int] = (0, 3)) -> dict[str, Any]:
    """Measures and prints."""
    runs: dict[str, Run] = {}
    kinds: dict[str, int | None] = {'static shards': None, 'replicas': None}
    kinds |= {f'replicas, one of speed {LATENCIES[0] / LATENCIES[number]:g} dies': number for number in dying}
    print(f'{RECORDS * trials} questions to 4 servers of speed 1, 1, 1, 4:', flush=True)
    for name, dies in kinds.items():
        with tempfile.TemporaryDirectory() as folder:
            runs[name] = one = run(Path(folder, 'run'), name != 'static shards', trials, dies)
        goal = '' if name == 'static shards' else f' (goal <= {GOAL})'
        print(
            f'{name}: {one.seconds:.1f} s, the first ends at {one.first:.1f} s; ideal {one.ideal:.1f} s, '
            f'ratio {one.seconds / one.ideal:.2f}{goal}; {one.asked} requests',
            flush=True,
        )
    return {'replicas': {name: vars(one) | {'ratio': one.seconds / one.ideal} for name, one in runs.items()}}
