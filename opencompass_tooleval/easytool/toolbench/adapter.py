"""ToolBench as OpenCompass sees it: glue only."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from datasets import Dataset
from opencompass.datasets.base import BaseDataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.core.aggregate import Aggregate, aggregate
from opencompass_tooleval.core.answer import Answer, as_answer, clean, why_unread
from opencompass_tooleval.core.judge_item import JudgeItem
from opencompass_tooleval.core.messages import Message, messages_text
from opencompass_tooleval.core.result import SampleScore
from opencompass_tooleval.core.similarity import Similarity
from opencompass_tooleval.core.tool_calls import write_answer
from opencompass_tooleval.core.verdicts import Unread, answer_digest
from opencompass_tooleval.easytool.literal_reply import LiteralDialogues, last_block
from opencompass_tooleval.easytool.toolbench import VERSION, success
from opencompass_tooleval.easytool.toolbench.build import (
    METHODS,
    Shown,
    load_queries,
    make_choices,
    make_requests,
    open_tools,
)
from opencompass_tooleval.easytool.toolbench.function_tools import gold_calls as native_gold_calls
from opencompass_tooleval.easytool.toolbench.function_tools import offered_tools
from opencompass_tooleval.easytool.toolbench.prompts import (
    calls_prompt,
    function_calling_prompt,
    published_selection,
    selection_prompt,
)
from opencompass_tooleval.easytool.toolbench.records import MEND, find_file, find_subset
from opencompass_tooleval.easytool.toolbench.request import gold_answer as gold_calls
from opencompass_tooleval.easytool.toolbench.request import parse_request
from opencompass_tooleval.easytool.toolbench.score_calls import (
    CallsScore,
    breakdown,
    score_native_requests,
    score_requests,
    total,
)
from opencompass_tooleval.easytool.toolbench.score_selection import gold_answer, parse_choice, score_choices
from opencompass_tooleval.easytool.toolbench.tool_texts import command_to_generate
from opencompass_tooleval.easytool.variant_kind import SUFFIX
from opencompass_tooleval.embedding.cache import default_cache
from opencompass_tooleval.embedding.encoder import shared_encoder
from opencompass_tooleval.embedding.locate import choose_encoder, locate_encoder
from opencompass_tooleval.host.conversation import TOOLS
from opencompass_tooleval.host.data_path import resolve_data_path
from opencompass_tooleval.host.evaluator import ToolEvalCallsEvaluator, ToolEvalEvaluator
from opencompass_tooleval.host.judged_evaluator import JudgedEvaluator

Row = dict[str, str]


ENDINGS = {'names': '', 'easytool': '-ids', 'function_calling': '-fc'}
"""Method -> what the name of recorded answers ends in."""


def _row(record_id: str, prompt: str | Sequence[Message], payload: str, gold: str) -> Row:
    asked = [Message('user', prompt)] if isinstance(prompt, str) else prompt
    messages = messages_text(asked)
    return {'record_id': record_id, 'messages': messages, 'record': payload, 'gold_answer': gold}


def _selection_rows(tools: Shown, size: int, seed: int, similarity: Similarity) -> Iterator[Row]:
    for choice in make_choices(tools, size, seed, similarity):
        prompt = selection_prompt((tools.described(name) for name in choice.candidates), choice.query)
        yield _row(choice.id, prompt, choice.to_payload(), gold_answer(choice))


def _numbered_rows(tools: Shown, size: int, seed: int, similarity: Similarity) -> Iterator[Row]:
    for choice in map(tools.numbered, make_choices(tools, size, seed, similarity)):
        described = map(tools.described_alone, choice.candidates)
        prompt = published_selection(zip(choice.ids, described, strict=True), choice.query)
        yield _row(choice.id, prompt, choice.to_payload(), gold_answer(choice))


def _calls_rows(tools: Shown) -> Iterator[Row]:
    for request in make_requests(tools):
        prompt = calls_prompt(tools.callable(request), request.query)
        yield _row(request.id, prompt, request.to_payload(), gold_calls(request))


def _offered_rows(tools: Shown) -> Iterator[Row]:
    for request in make_requests(tools):
        gold = write_answer('', native_gold_calls(request))
        offered = offered_tools(request, tools.data.tools).to_text()
        yield {**_row(request.id, function_calling_prompt(request.query), request.to_payload(), gold), TOOLS: offered}


@LOAD_DATASET.register_module()
class ToolEvalToolBenchDataset(BaseDataset):
    """Choosing a tool for a request, or calling its APIs."""

    @staticmethod
    def load(
        path: str,
        name: str,
        instructions: str | None = None,
        encoder: str | None = None,
        seed: int = 0,
        method: str = 'names',
    ) -> Dataset:
        """Loads one subset.

        Args:
            path: Folder with the test files, such as ``data/toolbench``.
            name: Row of the table: ``selection_5``, ..., ``calls_g2``, ``calls_g3``.
            instructions: A file of EasyTool instructions, which the model gets in place of the documentation.
            encoder: What finds the other candidates: ``offline``, a folder or a hub id; by default
                ``$TOOLEVAL_ENCODER`` or T-Eval's. Not looked for where none are to be found.
            seed: Decides in which order candidates are shown.
            method: ``names``: our prompts, answered with names. ``easytool``, for selection: EasyTool's own, answered
                with a tool's number. ``function_calling``, for calls: the APIs are offered natively, as they are
                documented, and called.

        Raises:
            DataError: A file is missing or damaged, there are too few tools, or tools have no instruction.
            EncoderMissingError: The encoder is not on this machine.
            ValueError: The subset or the method is no such one, or takes no instructions.
        """
        subset = find_subset(name)
        if subset.kind == 'success':
            raise ValueError(f'{name} is made of stored trajectories: type=ToolEvalToolBenchTrajectories')
        if method not in METHODS[subset.kind]:
            raise ValueError(f'{name} has methods {" and ".join(METHODS[subset.kind])}, not {method!r}')
        if method == 'function_calling' and instructions is not None:
            raise ValueError("method 'function_calling' offers APIs as they are documented: leave instructions out")
        file = resolve_data_path(path, MEND) / find_file(subset.data).file
        instructed = resolve_data_path(instructions, command_to_generate(file)) if instructions else None
        tools = open_tools(file, subset.data, instructed)
        get_logger().info(f'data: {file.resolve()}: {len(tools.data.records)} records, {len(tools.data.errata)} errata')
        shown: dict[str, Any] = dict(tools.provenance)
        if subset.kind == 'selection':
            similarity = shared_encoder(locate_encoder(choose_encoder(encoder, 'EN')), default_cache())
            make_rows = _selection_rows if method == 'names' else _numbered_rows
            rows = list(make_rows(tools, subset.candidates, seed, similarity))
            shown |= {'candidates': subset.candidates, 'candidates_encoder': similarity.name, 'seed': seed}
        else:
            rows = list(_calls_rows(tools) if method == 'names' else _offered_rows(tools))
        shown |= {'method': method} if method != 'names' else {}
        source = f'toolbench_{name}' + (SUFFIX if instructions else '') + ENDINGS[method]
        more = {'source': source, 'shown': json.dumps(shown)}
        return Dataset.from_list([{**row, **more} for row in rows])


class ToolBenchDialogues(LiteralDialogues):
    """See :class:`LiteralDialogues`; of a choice what stands behind the last blank line is read."""

    cut = staticmethod(last_block)


@LOAD_DATASET.register_module()
class ToolEvalToolBenchTrajectories(BaseDataset):
    """Stored trajectories, to be judged: the oracle model answers what is stored."""

    @staticmethod
    def load(path: str, name: str = 'success', data: str | None = None) -> Dataset:
        """Loads them.

        Args:
            path: The file (:func:`~opencompass_tooleval.easytool.toolbench.success.load_trajectories`).
            name: Row of the table.
            data: A test file of ToolBench, such as ``data/toolbench/G2_category.json``, for trajectories that do not
                say their request.

        Raises:
            DataError: A file is missing or damaged.
        """
        file = resolve_data_path(path, 'store the trajectories of an agent there: id, query, final_answer')
        queries = load_queries(resolve_data_path(data, MEND)) if data else None
        source = f'toolbench_{find_subset(name).name}'
        rows = [
            _row(trajectory.id, trajectory.query, trajectory.to_payload(), trajectory.answer)
            for trajectory in success.load_trajectories(file, queries)
        ]
        return Dataset.from_list([{**row, 'source': source} for row in rows])


@ICL_EVALUATORS.register_module()
class ToolEvalToolBenchEvaluator(ToolEvalEvaluator):
    """Scores choices or calls.

    Args:
        name: As in :meth:`ToolEvalToolBenchDataset.load`.
        pred_postprocessor: As :class:`BaseEvaluator`.
    """

    def __init__(self, name: str, pred_postprocessor: Any = None) -> None:
        super().__init__(pred_postprocessor)
        self.subset = find_subset(name)

    def provenance(self) -> dict[str, Any]:
        """See :class:`ToolEvalEvaluator`."""
        return {'benchmark': 'toolbench', 'subset': self.subset.name, 'version': VERSION}

    def total(self, scores: Sequence[SampleScore]) -> Aggregate:
        """See :class:`ToolEvalEvaluator`."""
        if self.subset.kind == 'selection':
            return aggregate(scores, self.metrics)
        return total(cast(Sequence[CallsScore], scores), self.metrics)

    def breakdown(self, scores: Sequence[SampleScore]) -> dict[str, Any]:
        """See :class:`ToolEvalEvaluator`."""
        return breakdown(cast(Sequence[CallsScore], scores)) if self.subset.kind == 'calls' else {}

    def score_samples(self, references: Sequence[str], answers: Sequence[str]) -> list[SampleScore]:
        """See :class:`ToolEvalEvaluator`."""
        if self.subset.kind == 'selection':
            choices = [parse_choice(reference) for reference in references]
            return score_choices(choices, answers)
        requests = [parse_request(reference) for reference in references]
        return list(score_requests(requests, answers))


@ICL_EVALUATORS.register_module()
class ToolEvalToolBenchCallsEvaluator(ToolEvalCallsEvaluator, ToolEvalToolBenchEvaluator):
    """Scores native calls; the arguments are those of the other evaluator."""

    def score_samples(self, references: Sequence[str], answers: Sequence[str]) -> list[SampleScore]:
        """See :class:`ToolEvalEvaluator`."""
        requests = [parse_request(reference) for reference in references]
        return list(score_native_requests(requests, [as_answer(answer) for answer in answers]))


@ICL_EVALUATORS.register_module()
class ToolEvalToolBenchSuccessEvaluator(JudgedEvaluator):
    """Has final answers judged; the rules are those of UltraTool's judge.

    Args:
        judge_cfg: As :class:`JudgedEvaluator`.
        judgements: As there.
        pred_postprocessor: As :class:`BaseEvaluator`.

    Raises:
        ValueError: There is no judge.
    """

    subset = find_subset('success')

    def __init__(
        self,
        judge_cfg: Mapping[str, Any] | None = None,
        judgements: str | Mapping[str, str] | None = None,
        pred_postprocessor: Any = None,
    ) -> None:
        super().__init__(judge_cfg, judgements, pred_postprocessor)
        self.need_judge('the success rate')

    def provenance(self) -> dict[str, Any]:
        """See :class:`ToolEvalEvaluator`."""
        row = {'benchmark': 'toolbench', 'subset': 'success', 'version': VERSION}
        return {**row, **self.judge_provenance(success.prompt_hash())}

    def score_samples(self, references: Sequence[str], answers: Sequence[str]) -> list[SampleScore]:
        """See :class:`ToolEvalEvaluator`."""
        trajectories = [success.parse_trajectory(reference) for reference in references]
        finals = [
            clean(Answer('', stored.infra) if stored.infra and not answer else answer)
            for stored, answer in zip(trajectories, answers, strict=True)
        ]
        file = self.judgement_file()
        if file:
            ids = [trajectory.id for trajectory in trajectories]
            judgements = self.stored(success.load_judgements(file), file, ids, success.with_answers)
        else:
            judgements = self._asked(trajectories, finals)
        scores = success.score_trajectories(trajectories, finals, judgements, self.mend_unjudged())
        self.keep_rows(success.judgement_rows(scores))
        return list(scores)

    def _asked(self, trajectories: Sequence[success.Trajectory], answers: Sequence[Answer]) -> list[success.Judgement]:
        judged = {
            trajectory.id: (trajectory.query, answer)
            for trajectory, answer in zip(trajectories, answers, strict=True)
            if not why_unread(answer)
        }
        items = [JudgeItem(record_id, success.judge_prompt(*pair)) for record_id, pair in judged.items()]
        verdicts, faults = self.ask(items, success.parse_verdict, 'judge-success')
        return [
            success.judgement_of(record_id, verdicts.get(record_id, Unread(faults.get(record_id, ''))), digest)
            for record_id, digest in ((record_id, answer_digest(answer)) for record_id, (_, answer) in judged.items())
        ]
