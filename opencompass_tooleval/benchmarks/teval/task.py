"""Registered classes of T-Eval."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET, TEXT_POSTPROCESSORS
from opencompass.utils import get_logger

from opencompass_tooleval.benchmarks.teval.data import (
    Sample,
    find_subset,
    fix_of,
    load_samples,
    native_subset,
    split_stem,
)
from opencompass_tooleval.benchmarks.teval.prompts import AS_CALLS, AS_TEXT, HISTORY, gold_answer, native_samples
from opencompass_tooleval.benchmarks.teval.reading import (
    POSTPROCESSORS,
    postprocess_clean,
    postprocess_v1,
    postprocess_v2,
)
from opencompass_tooleval.benchmarks.teval.scoring import TEvalCallsScorer, TEvalScorer
from opencompass_tooleval.benchmarks.teval.tables import VERSIONS
from opencompass_tooleval.benchmarks.variant_kinds import FUNCTION_CALLING
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.messages import messages_text
from opencompass_tooleval.data_path import instructions_provenance, resolve_data_path
from opencompass_tooleval.evaluators.evaluator import ToolEvalCallsEvaluator, ToolEvalEvaluator, as_dataset
from opencompass_tooleval.models.conversation import TOOLS
from opencompass_tooleval.models.dataset import QUERY, SHOWN, ToolEvalDataset


def _samples(
    path: str, name: str, encoder: str | None, protocol: str | None, check_encoder: bool, change: Change | None
) -> tuple[Path, list[Sample]]:
    """Returns a data file and its samples; optionally checks first that they can be scored."""
    subset, version, language = split_stem(name)
    file = resolve_data_path(path, fix_of(name)) / f'{name}.json'
    if check_encoder:
        TEvalScorer(subset, version, language, protocol, encoder=encoder)
    samples = load_samples(file, subset, version, change)
    published = find_subset(subset).counts.get(version, 'none')
    get_logger().info(f'data: {file.resolve()}: {len(samples)} records (published: {published})')
    return file, samples


@LOAD_DATASET.register_module()
class ToolEvalTEvalDataset(ToolEvalDataset):
    """One subset of T-Eval."""

    benchmark_of_records = 'teval'

    @staticmethod
    def load(
        path: str,
        name: str,
        encoder: str | None = None,
        protocol: str | None = None,
        check_encoder: bool = True,
        change: Change | None = None,
    ) -> Dataset:
        """Loads the subset.

        Args:
            path: Folder, such as ``data/teval/EN`` (below ``$COMPASS_DATA_CACHE``) or ``tooleval:demo/teval/EN``.
            name: File name without ``.json``, such as ``plan_json_v2_zh``.
            encoder: The evaluator's encoder, located here, so that a missing encoder is found before inference.
            protocol: The evaluator's protocol.
            check_encoder: True to locate the encoder; prompts do not depend on it.
            change: Changes the records for a variant; configs do not set it.

        Raises:
            DataError: The data is missing or damaged.
            EncoderMissingError: The evaluator needs an encoder that is not on this machine.
        """
        _, samples = _samples(path, name, encoder, protocol, check_encoder, change)
        return as_dataset(
            [
                {
                    'record_id': sample.record.id,
                    QUERY: sample.record.query or sample.record.id,
                    'messages': messages_text(sample.messages),
                    'record': sample.payload,
                    'gold_answer': gold_answer(sample.record),
                    'source': name,
                }
                for sample in samples
            ]
        )


@ICL_EVALUATORS.register_module()
class ToolEvalTEvalEvaluator(TEvalScorer, ToolEvalEvaluator):
    """Scores one subset of T-Eval.

    Args:
        name: File name without ``.json``, as in :meth:`ToolEvalTEvalDataset.load`.
        protocol: ``v1`` or ``v2``; default: the data version's.
        scoring: ``official`` or ``strict`` (see docs/explanation/teval.md).
        encoder: ``offline``, a folder or a hub id; default ``$TOOLEVAL_ENCODER`` or the official encoder.
        instructions: The data set's file of instructions, for the provenance.
        pred_postprocessor: Argument of :class:`BaseEvaluator`.

    Raises:
        EncoderMissingError: An encoder is needed but is not on this machine.
    """

    def __init__(
        self,
        name: str,
        protocol: str | None = None,
        scoring: str = 'official',
        encoder: str | None = None,
        instructions: str | None = None,
        pred_postprocessor: Any = None,
    ) -> None:
        ToolEvalEvaluator.__init__(self, pred_postprocessor)
        TEvalScorer.__init__(self, *split_stem(name), protocol, scoring, encoder)
        self.instructions = instructions

    def scored_parts(self, texts: list[str]) -> Sequence[str]:
        """Extracts the scored parts with the postprocessor of the data version."""
        postprocess = POSTPROCESSORS[VERSIONS[self.data_version]]
        return [postprocess(Answer(text)).text for text in texts]

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {**super().provenance(), **instructions_provenance(self.instructions)}


@LOAD_DATASET.register_module()
class ToolEvalTEvalFunctionCallingDataset(ToolEvalDataset):
    """A subset of T-Eval whose answers are calls, with native function calling."""

    benchmark_of_records = 'teval'

    @staticmethod
    def load(
        path: str,
        name: str,
        encoder: str | None = None,
        protocol: str | None = None,
        check_encoder: bool = True,
        history: str = AS_CALLS,
        change: Change | None = None,
    ) -> Dataset:
        """Loads the subset.

        Args:
            path: As in :meth:`ToolEvalTEvalDataset.load`, like the next four.
            name: File name without ``.json``.
            encoder: The evaluator's encoder.
            protocol: The evaluator's protocol.
            check_encoder: True to locate the encoder.
            history: Form of the steps so far: ``calls`` for native calls; ``text`` for servers that refuse calls that
                they did not make.
            change: As in :meth:`ToolEvalTEvalDataset.load`.

        Raises:
            DataError: The data is missing or damaged, or a record's prompt does not describe APIs.
            EncoderMissingError: The evaluator needs an encoder that is not on this machine.
            ValueError: The answers of the subset are not calls, or ``history`` is unknown.
        """
        if history not in (AS_CALLS, AS_TEXT):
            raise ValueError(f'{HISTORY} is {history!r}; it is {AS_CALLS!r} or {AS_TEXT!r}')
        subset, _, language = split_stem(name)
        native_subset(subset)
        file, samples = _samples(path, name, encoder, protocol, check_encoder, change)
        return as_dataset(
            [
                {
                    'record_id': sample.record.id,
                    QUERY: sample.record.query or sample.record.id,
                    'messages': messages_text(native.messages),
                    TOOLS: native.tools.to_text(),
                    'record': native.payload,
                    'gold_answer': native.gold_answer,
                    'source': name + FUNCTION_CALLING.suffix,
                    **({} if history == AS_CALLS else {SHOWN: json.dumps({HISTORY: history})}),
                }
                for sample, native in zip(samples, native_samples(samples, language, file, history), strict=True)
            ]
        )


@ICL_EVALUATORS.register_module()
class ToolEvalTEvalFunctionCallingEvaluator(ToolEvalCallsEvaluator, TEvalCallsScorer, ToolEvalTEvalEvaluator):
    """Scores native calls of one subset of T-Eval, with the arguments of :class:`ToolEvalTEvalEvaluator`."""


@TEXT_POSTPROCESSORS.register_module('tooleval_teval_v1')
def tooleval_teval_v1(text: str) -> str:
    """Postprocesses with :func:`~opencompass_tooleval.benchmarks.teval.reading.postprocess_v1`."""
    return postprocess_v1(Answer(text)).text


@TEXT_POSTPROCESSORS.register_module('tooleval_teval_v2')
def tooleval_teval_v2(text: str) -> str:
    """Postprocesses with :func:`~opencompass_tooleval.benchmarks.teval.reading.postprocess_v2`."""
    return postprocess_v2(Answer(text)).text


@TEXT_POSTPROCESSORS.register_module('tooleval_teval_clean')
def tooleval_teval_clean(text: str) -> str:
    """Postprocesses with :func:`~opencompass_tooleval.benchmarks.teval.reading.postprocess_clean`."""
    return postprocess_clean(Answer(text)).text
