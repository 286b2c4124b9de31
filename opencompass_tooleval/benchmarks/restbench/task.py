"""Registered classes of RestBench."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.benchmarks.restbench.data import (
    FIX,
    Inventory,
    Record,
    Toolbox,
    find_subset,
    gold_answer,
    gold_calls,
    gold_choices,
    load_records,
    offered_tools,
    open_toolbox,
)
from opencompass_tooleval.benchmarks.restbench.prompts import build_prompt, function_calling_prompt, published_prompt
from opencompass_tooleval.benchmarks.restbench.scoring import RestBenchCallsScorer, RestBenchScorer
from opencompass_tooleval.benchmarks.variant_kinds import SUFFIX
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.literal_reply import LiteralDialogues, first_block
from opencompass_tooleval.core.calls.messages import Message, messages_text
from opencompass_tooleval.core.calls.tool_calls import write_answer
from opencompass_tooleval.core.calls.tool_set import ToolSet
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.data_path import candidate_paths, resolve_data_path
from opencompass_tooleval.evaluators.evaluator import ToolEvalCallsEvaluator, ToolEvalEvaluator, as_dataset
from opencompass_tooleval.models.conversation import TOOLS
from opencompass_tooleval.models.dataset import ToolEvalDataset
from opencompass_tooleval.work_dir.data_files import command_to_generate

ENDINGS = {'names': '', 'easytool': '-ids', 'function_calling': '-fc'}
"""Method -> ending of the name of recorded answers."""


def _row(tools: Toolbox, record: Record, method: str, offered: str) -> dict[str, str]:
    """Returns the columns that depend on the method: the prompt, the gold answer and the offered tools."""
    if method == 'function_calling':
        gold = write_answer('', gold_calls(record, tools.functions))
        return {'messages': messages_text(function_calling_prompt(record.query)), 'gold_answer': gold, TOOLS: offered}
    if method == 'easytool':
        messages, gold = published_prompt(tools.entries, record.query), gold_choices(record)
    else:
        messages, gold = (Message('user', build_prompt(tools.texts, record.query)),), gold_answer(record.path)
    return {'messages': messages_text(messages), 'gold_answer': gold}


@LOAD_DATASET.register_module()
class ToolEvalRestBenchDataset(ToolEvalDataset):
    """One service of RestBench."""

    benchmark_of_records = 'restbench'

    @staticmethod
    def load(
        path: str,
        name: str,
        gold: str = 'official',
        instructions: str | None = None,
        method: str = 'names',
        change: Change | None = None,
    ) -> Dataset:
        """Loads the service.

        Args:
            path: Folder with ``tmdb.json``, ``spotify.json`` and ``specs``, such as ``data/restbench``.
            name: Row of the table: ``tmdb`` or ``spotify``.
            gold: ``official`` (as published) or ``repaired``; the prompts are the same.
            instructions: A file of EasyTool instructions, which replaces the documentation in prompts.
            method: ``names``: our prompt, answered with tool names. ``easytool``: EasyTool's prompt, answered with tool
                numbers; needs instructions. ``function_calling``: the documented tools are offered and called natively.
            change: Changes the documented tools for a variant; configs do not set it.

        Raises:
            DataError: A file is missing or damaged, or a tool has no instruction.
            ValueError: The method, gold or subset does not exist.
        """
        subset, root = find_subset(name), resolve_data_path(path, FIX)
        document = root / subset.document
        made = None
        if instructions:
            fix = command_to_generate('openapi', document, candidate_paths(instructions)[0])
            made = resolve_data_path(instructions, fix)
        tools = open_toolbox(document, made, method, change)
        inventory = Inventory(tools.called) if tools.called else tools.inventory
        records, errata = load_records(root / subset.file, name, inventory, gold, tools.ids)
        if tools.called:
            records = [record.renamed(tools.called) for record in records]
        get_logger().info(f'data: {(root / subset.file).resolve()}: {len(records)} records, {len(errata)} errata')
        ending = (SUFFIX if instructions else '') + ENDINGS[method]
        offered = offered_tools(tools.functions).to_text() if method == 'function_calling' else ''
        more = {'source': f'restbench_{name}{ending}', 'shown': json.dumps(tools.shown)}
        return as_dataset(
            [
                {'record_id': record.id, 'record': record.to_payload(), **_row(tools, record, method, offered), **more}
                for record in records
            ]
        )


class RestBenchDialogues(LiteralDialogues):
    """Parses the text before the first blank line; see :class:`LiteralDialogues`."""

    cut = staticmethod(first_block)


@ICL_EVALUATORS.register_module()
class ToolEvalRestBenchEvaluator(RestBenchScorer, ToolEvalEvaluator):
    """Scores one service of RestBench; the records contain the gold paths.

    Args:
        name: Row of the table, as in :meth:`ToolEvalRestBenchDataset.load`.
        pred_postprocessor: Argument of :class:`BaseEvaluator`.
    """

    def __init__(self, name: str, pred_postprocessor: Any = None) -> None:
        ToolEvalEvaluator.__init__(self, pred_postprocessor)
        RestBenchScorer.__init__(self, name)


@ICL_EVALUATORS.register_module()
class ToolEvalRestBenchCallsEvaluator(ToolEvalCallsEvaluator, RestBenchCallsScorer, ToolEvalRestBenchEvaluator):
    """Scores the native calls of one service of RestBench, with the arguments of
    :class:`ToolEvalRestBenchEvaluator`."""

    def score(  # type: ignore[override]
        self,
        predictions: Sequence[str],
        references: Sequence[str],
        record_id: Sequence[str],
        infra: Sequence[str | None],
        calls: Sequence[Any],
        test_set: Dataset,
    ) -> list[SampleScore]:
        """Scores one run; the tools are taken from the first row, since all rows offer the same tools."""
        self.tools = ToolSet.of_text(test_set[0][TOOLS]).tools
        return super().score(predictions, references, record_id, infra, calls)
