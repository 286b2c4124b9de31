"""Registered classes of FuncQA."""

from __future__ import annotations

import json

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.benchmarks.funcqa.data import FIX, find_subset, load_records
from opencompass_tooleval.benchmarks.funcqa.scoring import FuncQAScorer
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.evaluators.evaluator import ToolEvalEvaluator, as_dataset
from opencompass_tooleval.models.dataset import ToolEvalDataset


@LOAD_DATASET.register_module()
class ToolEvalFuncQADataset(ToolEvalDataset):
    """One subset of FuncQA."""

    benchmark_of_records = 'funcqa'

    @staticmethod
    def load(path: str, name: str, gold: str = 'official', change: Change | None = None) -> Dataset:
        """Loads the subset.

        Args:
            path: Folder with ``funcqa_oh.json`` and ``funcqa_mh.json``, such as ``data/funcqa``.
            name: ``one_hop`` or ``multi_hop``.
            gold: ``official``, or ``repaired`` with wrong answers fixed (see docs/explanation/funcqa.md).
            change: Changes the rows for a variant; configs do not set it.

        Raises:
            DataError: The data is missing or damaged.
        """
        file = resolve_data_path(path, FIX) / find_subset(name).file
        records = load_records(file, name, gold, change)
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
class ToolEvalFuncQAEvaluator(FuncQAScorer, ToolEvalEvaluator):
    """Scores the trajectories of one subset of FuncQA.

    Args:
        name: ``one_hop`` or ``multi_hop``.
    """

    def __init__(self, name: str) -> None:
        ToolEvalEvaluator.__init__(self)
        FuncQAScorer.__init__(self, name)
