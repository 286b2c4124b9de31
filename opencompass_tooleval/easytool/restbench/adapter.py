"""RestBench as OpenCompass sees it: glue only."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from datasets import Dataset
from opencompass.datasets.base import BaseDataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.core.messages import Message, messages_text
from opencompass_tooleval.core.result import SampleScore
from opencompass_tooleval.easytool.literal_reply import LiteralDialogues, first_block
from opencompass_tooleval.easytool.restbench import VERSION
from opencompass_tooleval.easytool.restbench.prompts import build_prompt, published_prompt
from opencompass_tooleval.easytool.restbench.records import (
    MEND,
    find_subset,
    gold_answer,
    gold_choices,
    load_records,
    parse_payload,
)
from opencompass_tooleval.easytool.restbench.scoring import PathScore, breakdown, score_answers
from opencompass_tooleval.easytool.restbench.tools import Toolbox, generate_command, open_toolbox
from opencompass_tooleval.easytool.variant_kind import SUFFIX
from opencompass_tooleval.host.data_path import resolve_data_path
from opencompass_tooleval.host.evaluator import ToolEvalEvaluator

IDS = '-ids'
"""What the name of recorded answers ends in where tools are chosen by number."""


def _messages(tools: Toolbox, query: str) -> tuple[Message, ...]:
    if tools.entries:
        return published_prompt(tools.entries, query)
    return (Message('user', build_prompt(tools.texts, query)),)


@LOAD_DATASET.register_module()
class ToolEvalRestBenchDataset(BaseDataset):
    """One service of RestBench."""

    @staticmethod
    def load(
        path: str, name: str, gold: str = 'official', instructions: str | None = None, method: str = 'names'
    ) -> Dataset:
        """Loads it.

        Args:
            path: Folder with ``tmdb.json``, ``spotify.json`` and ``specs``, such as ``data/restbench``.
            name: Row of the table: ``tmdb`` or ``spotify``.
            gold: ``official`` (as published) or ``repaired``; what is asked is the same.
            instructions: A file of EasyTool instructions, which the model gets in place of the documentation.
            method: ``names``: our prompt, answered with tools' names. ``easytool``: EasyTool's own, answered with
                their numbers; for instructions only.

        Raises:
            DataError: A file is missing or damaged, or a tool has no instruction.
            ValueError: There is no such method, gold or subset.
        """
        subset, root = find_subset(name), resolve_data_path(path, MEND)
        document = root / subset.document
        made = resolve_data_path(instructions, generate_command(document, instructions)) if instructions else None
        tools = open_toolbox(document, made, method)
        records, errata = load_records(root / subset.file, name, tools.inventory, gold, tools.ids)
        get_logger().info(f'data: {(root / subset.file).resolve()}: {len(records)} records, {len(errata)} errata')
        return Dataset.from_list(
            [
                {
                    'record_id': record.id,
                    'messages': messages_text(_messages(tools, record.query)),
                    'record': record.to_payload(),
                    'gold_answer': gold_choices(record) if record.ids else gold_answer(record.path),
                    'source': f'restbench_{name}' + (SUFFIX if instructions else '') + (IDS if record.ids else ''),
                    'shown': json.dumps(tools.shown),
                }
                for record in records
            ]
        )


class RestBenchDialogues(LiteralDialogues):
    """See :class:`LiteralDialogues`; what stands before the first blank line is read."""

    cut = staticmethod(first_block)


@ICL_EVALUATORS.register_module()
class ToolEvalRestBenchEvaluator(ToolEvalEvaluator):
    """Scores one service of RestBench; the records say by which gold.

    Args:
        name: As in :meth:`ToolEvalRestBenchDataset.load`.
        pred_postprocessor: As :class:`BaseEvaluator`.
    """

    def __init__(self, name: str, pred_postprocessor: Any = None) -> None:
        super().__init__(pred_postprocessor)
        self.subset = find_subset(name)
        self._golds: set[str] = set()

    def provenance(self) -> dict[str, Any]:
        """See :class:`ToolEvalEvaluator`."""
        gold = ', '.join(sorted(self._golds))
        return {'benchmark': 'restbench', 'subset': self.subset.name, 'gold': gold, 'version': VERSION}

    def breakdown(self, scores: Sequence[SampleScore]) -> dict[str, Any]:
        """See :class:`ToolEvalEvaluator`."""
        return breakdown(cast(Sequence[PathScore], scores))

    def score_samples(self, references: Sequence[str], answers: Sequence[str]) -> list[SampleScore]:
        """See :class:`ToolEvalEvaluator`."""
        records = [parse_payload(reference) for reference in references]
        self._golds.update(record.gold for record in records)
        return list(score_answers(records, answers))
