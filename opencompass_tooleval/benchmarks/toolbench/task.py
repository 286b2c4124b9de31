"""Registered classes of ToolBench."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.benchmarks.toolbench.data import (
    FIX,
    Choice,
    FinalAnswer,
    Request,
    find_file,
    find_subset,
    load_final_answers,
    load_queries,
)
from opencompass_tooleval.benchmarks.toolbench.prompts import (
    SUCCESS,
    Shown,
    calls_prompt,
    function_calling_prompt,
    make_choices,
    make_requests,
    offered_tools,
    open_tools,
    published_selection,
    selection_prompt,
)
from opencompass_tooleval.benchmarks.toolbench.scoring import NativeCallsScorer, SuccessScorer, ToolBenchScorer
from opencompass_tooleval.benchmarks.toolbench.tables import METHODS
from opencompass_tooleval.benchmarks.variant_kinds import SUFFIX
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.literal_reply import LiteralDialogues, last_block
from opencompass_tooleval.core.calls.messages import Message, messages_text
from opencompass_tooleval.core.calls.tool_calls import write_answer
from opencompass_tooleval.core.scoring.scorer import Similarity
from opencompass_tooleval.data_path import candidate_paths, resolve_data_path
from opencompass_tooleval.embedding.encoder import shared_encoder
from opencompass_tooleval.embedding.locate import choose_encoder, default_cache, locate_encoder
from opencompass_tooleval.evaluators.evaluator import ToolEvalCallsEvaluator, ToolEvalEvaluator, as_dataset
from opencompass_tooleval.evaluators.judged_evaluator import JudgedEvaluator
from opencompass_tooleval.judging.judge_item import prompt_hash
from opencompass_tooleval.models.conversation import TOOLS
from opencompass_tooleval.models.dataset import ToolEvalDataset
from opencompass_tooleval.work_dir.data_files import command_to_generate

Row = dict[str, str]


ENDINGS = {'names': '', 'easytool': '-ids', 'function_calling': '-fc'}
"""Method -> ending of the name of recorded answers."""


def _row(record: Choice | Request | FinalAnswer, prompt: str | Sequence[Message], gold: str) -> Row:
    asked = [Message('user', prompt)] if isinstance(prompt, str) else prompt
    return {
        'record_id': record.id,
        'messages': messages_text(asked),
        'record': record.to_payload(),
        'gold_answer': gold,
    }


def _choices(tools: Shown, shown: Shown, size: int, seed: int, similarity: Similarity) -> list[Choice]:
    """Returns the choices among the tools of a file, with the names and requests that they have in a variant of it."""
    names = dict(zip(tools.data.tools, shown.data.tools, strict=True))
    queries = {record.id: record.query for record in shown.data.records}
    return [
        replace(
            choice,
            query=queries[choice.id],
            gold=names[choice.gold],
            candidates=tuple(names[name] for name in choice.candidates),
        )
        for choice in make_choices(tools, size, seed, similarity)
    ]


def _selection_rows(tools: Shown, choices: Iterable[Choice]) -> list[Row]:
    return [
        _row(choice, selection_prompt(map(tools.described, choice.candidates), choice.query), choice.gold_answer)
        for choice in choices
    ]


def _numbered_rows(tools: Shown, choices: Iterable[Choice]) -> list[Row]:
    return [
        _row(
            choice,
            published_selection(
                zip(choice.ids, map(tools.described_alone, choice.candidates), strict=True), choice.query
            ),
            choice.gold_answer,
        )
        for choice in map(tools.numbered, choices)
    ]


def _calls_rows(tools: Shown) -> list[Row]:
    return [
        _row(request, calls_prompt(tools.callable(request), request.query), request.gold_answer)
        for request in make_requests(tools)
    ]


def _offered_rows(tools: Shown) -> list[Row]:
    return [
        {
            **_row(request, function_calling_prompt(request.query), write_answer('', request.gold_calls)),
            TOOLS: offered_tools(request, tools.data.tools).to_text(),
        }
        for request in make_requests(tools)
    ]


@LOAD_DATASET.register_module()
class ToolEvalToolBenchDataset(ToolEvalDataset):
    """Data set in which a model chooses a tool for a request, or calls its APIs."""

    benchmark_of_records = 'toolbench'

    @staticmethod
    def load(
        path: str,
        name: str,
        instructions: str | None = None,
        encoder: str | None = None,
        seed: int = 0,
        method: str = 'names',
        change: Change | None = None,
    ) -> Dataset:
        """Loads one subset.

        Args:
            path: Folder with the test files, such as ``data/toolbench``.
            name: Row of the table: ``selection_5``, ..., ``calls_g2``, ``calls_g3``.
            instructions: A file of EasyTool instructions, which replaces the documentation in prompts.
            encoder: Sentence encoder that selects the other candidates: ``offline``, a folder or a hub id; default
                ``$TOOLEVAL_ENCODER`` or T-Eval's. It is only loaded if candidates are needed.
            seed: Seed of the order of candidates.
            method: ``names``: our prompts, answered with tool names. ``easytool``, for selection: EasyTool's prompt,
                answered with a tool's number. ``function_calling``, for calls: the documented APIs are offered and
                called natively.
            change: Changes the rows for a variant, whose choices are those of the file; configs do not set it.

        Raises:
            DataError: A file is missing or damaged, there are too few tools, or tools have no instruction.
            EncoderMissingError: The encoder is not on this machine.
            ValueError: The subset or method does not exist, or the method does not accept instructions.
        """
        subset = find_subset(name)
        if subset.kind == 'success':
            raise ValueError(f'{name} scores stored trajectories: set type=ToolEvalToolBenchTrajectories')
        if method not in METHODS[subset.kind]:
            raise ValueError(f'{name} has the methods {" and ".join(METHODS[subset.kind])}, not {method!r}')
        if method == 'function_calling' and instructions is not None:
            raise ValueError("method 'function_calling' uses the documented APIs: leave out instructions")
        file = resolve_data_path(path, FIX) / find_file(subset.data).file
        instructed = None
        if instructions:
            fix = command_to_generate('toolbench', file, candidate_paths(instructions)[0])
            instructed = resolve_data_path(instructions, fix)
        tools = open_tools(file, subset.data, instructed, change)
        get_logger().info(f'data: {file.resolve()}: {len(tools.data.records)} records, {len(tools.data.errata)} errata')
        shown: dict[str, Any] = dict(tools.provenance)
        if subset.kind == 'selection':
            similarity = shared_encoder(locate_encoder(choose_encoder(encoder, 'EN')), default_cache())
            make_rows = _selection_rows if method == 'names' else _numbered_rows
            original = open_tools(file, subset.data) if change else tools
            rows = make_rows(tools, _choices(original, tools, subset.candidates, seed, similarity))
            shown |= {'candidates': subset.candidates, 'candidates_encoder': similarity.name, 'seed': seed}
        else:
            rows = _calls_rows(tools) if method == 'names' else _offered_rows(tools)
        shown |= {'method': method} if method != 'names' else {}
        source = f'toolbench_{name}' + (SUFFIX if instructions else '') + ENDINGS[method]
        more = {'source': source, 'shown': json.dumps(shown)}
        return as_dataset([{**row, **more} for row in rows])


class ToolBenchDialogues(LiteralDialogues):
    """Parses the text after the last blank line of a choice; see :class:`LiteralDialogues`."""

    cut = staticmethod(last_block)


@LOAD_DATASET.register_module()
class ToolEvalToolBenchTrajectories(ToolEvalDataset):
    """Stored trajectories to judge; the oracle model answers with the stored answer."""

    @staticmethod
    def load(path: str, name: str = 'success', data: str | None = None) -> Dataset:
        """Loads the trajectories.

        Args:
            path: The file (:func:`~opencompass_tooleval.benchmarks.toolbench.data.load_final_answers`).
            name: Row of the table.
            data: A test file of ToolBench, such as ``data/toolbench/G2_category.json``, if the trajectories lack their
                request.

        Raises:
            DataError: A file is missing or damaged.
        """
        file = resolve_data_path(path, 'store trajectories of an agent there, with id, query and final_answer')
        queries = load_queries(resolve_data_path(data, FIX)) if data else None
        source = f'toolbench_{find_subset(name).name}'
        rows = [_row(stored, stored.query, stored.answer) for stored in load_final_answers(file, queries)]
        return as_dataset([{**row, 'source': source} for row in rows])


@ICL_EVALUATORS.register_module()
class ToolEvalToolBenchEvaluator(ToolBenchScorer, ToolEvalEvaluator):
    """Scores choices or calls.

    Args:
        name: Row of the table, as in :meth:`ToolEvalToolBenchDataset.load`.
        pred_postprocessor: Argument of :class:`BaseEvaluator`.
    """

    def __init__(self, name: str, pred_postprocessor: Any = None) -> None:
        ToolEvalEvaluator.__init__(self, pred_postprocessor)
        ToolBenchScorer.__init__(self, name)


@ICL_EVALUATORS.register_module()
class ToolEvalToolBenchCallsEvaluator(ToolEvalCallsEvaluator, NativeCallsScorer, ToolEvalToolBenchEvaluator):
    """Scores native calls, with the arguments of :class:`ToolEvalToolBenchEvaluator`."""


@ICL_EVALUATORS.register_module()
class ToolEvalToolBenchSuccessEvaluator(JudgedEvaluator, SuccessScorer):
    """Scores final answers with a judge, by the rules of UltraTool's judge.

    Args:
        judge_cfg: The judge, as for :class:`JudgedEvaluator`.
        judgements: Replaces the judge, as for :class:`JudgedEvaluator`.
        pred_postprocessor: Argument of :class:`BaseEvaluator`.

    Raises:
        ValueError: The judge is missing.
    """

    def __init__(
        self,
        judge_cfg: Mapping[str, Any] | None = None,
        judgements: str | Mapping[str, str] | None = None,
        pred_postprocessor: Any = None,
    ) -> None:
        JudgedEvaluator.__init__(self, judge_cfg, judgements, pred_postprocessor)
        SuccessScorer.__init__(self)
        self.need_judge('the success rate')

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {**super().provenance(), **self.judge_provenance(prompt_hash(SUCCESS))}
