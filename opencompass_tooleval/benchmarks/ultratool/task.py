"""Registered classes of UltraTool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.benchmarks.ultratool.data import (
    FIX,
    data_file,
    find_file,
    find_subset,
    load_example,
    load_records,
)
from opencompass_tooleval.benchmarks.ultratool.judge import prompt_hash
from opencompass_tooleval.benchmarks.ultratool.prompts import build_prompt, list_choice_of, messages_of, prompt_style_of
from opencompass_tooleval.benchmarks.ultratool.reading import Protocol
from opencompass_tooleval.benchmarks.ultratool.scoring import UltraToolScorer
from opencompass_tooleval.benchmarks.ultratool.tables import DEFAULT_PROMPT_STYLE
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.data_path import instructions_provenance, resolve_data_path
from opencompass_tooleval.evaluators.evaluator import as_dataset
from opencompass_tooleval.evaluators.judged_evaluator import JudgedEvaluator
from opencompass_tooleval.models.dataset import SPREAD, ToolEvalDataset
from opencompass_tooleval.work_dir.work_dir import ResultPath


@LOAD_DATASET.register_module()
class ToolEvalUltraToolDataset(ToolEvalDataset):
    """One task of UltraTool."""

    benchmark_of_records = 'ultratool'

    @staticmethod
    def load(
        path: str,
        name: str,
        language: str,
        shots: int = 1,
        prompt_style: str = DEFAULT_PROMPT_STYLE,
        example_language: str | None = None,
        change: Change | None = None,
    ) -> Dataset:
        """Loads the task.

        Args:
            path: Folder with ``Chinese-dataset`` and ``English-dataset``, such as ``data/ultratool``.
            name: Row of the table, such as ``tool_usage``.
            language: ``zh`` or ``en``.
            shots: 1 for an example in the prompt, as published; 0 for no example.
            prompt_style: ``gpt`` or ``open``; ``gpt`` has a system prompt.
            example_language: Language of the example; default ``language``. The authors' runs of open models used the
                English example in Chinese prompts.
            change: Changes the rows for a variant; configs do not set it.

        Raises:
            DataError: The data is missing or damaged.
            ValueError: The prompt style does not exist.
        """
        file = find_file(path, name, language)
        records = load_records(file, name, language, change)
        get_logger().info(f'data: {file.resolve()}: {len(records)} records')
        task = find_subset(name).task
        example_file = data_file(resolve_data_path(path, FIX), name, example_language or language)
        example = load_example(example_file, task) if shots else None
        prompts = (messages_of(build_prompt(task, language, record.raw, example), prompt_style) for record in records)
        return as_dataset(
            [
                {
                    'record_id': record.id,
                    SPREAD: record.domain,
                    'messages': json.dumps(prompt),
                    'record': record.to_payload(),
                    'gold_answer': record.plan or json.dumps(record.raw['reference'], ensure_ascii=False),
                    'source': f'{name}_{language}',
                }
                for record, prompt in zip(records, prompts, strict=True)
            ]
        )


@ICL_EVALUATORS.register_module()
class ToolEvalUltraToolEvaluator(JudgedEvaluator, UltraToolScorer):
    """Scores one task of UltraTool.

    Args:
        name: Row of the table, as in :meth:`ToolEvalUltraToolDataset.load`.
        language: ``zh`` or ``en``.
        scoring: ``official`` or ``strict``.
        list_choice: The list that is scored if an answer has several: ``last``, ``span``, or ``auto``. The default is
            that of ``prompt_style``; without a style it is ``auto``: the authors' choice for the file that a replayed
            answer comes from (``span`` for GPT's), and ``last`` for a model's answers.
        prompt_style: ``gpt`` or ``open``, as for the data set; it sets ``list_choice``, and is stored in the result. By
            default the result names the style of replayed answers, or ``open``; it names no style if ``list_choice``
            differs from that style's, or if replayed answers have several styles.
        judge_cfg: For planning and tool creation: the judge, as for :class:`JudgedEvaluator`.
        judgements: For planning and tool creation: replaces the judge, as for :class:`JudgedEvaluator`.
        instructions: The data set's file of instructions, for the provenance.
        pred_postprocessor: Argument of :class:`BaseEvaluator`.

    Raises:
        ValueError: A judge is needed but missing, or ``list_choice`` differs from that of ``prompt_style``.
    """

    def __init__(
        self,
        name: str,
        language: str,
        scoring: str = 'official',
        list_choice: str | None = None,
        judge_cfg: Mapping[str, Any] | None = None,
        judgements: str | Mapping[str, str] | None = None,
        instructions: str | None = None,
        prompt_style: str | None = None,
        pred_postprocessor: Any = None,
    ) -> None:
        JudgedEvaluator.__init__(self, judge_cfg, judgements, pred_postprocessor)
        list_choice = None if list_choice == 'auto' else list_choice
        self.is_styled = prompt_style is not None
        self.by_shape = not self.is_styled and list_choice is None
        rules = Protocol(scoring, list_choice_of(prompt_style, list_choice))
        style = prompt_style or prompt_style_of([DEFAULT_PROMPT_STYLE], rules.list_choice)
        UltraToolScorer.__init__(self, name, language, rules, style)
        self.instructions = instructions
        if self.is_graded:
            self.need_judge(f'UltraTool {name}')

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        judge = prompt_hash(self.subset.task, self.language) if self.is_graded else ''
        return {
            **super().provenance(),
            **instructions_provenance(self.instructions),
            **(self.judge_provenance(judge) if judge else {}),
        }

    def evaluate(self, k: Any, n: int, original_dataset: Dataset, **columns: Any) -> dict[str, Any]:
        """Scores all runs; the predictions beside the result name the files from which they were replayed."""
        result_path = ResultPath.of(self)
        shapes = result_path.recorded_shapes() if result_path and not self.is_styled else []
        if self.by_shape and shapes:
            self.rules = self.rules.with_shapes(shapes)
        if any(shapes):
            self.prompt_style = prompt_style_of(shapes, self.rules.list_choice)
        return super().evaluate(k, n, original_dataset, **columns)
