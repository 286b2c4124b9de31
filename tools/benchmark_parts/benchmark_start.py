"""Times a small run from the command to its table; part of ``benchmark.py``.

20 questions to a server that takes half a second, 16 in flight. Each side is a program, from its start to its end:

* ours: ``opencompass CONFIG`` with ``tooleval_local``; also the time until the server has its first request;
* one import: ``python -c 'import opencompass.cli.main'``, which no run of OpenCompass is without;
* inspect_ai, where ``--inspect`` names an interpreter that has it: the same questions, without a score.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tools.make_synthetic import write_records

PARTS = Path(__file__).resolve().parent
RUNS = 3
RECORDS = 20
IN_FLIGHT = 16
LATENCY = 0.5
GOAL = 2.0
"""Seconds from the end of an import to the first request."""

SUBSET = 'review_str'
IMPORT = 'import opencompass.cli.main'
CONFIG = """
from mmengine.config import read_base
from opencompass_tooleval.models import ToolEvalOpenAI

with read_base():
    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_v1_gen import tooleval_teval_en_v1_datasets
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [row for row in tooleval_teval_en_v1_datasets if row['name'] == '{subset}_v1']
for row in datasets:
    row['path'] = '{data}'
    row['reader_cfg']['test_range'] = '[:{records}]'
models = [dict(type=ToolEvalOpenAI, path='pipe', key='none', openai_api_base='{url}', max_workers={in_flight})]
"""


def start(command: Sequence[object], url: str, **options: Any) -> dict[str, float]:
    """Seconds until the server has a request of a program, and until the program has ended."""
    before, seconds = _requests(url), {}
    started = time.perf_counter()
    silent: dict[str, Any] = {'stdout': subprocess.DEVNULL, 'stderr': subprocess.DEVNULL}
    with subprocess.Popen(list(map(str, command)), **silent, **options) as process:
        while process.poll() is None:
            if not seconds and _requests(url) > before:
                seconds['first request'] = time.perf_counter() - started
            time.sleep(0.05)
    if process.returncode:
        raise RuntimeError(f'{command} ended with {process.returncode}')
    return {**seconds, 'end': time.perf_counter() - started}


def _requests(url: str) -> int:
    with urlopen(f'{url.removesuffix("/v1")}/stats') as reply:
        return int(json.load(reply)['requests'])


def measure(inspect: str | None = None) -> dict[str, Any]:
    """Measures and prints.

    Args:
        inspect: Interpreter that has inspect_ai; None leaves it out.
    """
    serve: list[str | Path] = [
        sys.executable,
        PARTS.parent / 'serve_model.py',
        '--name',
        'pipe',
        '--canned',
        'Answer: A',
    ]
    rows: list[dict[str, float]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([*serve, '--latency', str(LATENCY)], stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        write_records(Path(folder, 'data'), 'EN', seed=0, scale=0.1)
        values = {'subset': SUBSET, 'data': f'{folder}/data', 'records': RECORDS, 'in_flight': IN_FLIGHT, 'url': url}
        Path(folder, 'config.py').write_text(CONFIG.format(**values), encoding='utf-8')
        questions = {'url': url, 'questions': [f'question {number}' for number in range(RECORDS)], 'width': IN_FLIGHT}
        Path(folder, 'questions.json').write_text(json.dumps(questions), encoding='utf-8')
        command = [sys.executable, '-m', 'opencompass.cli.main', 'config.py', '-w']
        try:
            for number in range(RUNS + 1):
                row = {'one import': start([sys.executable, '-c', IMPORT], url)['end']}
                ours = start([*command, f'out{number}'], url, cwd=folder)
                row |= {'ours, first request': ours['first request'], 'ours': ours['end']}
                if inspect:
                    with Path(folder, 'questions.json').open(encoding='utf-8') as stream:
                        row['inspect_ai'] = start([inspect, PARTS / 'benchmark_inspect.py'], url, stdin=stream)['end']
                rows.append(row)
        finally:
            server.kill()
    rows = rows[1:]  # the first one reads files that no cache has
    median = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    beyond = statistics.median(row['ours, first request'] - row['one import'] for row in rows)
    ratio = statistics.median(row['ours, first request'] / row['one import'] for row in rows)
    shown = ', '.join(f'{name} {value:.1f} s' for name, value in median.items())
    print(f'{RECORDS} questions of {LATENCY} s, {IN_FLIGHT} in flight, median of {RUNS}: {shown}')
    print(f'first request / one import: {ratio:.2f}; {beyond:.1f} s later (goal <= {GOAL})')
    return {'start': {'runs': rows, 'median': median, 'first request / one import': ratio, 'beyond': beyond}}
