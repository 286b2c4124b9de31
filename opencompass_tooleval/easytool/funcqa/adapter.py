"""FuncQA as OpenCompass sees it: glue only."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

from datasets import Dataset
from opencompass.datasets.base import BaseDataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.result import SampleScore
from opencompass_tooleval.core.rounds import Rounds
from opencompass_tooleval.easytool.funcqa import VERSION
from opencompass_tooleval.easytool.funcqa.arithmetic import TOOL_NAMES
from opencompass_tooleval.easytool.funcqa.dialogue import (
    MAX_CALLS,
    MAX_STEPS,
    Options,
    gold_answer,
)
from opencompass_tooleval.easytool.funcqa.methods import METHODS, Method
from opencompass_tooleval.easytool.funcqa.react import react
from opencompass_tooleval.easytool.funcqa.records import MEND, find_subset, load_records, parse_payload
from opencompass_tooleval.easytool.funcqa.scoring import QuestionScore, breakdown, score_predictions
from opencompass_tooleval.easytool.instruction import ToolInstruction
from opencompass_tooleval.easytool.method import MAX_REQUESTS, MAX_TRIES
from opencompass_tooleval.easytool.method_replies import READINGS
from opencompass_tooleval.easytool.shapes import load_instructions, to_entry
from opencompass_tooleval.host.data_path import resolve_data_path
from opencompass_tooleval.host.evaluator import ToolEvalEvaluator


@LOAD_DATASET.register_module()
class ToolEvalFuncQADataset(BaseDataset):
    """One subset of FuncQA."""

    @staticmethod
    def load(path: str, name: str, gold: str = 'official') -> Dataset:
        """Loads it.

        Args:
            path: Folder with ``funcqa_oh.json`` and ``funcqa_mh.json``, such as ``data/funcqa``.
            name: ``one_hop`` or ``multi_hop``.
            gold: ``official``, or ``repaired``: wrong answers mended, see README.md.

        Raises:
            DataError: The data is missing or damaged.
        """
        file = resolve_data_path(path, MEND) / find_subset(name).file
        records = load_records(file, name, gold)
        get_logger().info(f'data: {file.resolve()}: {len(records)} records')
        return Dataset.from_list(
            [
                {
                    'record_id': record.id,
                    'messages': json.dumps([{'role': 'user', 'content': record.question}]),
                    'record': record.to_payload(),
                    'gold_answer': gold_answer(record),
                    'source': f'funcqa_{name}',
                }
                for record in records
            ]
        )


class FuncQADialogues:
    """Begins the dialogues of a method: ``dialogues`` of the inferencer.

    Args:
        method: ``zero_shot``, ``cot``, ``react``, ``easytool`` or ``function_calling``.
        instructions: EasyTool: file with the instructions of the 13 tools.
        max_steps: ReAct and function calling: answers of the model per question at most.
        max_tries: EasyTool: choices of a tool per task at most, until a call gives something (the paper's R).
        max_requests: EasyTool: how often the model is asked at most, until a reply can be read. A model that always
            answers the same (temperature 0) need not be asked more than once.
        max_calls: EasyTool: tries, and calls of tools, per question at most; function calling: calls.
        reading: EasyTool: ``official`` reads replies as the published runs do; ``strict`` also an object in a fence or
            among words.
        rounded: Whether results of tools are rounded as published.

    Raises:
        DataError: There are no such instructions, or a tool lacks one.
        ValueError: No such method or reading, or a bound below 1.
    """

    def __init__(
        self,
        method: str,
        instructions: str | None = None,
        max_steps: int = MAX_STEPS,
        max_tries: int = MAX_TRIES,
        max_requests: int = MAX_REQUESTS,
        max_calls: int = MAX_CALLS,
        reading: str = 'official',
        rounded: bool = True,
    ) -> None:
        if method == 'easytool' and instructions is None:
            raise ValueError('method easytool needs instructions, such as data/easytool/functions_data.json')
        if reading not in READINGS:
            raise ValueError(f'replies are read {" or ".join(READINGS)}, not {reading!r}')
        if min(max_steps, max_tries, max_requests, max_calls) < 1:
            raise ValueError('max_steps, max_tries, max_requests and max_calls are at least 1')
        self._method = _find_method(method)
        tools, source = _load_tools(instructions) if instructions else ({}, '')
        self._options = Options(tools, max_steps, max_tries, max_requests, max_calls, reading, rounded, source)

    def __call__(self, row: Mapping[str, Any]) -> Rounds[str]:
        """Begins the dialogue about one row; it ends in the trajectory's JSON."""
        trajectory = yield from self._method(parse_payload(row['record']), self._options)
        return trajectory.to_json()


def _find_method(name: str) -> Method:
    if name == 'react':
        from opencompass_tooleval.host.lagent_bridge import react_rounds  # the extra `agent`

        return partial(react, agent=react_rounds)
    if name not in METHODS:
        raise ValueError(f'FuncQA has methods react, {", ".join(METHODS)}, not {name!r}')
    return METHODS[name]


def _load_tools(path: str) -> tuple[dict[str, ToolInstruction], str]:
    file = resolve_data_path(path, MEND)
    tools = load_instructions(file)
    missing = [name for name in TOOL_NAMES if name not in tools]
    if missing:
        raise DataError(file, f'there is no instruction of {", ".join(missing)}', mend=MEND)
    for tool in tools.values():
        try:
            to_entry(tool, 'funcqa')
        except ValueError as error:
            raise DataError(file, str(error), tool.name, MEND) from error
    digest = hashlib.blake2b(file.read_bytes(), digest_size=8).hexdigest()
    return tools, f'{file.name} {digest}'


@ICL_EVALUATORS.register_module()
class ToolEvalFuncQAEvaluator(ToolEvalEvaluator):
    """Scores one subset of FuncQA from trajectories.

    Args:
        name: As in :meth:`ToolEvalFuncQADataset.load`.
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.subset = find_subset(name)
        self._golds: set[str] = set()
        self._methods: set[str] = set()
        self._settings: dict[str, Any] = {}

    def provenance(self) -> dict[str, Any]:
        """See :class:`ToolEvalEvaluator`."""
        return {
            'benchmark': 'funcqa',
            'subset': self.subset.name,
            'method': ', '.join(sorted(self._methods)),
            'gold': ', '.join(sorted(self._golds)),
            'version': VERSION,
            **self._settings,
        }

    def breakdown(self, scores: Sequence[SampleScore]) -> dict[str, Any]:
        """See :class:`ToolEvalEvaluator`."""
        return breakdown(cast(Sequence[QuestionScore], scores))

    def score_samples(self, references: Sequence[str], answers: Sequence[str]) -> list[SampleScore]:
        """See :class:`ToolEvalEvaluator`."""
        records = [parse_payload(reference) for reference in references]
        scores = score_predictions(records, answers)
        self._golds.update(record.gold for record in records)
        for score in scores:
            if score.trajectory:
                self._methods.add(score.trajectory.method)
                self._settings |= score.trajectory.settings
        return list(scores)
