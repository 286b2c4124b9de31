"""Registered classes of Conformance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.core.calls.messages import messages_text
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.evaluators.evaluator import ToolEvalCallsEvaluator, as_dataset
from opencompass_tooleval.extras.conformance.prompts import build_messages
from opencompass_tooleval.extras.conformance.records import FIX, find_subset, gold_answer, load_records
from opencompass_tooleval.extras.conformance.scoring import ConformanceScorer
from opencompass_tooleval.models.conversation import TOOLS
from opencompass_tooleval.models.dataset import ToolEvalDataset


@LOAD_DATASET.register_module()
class ToolEvalConformanceDataset(ToolEvalDataset):
    """The shipped requests of Conformance."""

    @staticmethod
    def load(path: str, name: str, leave_out: Sequence[str] = ()) -> Dataset:
        """Loads the requests.

        Args:
            path: Folder with ``requests.json`` and ``tools.json``: ``tooleval:extras/conformance``.
            name: ``requests``.
            leave_out: Kinds to leave out, such as ``long_context`` for a server with a small context.

        Raises:
            DataError: A file is missing or damaged.
            ValueError: A kind does not exist.
        """
        subset, folder = find_subset(name), resolve_data_path(path, FIX)
        if unknown := set(leave_out) - set(subset.metrics[1:]):
            raise ValueError(f'Conformance has no kind {min(unknown)!r}, only {", ".join(subset.metrics[1:])}')
        records = [record for record in load_records(folder) if record.kind not in leave_out]
        get_logger().info(f'data: {folder.resolve()}: {len(records)} requests')
        return as_dataset(
            [
                {
                    'record_id': record.id,
                    'messages': messages_text(build_messages(record)),
                    TOOLS: ToolSet(record.tools, choice=record.choice).to_text(),
                    'record': record.payload,
                    'gold_answer': gold_answer(record),
                    'source': f'conformance_{subset.name}',
                }
                for record in records
            ]
        )


@ICL_EVALUATORS.register_module()
class ToolEvalConformanceEvaluator(ToolEvalCallsEvaluator, ConformanceScorer):
    """Scores the requests of Conformance.

    Args:
        name: ``requests``.
        pred_postprocessor: Argument of :class:`BaseEvaluator`.
    """

    def __init__(self, name: str, pred_postprocessor: Any = None) -> None:
        ToolEvalCallsEvaluator.__init__(self, pred_postprocessor)
        ConformanceScorer.__init__(self, name)
