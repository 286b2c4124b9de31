"""Registered classes of FuncQA: glue only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.benchmarks.funcqa import VERSION
from opencompass_tooleval.benchmarks.funcqa.records import FIX, find_subset, load_records, parse_payload
from opencompass_tooleval.benchmarks.funcqa.scoring import QuestionScore, breakdown, score_predictions
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.evaluators.evaluator import ToolEvalEvaluator, as_dataset
from opencompass_tooleval.models.gpus import ToolEvalDataset


@LOAD_DATASET.register_module()
class ToolEvalFuncQADataset(ToolEvalDataset):
    """One subset of FuncQA."""

    @staticmethod
    def load(path: str, name: str, gold: str = 'official') -> Dataset:
        """Loads the subset.

        Args:
            path: Folder with ``funcqa_oh.json`` and ``funcqa_mh.json``, such as ``data/funcqa``.
            name: ``one_hop`` or ``multi_hop``.
            gold: ``official``, or ``repaired`` with wrong answers fixed (see docs/explanation/funcqa.md).

        Raises:
            DataError: The data is missing or damaged.
        """
        file = resolve_data_path(path, FIX) / find_subset(name).file
        records = load_records(file, name, gold)
        get_logger().info(f'data: {file.resolve()}: {len(records)} records')
        return as_dataset(
            [
                {
                    'record_id': record.id,
                    'messages': json.dumps([{'role': 'user', 'content': record.question}]),
                    'record': record.to_payload(),
                    'gold_answer': record.gold_answer,
                    'source': f'funcqa_{name}',
                }
                for record in records
            ]
        )


@ICL_EVALUATORS.register_module()
class ToolEvalFuncQAEvaluator(ToolEvalEvaluator):
    """Scores one subset of FuncQA from trajectories.

    Args:
        name: ``one_hop`` or ``multi_hop``.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.subset = find_subset(name)
        self._golds: set[str] = set()
        self._methods: set[str] = set()
        self._settings: dict[str, Any] = {}

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {
            'benchmark': 'funcqa',
            'subset': self.subset.name,
            'method': ', '.join(sorted(self._methods)),
            'gold': ', '.join(sorted(self._golds)),
            'version': VERSION,
            **self._settings,
        }

    def breakdown(self, scores: Sequence[SampleScore]) -> dict[str, Any]:
        """Returns further parts of the result beside its metrics."""
        return breakdown(cast(Sequence[QuestionScore], scores))

    def score_samples(self, references: Sequence[str], answers: Sequence[Answer]) -> list[SampleScore]:
        """Scores trajectories against records."""
        records = [parse_payload(reference) for reference in references]
        scores = score_predictions(records, answers)
        self._golds.update(record.gold for record in records)
        for score in scores:
            if score.trajectory:
                self._methods.add(score.trajectory.loop)
                self._settings |= score.trajectory.settings
        return list(scores)
