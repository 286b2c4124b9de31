"""OpenCompass's own evaluation of T-Eval with an encoder of ours; a process that ``benchmark_sweep.py`` starts.

Usage: python tools/benchmark_builtin.py CONFIG ENCODER_FOLDER

Its last line of output is JSON: the seconds, on the clock and on the cores, that grow with the number of records.
Loading the encoder, which the built-in does once per subset, is not among them.

Two things are changed: the encoder's name, which is fixed in OpenCompass, and a plan of nothing but ``FinishAction``
scores nothing, where OpenCompass crashes.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import sentence_transformers
from mmengine.config import Config
from opencompass.datasets.teval.evaluators import planning_evaluator, reason_retrieve_understand_evaluator
from opencompass.tasks import OpenICLEvalTask

NOTHING = {'precision': 0, 'recall': 0, 'f1_score': 0, 'parse_rate': 1}


class Clock:
    """Seconds on the clock and on the cores between :meth:`start` and :meth:`stop`, summed up."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def start(self) -> None:
        """Begins a stretch."""
        self.wall -= time.perf_counter()
        self.cpu -= time.process_time()

    def stop(self) -> None:
        """Ends it."""
        self.wall += time.perf_counter()
        self.cpu += time.process_time()


def main() -> None:
    """Evaluates."""
    config, encoder = sys.argv[1:]
    growing = Clock()

    def load(name: str) -> Any:
        growing.stop()
        model = sentence_transformers.SentenceTransformer(encoder)
        growing.start()
        return model

    match = planning_evaluator.PlanningEvaluator.bertscore_match

    def safe_match(self: Any, predicted: Any, gold: Any) -> Any:
        only_finish = [step['name'] for step in predicted] == ['FinishAction']
        return dict(NOTHING) if only_finish else match(self, predicted, gold)

    class Task(OpenICLEvalTask):
        def _score(self) -> None:
            growing.start()
            super()._score()
            growing.stop()

    for module in (planning_evaluator, reason_retrieve_understand_evaluator):
        module.SentenceTransformer = load
    planning_evaluator.PlanningEvaluator.bertscore_match = safe_match
    Task(Config.fromfile(config)).run()
    print(json.dumps({'wall': growing.wall, 'cpu': growing.cpu}))


if __name__ == '__main__':
    main()
