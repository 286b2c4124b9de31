"""Questions to a server by inspect_ai; run by ``benchmark_pipe.py`` with an interpreter that has it.

Reads ``{"url": ..., "questions": [...], "width": ...}`` from its input, and prints seconds as JSON on its last line.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.solver import generate


def main() -> None:
    """Evaluates a task of the questions, without a score."""
    given = json.load(sys.stdin)
    width = given['width']
    model = get_model('openai-api/bench/pipe', base_url=given['url'], api_key='none')
    task = Task(dataset=[Sample(input=question) for question in given['questions']], solver=generate())
    with tempfile.TemporaryDirectory() as folder:
        started, busy = time.perf_counter(), time.process_time()
        (log,) = eval(
            task,
            model=model,
            max_connections=width,
            max_samples=width,
            max_tokens=512,
            temperature=0.0,
            log_dir=folder,
            display='none',
        )
        seconds = {'wall': time.perf_counter() - started, 'processor': time.process_time() - busy}
    assert log.status == 'success', log.error
    print(json.dumps(seconds))


if __name__ == '__main__':
    main()
