"""Registers T-Eval and UltraTool with instructions as OpenCompass data sets, and a summarizer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from datasets import Dataset
from opencompass.registry import LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.benchmarks.teval.data import FIX as TEVAL_FIX
from opencompass_tooleval.benchmarks.teval.data import read_prompt, split_stem
from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalDataset
from opencompass_tooleval.benchmarks.ultratool.data import FIX as ULTRATOOL_FIX
from opencompass_tooleval.benchmarks.ultratool.data import data_file, find_subset, load_example, parse_payload
from opencompass_tooleval.benchmarks.ultratool.prompts import build_prompt, messages_of
from opencompass_tooleval.benchmarks.ultratool.tables import DEFAULT_PROMPT_STYLE
from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolDataset
from opencompass_tooleval.benchmarks.variant_kinds import SUFFIX
from opencompass_tooleval.catalogue.variants import Change
from opencompass_tooleval.core.calls.messages import messages_payload
from opencompass_tooleval.data_path import candidate_paths, resolve_data_path
from opencompass_tooleval.instructions.instruct import Catalogue, check_variant, instruct_teval, instruct_toolset
from opencompass_tooleval.models.dataset import ToolEvalDataset
from opencompass_tooleval.summarizers.variant_summarizer import ToolEvalVariantSummarizer
from opencompass_tooleval.tool_docs.instruction_formats import load_instructions
from opencompass_tooleval.work_dir.data_files import command_to_generate


def load_catalogue(instructions: str, source: str, documentation: Path) -> Catalogue:
    """Reads instructions.

    Args:
        instructions: The file, searched in the places of :func:`~opencompass_tooleval.data_path.candidate_paths`.
        source: Kind of the replaced documentation, an argument of ``tooleval easytool generate``.
        documentation: Path of that documentation.

    Raises:
        DataError: The file is missing or damaged; the error names the command that makes it.
    """
    fix = command_to_generate(source, documentation, candidate_paths(instructions)[0])
    file = resolve_data_path(instructions, fix)
    return Catalogue(load_instructions(file), file, fix)


def _named(data: Dataset, file: Path, prompts: Iterable[list[dict[str, Any]]] | None = None) -> Dataset:
    """Returns the rows with another name for recorded answers, and with other prompts if given."""
    get_logger().info(f'instructions: {file.resolve()}')
    texts = data['messages'] if prompts is None else map(json.dumps, prompts)
    return Dataset.from_list(
        [{**row, 'messages': text, 'source': f'{row["source"]}{SUFFIX}'} for row, text in zip(data, texts, strict=True)]
    )


@LOAD_DATASET.register_module()
class ToolEvalTEvalEasyToolDataset(ToolEvalDataset):
    """One subset of T-Eval with instructions in place of the API documentation."""

    benchmark_of_records = 'teval'

    @staticmethod
    def load(
        path: str,
        name: str,
        instructions: str,
        encoder: str | None = None,
        protocol: str | None = None,
        check_encoder: bool = True,
        change: Change | None = None,
    ) -> Dataset:
        """Loads the subset; only the prompts differ from :meth:`ToolEvalTEvalDataset.load`.

        Args:
            path: Folder, such as ``data/teval/EN`` (below ``$COMPASS_DATA_CACHE``) or ``tooleval:demo/teval/EN``.
            name: File name without ``.json``, such as ``plan_json_v2_zh``.
            instructions: File of instructions, such as ``data/easytool/teval_en_v2.json``.
            encoder: The evaluator's encoder, checked here so that a missing one is reported before inference.
            protocol: The evaluator's protocol.
            check_encoder: True to check that the encoder is on this machine; prompts do not depend on it.
            change: Changes the records with instructions for a variant; configs do not set it.

        Raises:
            ValueError: The subset's prompts contain no documentation.
            DataError: Data or instructions are missing or damaged, or tools have no instruction.
        """
        check_variant('teval', split_stem(name)[0])
        catalogue = load_catalogue(instructions, 'teval', resolve_data_path(path, TEVAL_FIX))

        def instructed(rows: Mapping[str, Any]) -> Mapping[str, Any]:
            prompts = instruct_teval(((record, read_prompt(raw)) for record, raw in rows.items()), catalogue, name)
            payloads = map(messages_payload, prompts)
            changed = {
                record: {**raw, 'origin_prompt': prompt}
                for (record, raw), prompt in zip(rows.items(), payloads, strict=True)
            }
            return change(changed) if change else changed

        data = ToolEvalTEvalDataset.load(path, name, encoder, protocol, check_encoder, instructed)
        return _named(data, catalogue.file)


@LOAD_DATASET.register_module()
class ToolEvalUltraToolEasyToolDataset(ToolEvalDataset):
    """One task of UltraTool with instructions in place of the toolsets."""

    benchmark_of_records = 'ultratool'

    @staticmethod
    def load(
        path: str,
        name: str,
        language: str,
        instructions: str,
        shots: int = 1,
        prompt_style: str = DEFAULT_PROMPT_STYLE,
        change: Change | None = None,
    ) -> Dataset:
        """Loads the task; only the prompts differ from :meth:`ToolEvalUltraToolDataset.load`.

        Args:
            path: Folder with ``Chinese-dataset`` and ``English-dataset``, such as ``data/ultratool``.
            name: Row of the table, such as ``tool_usage``.
            language: ``zh`` or ``en``.
            instructions: File of instructions, such as ``data/easytool/ultratool_zh.json``.
            shots: 1 for an example in the prompt, also with its toolset replaced; 0 for no example.
            prompt_style: ``gpt`` or ``open``; ``gpt`` has a system prompt.
            change: Changes the rows with instructions for a variant, whose records then also have instructions; configs
                do not set it.

        Raises:
            ValueError: The task has no toolset to replace.
            DataError: Data or instructions are missing or damaged, or tools have no instruction.
        """
        check_variant('ultratool', name)
        file = data_file(resolve_data_path(path, ULTRATOOL_FIX), name, language)
        catalogue = load_catalogue(instructions, 'ultratool', file.parent.parent)
        subset = find_subset(name)
        described = subset.kind != 'usage'

        def instruct(row: Mapping[str, Any], record: str) -> dict[str, Any]:
            return instruct_toolset(row, record, catalogue, described)

        def changed(rows: Mapping[str, Any]) -> Mapping[str, Any]:
            instructed = {record: instruct(row, record) for record, row in rows.items()}
            catalogue.check(f'{name}_{language}')
            return change(instructed) if change else instructed

        data = ToolEvalUltraToolDataset.load(
            path, name, language, shots, prompt_style, change=changed if change else None
        )
        example = instruct(load_example(file, subset.task), 'example') if shots else None
        rows = {row['record_id']: parse_payload(row['record'], name).raw for row in data}
        texts = (
            build_prompt(subset.task, language, row, example) for row in (rows if change else changed(rows)).values()
        )
        return _named(data, catalogue.file, (messages_of(text, prompt_style) for text in texts))


class ToolEvalEasyToolSummarizer(ToolEvalVariantSummarizer):
    """:class:`ToolEvalVariantSummarizer` that compares only ``X`` with documentation and ``X-easytool``."""

    kinds = ('easytool',)
