"""UltraTool as OpenCompass sees it: glue only."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from datasets import Dataset
from opencompass.datasets.base import BaseDataset
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET
from opencompass.utils import get_logger

from opencompass_tooleval.core.aggregate import Aggregate
from opencompass_tooleval.core.result import SampleScore
from opencompass_tooleval.embedding.cache import default_cache
from opencompass_tooleval.host.data_path import resolve_data_path
from opencompass_tooleval.host.evaluator import ToolEvalEvaluator
from opencompass_tooleval.host.instructions import instructions_provenance
from opencompass_tooleval.host.judging import Judge, JudgeItem, judge_cfg_from_env, judge_settings
from opencompass_tooleval.host.whole_file import write_whole
from opencompass_tooleval.ultratool import VERSION
from opencompass_tooleval.ultratool.judge import Judgement, parse_judgement, prompt_hash
from opencompass_tooleval.ultratool.judge_items import items_to_judge, judged_of
from opencompass_tooleval.ultratool.judge_prompts import SYSTEM
from opencompass_tooleval.ultratool.presets import DEFAULT
from opencompass_tooleval.ultratool.prompts import build_prompt, messages_of
from opencompass_tooleval.ultratool.protocol import Protocol, lists_of
from opencompass_tooleval.ultratool.reading import clean
from opencompass_tooleval.ultratool.records import (
    CURE,
    Record,
    data_file,
    find_subset,
    load_example,
    load_records,
    parse_payload,
)
from opencompass_tooleval.ultratool.score_judged import Judged, check_unjudged, judgement_rows, load_judgements
from opencompass_tooleval.ultratool.score_steps import StepsScore
from opencompass_tooleval.ultratool.scoring import aggregate_scores, breakdown, read_answer, score_answers

JUDGED_KINDS = ('planning', 'creation')


def _gold_answer(record: Record) -> str:
    return record.plan or json.dumps(record.raw['reference'], ensure_ascii=False)


@LOAD_DATASET.register_module()
class ToolEvalUltraToolDataset(BaseDataset):
    """One task of UltraTool."""

    @staticmethod
    def load(
        path: str, name: str, language: str, shots: int = 1, preset: str = DEFAULT, example_language: str | None = None
    ) -> Dataset:
        """Loads it.

        Args:
            path: Folder with ``Chinese-dataset`` and ``English-dataset``, such as ``data/ultratool``.
            name: Row of the table, such as ``tool_usage``.
            language: ``zh`` or ``en``.
            shots: 1 puts an example into the prompt, as the authors do; 0 does not.
            preset: ``gpt`` or ``open``; ``gpt`` has a system prompt.
            example_language: Language of the example, by default ``language``. The authors' runs of open models had the
                English one in Chinese prompts.

        Raises:
            DataError: The data is missing or damaged.
            ValueError: There is no such preset.
        """
        file = data_file(resolve_data_path(path, CURE), name, language)
        records = load_records(file, name, language)
        get_logger().info(f'data: {file.resolve()}: {len(records)} records')
        task = find_subset(name).task
        example_file = data_file(resolve_data_path(path, CURE), name, example_language or language)
        example = load_example(example_file, task) if shots else None
        prompts = (messages_of(build_prompt(task, language, record.raw, example), preset) for record in records)
        return Dataset.from_list(
            [
                {
                    'record_id': record.id,
                    'messages': json.dumps(prompt),
                    'record': record.to_payload(),
                    'gold_answer': _gold_answer(record),
                    'source': f'{name}_{language}',
                }
                for record, prompt in zip(records, prompts, strict=True)
            ]
        )


@ICL_EVALUATORS.register_module()
class ToolEvalUltraToolEvaluator(ToolEvalEvaluator):
    """Scores one task of UltraTool.

    Args:
        name: As in :meth:`ToolEvalUltraToolDataset.load`.
        language: As there.
        scoring: ``official`` or ``strict``.
        lists: ``last`` or ``span``: which list counts in an answer with several; by default the preset's.
        preset: ``gpt`` or ``open``, as the data set has it: it fixes ``lists``, and the result says it.
        judge_cfg: Planning and tool creation: the judge, any model of OpenCompass; by default the one that
            ``$OC_JUDGE_MODEL``, ``$OC_JUDGE_API_KEY`` and ``$OC_JUDGE_API_BASE`` name.
        judgements: A file of judgements in place of a judge.
        instructions: The file of instructions that the data set was run with, for the result to name.
        pred_postprocessor: As :class:`BaseEvaluator`.

    Raises:
        ValueError: A judge is needed and there is none, or ``lists`` is not the preset's.
    """

    def __init__(
        self,
        name: str,
        language: str,
        scoring: str = 'official',
        lists: str | None = None,
        judge_cfg: Mapping[str, Any] | None = None,
        judgements: str | None = None,
        instructions: str | None = None,
        preset: str | None = None,
        pred_postprocessor: Any = None,
    ) -> None:
        super().__init__(pred_postprocessor)
        self.subset, self.language = find_subset(name), language
        self.preset = preset or DEFAULT
        self.rules = Protocol(scoring, lists_of(preset, lists))
        self.instructions = instructions
        self.judgements = Path(judgements) if judgements else None
        self.judge_cfg = judge_cfg or judge_cfg_from_env()
        if self.subset.kind in JUDGED_KINDS and not self.judgements and not self.judge_cfg:
            raise ValueError(
                f'UltraTool {name} needs a judge: give judge_cfg or judgements, or set '
                'OC_JUDGE_MODEL, OC_JUDGE_API_KEY and OC_JUDGE_API_BASE'
            )
        self._judge: Judge[Judgement] | None = None
        self._calls = 0
        self._rebuilt = False
        self._golds: set[str] = set()

    @property
    def metrics(self) -> Sequence[str]:
        """See :class:`ToolEvalEvaluator`."""
        return self.subset.metrics

    def provenance(self) -> dict[str, Any]:
        """See :class:`ToolEvalEvaluator`."""
        said: dict[str, Any] = {
            'benchmark': 'ultratool',
            'subset': self.subset.name,
            'language': self.language,
            'scoring': self.rules.scoring,
            'preset': self.preset,
            'lists': self.rules.lists,
            'rebuilt': self._rebuilt,
            'gold': ', '.join(sorted(self._golds)),
            'version': VERSION,
            **instructions_provenance(self.instructions),
        }
        if self.judgements:
            said['judge'] = str(self.judgements)
        elif self._judge:
            said['judge'] = self._judge.name
            said['judge_hash'] = self._judge.settings
            said['judge_settings'] = judge_settings(cast(Mapping[str, Any], self.judge_cfg))
            said['judge_prompt'] = prompt_hash(self.subset.task, self.language)
            said['judge_calls'] = self._calls
        return said

    def total(self, scores: Sequence[SampleScore]) -> Aggregate:
        """See :class:`ToolEvalEvaluator`."""
        return aggregate_scores(cast(Sequence[StepsScore], scores), self.metrics)

    def breakdown(self, scores: Sequence[SampleScore]) -> dict[str, Any]:
        """See :class:`ToolEvalEvaluator`."""
        return breakdown(cast(Sequence[StepsScore], scores), self.metrics)

    def score_samples(self, references: Sequence[str], answers: Sequence[str]) -> list[SampleScore]:
        """See :class:`ToolEvalEvaluator`."""
        records = [parse_payload(reference, self.subset.name) for reference in references]
        self._rebuilt = self._rebuilt or any(record.rebuilt for record in records)
        self._golds.update(record.gold for record in records)
        answers = [clean(answer) for answer in answers]
        judgements = self._judgements(records, answers) if self.subset.kind in JUDGED_KINDS else None
        scores = score_answers(records, answers, self.rules, judgements)
        check_unjudged([(score.id, step) for score in scores for step in score.steps])
        if self._judge:
            self._keep_judgements(scores)
        return list(scores)

    def _keep_judgements(self, scores: Sequence[StepsScore]) -> None:
        """Writes the judgements beside the result, as ``judgements=`` and ``tooleval agreement`` take them."""
        folder = getattr(self, '_out_dir', None)  # set by OpenCompass's task
        if folder:
            file = Path(f'{folder}_judgements.jsonl')
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, ''.join(f'{json.dumps(row)}\n' for row in judgement_rows(scores)))

    def _judgements(self, records: Sequence[Record], answers: Sequence[str]) -> list[Judged]:
        if self.judgements:
            return load_judgements(self.judgements, self.subset, self.rules)
        task = self.subset.task
        cfg = cast(Mapping[str, Any], self.judge_cfg)
        self._judge = Judge(cfg, default_cache(), self._read, f'judge-{task}-{self.language}')
        items = [
            item
            for record, answer in zip(records, answers, strict=True)
            for item in items_to_judge(record, read_answer(self.subset, answer, self.rules), self.rules)
        ]
        verdicts = self._judge.judge([JudgeItem(item.id, item.prompt, SYSTEM) for item in items if item.prompt])
        self._calls += self._judge.calls
        return [judged_of(item, verdicts.get(item.id)) for item in items]

    def _read(self, reply: str) -> Judgement | None:
        judgement = parse_judgement(reply, self.subset.task)
        return None if judgement.fault else judgement
