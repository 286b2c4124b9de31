"""Base class of evaluators that use a judge: a model, or files of judgements."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from opencompass_tooleval.core.model_name import model_name
from opencompass_tooleval.core.scoring.usage import Usage
from opencompass_tooleval.core.scoring.usage_summary import other_row
from opencompass_tooleval.embedding.locate import default_cache
from opencompass_tooleval.evaluators.evaluator import ToolEvalEvaluator
from opencompass_tooleval.judging.grading import Grading, R, S
from opencompass_tooleval.judging.judge import Judge, judge_cfg_from_env, judge_settings
from opencompass_tooleval.judging.judgement import F
from opencompass_tooleval.judging.judgement_files import JudgementFiles
from opencompass_tooleval.work_dir.whole_file import write_whole
from opencompass_tooleval.work_dir.work_dir import ResultPath


class JudgedEvaluator(ToolEvalEvaluator):
    """Base class of evaluators that use a judge.

    Args:
        judge_cfg: Config of the judge, any OpenCompass model. The default is the model in ``$OC_JUDGE_MODEL``,
            ``$OC_JUDGE_API_KEY`` and ``$OC_JUDGE_API_BASE``.
        judgements: Used instead of a judge: a file of judgements, a path with ``{model}`` (the model's abbr), or a
            mapping from abbr to file.
        pred_postprocessor: Argument of :class:`BaseEvaluator`.
    """

    def __init__(
        self,
        judge_cfg: Mapping[str, Any] | None = None,
        judgements: str | Mapping[str, str] | None = None,
        pred_postprocessor: Any = None,
    ) -> None:
        super().__init__(pred_postprocessor)
        self.judgements = JudgementFiles(judgements) if judgements else None
        self.judge_cfg = judge_cfg or judge_cfg_from_env()
        self._judge: Judge | None = None
        self._needs_judge = False
        self._spent: list[Usage | None] = []
        self._asked_keys: set[str] = set()
        self._cached_usages: dict[str, Usage | None] = {}
        self._rows: dict[tuple[str, ...], dict[str, Any]] = {}

    def need_judge(self, what: str) -> None:
        """Checks that there is a judge or a file of judgements.

        Raises:
            ValueError: There is neither a judge nor a file.
        """
        self._needs_judge = True
        if not self.judgements and not self.judge_cfg:
            raise ValueError(
                f'{what} needs a judge: --judge of tooleval run, judge_cfg or judgements of the evaluator, or one '
                'in the environment. '
                'Fix it with: export OC_JUDGE_MODEL=NAME OC_JUDGE_API_KEY=KEY OC_JUDGE_API_BASE=URL'
            )

    def judge_name(self) -> str:
        """Returns the name of the judge that an evaluation uses; ``''`` if it uses none."""
        asks = self._needs_judge and not self.judgements
        return model_name(cast(Mapping[str, Any], self.judge_cfg)) if asks else ''

    def check_model(self, model: str) -> None:
        """Checks, before inference, that the judgements of a model can be used."""
        if self.judgements:
            self.judgements.check(model)

    def judgement_file(self) -> Path | None:
        """Returns the file of judgements for the scored model; None if a judge is used."""
        result_path = ResultPath.of(self)
        return self.judgements.file_for(result_path.model if result_path else None) if self.judgements else None

    def graded(self, grading: Grading[R, F, S], source: str) -> Sequence[S]:
        """Scores answers with judgements from the file, or from the judge, whose replies are stored next to the result.

        Args:
            grading: The answers.
            source: Name of the dataset, for :class:`Judge`.

        Raises:
            DataError: The file is missing or damaged.
            UnjudgedError: More than 1% of the judgements are missing.
            ValueError: The judgements do not identify the judged answers, and the file is used for several models.
        """
        file, result_path = self.judgement_file(), ResultPath.of(self)
        if self.judgements and file:
            judgements = grading.read(file)
            if result_path and any(judgement.is_silent for judgement in judgements):
                self.judgements.check_owner(result_path)
        else:
            self._judge = judge = Judge(cast(Mapping[str, Any], self.judge_cfg), default_cache(), source)
            judgements = grading.collected(judge.converse(grading.dialogues()))
            self._spent += judge.usages
            self._asked_keys |= judge.asked
            self._cached_usages |= judge.cached_usages
        scores = grading.check(grading.score(judgements), self.fix_for_unjudged())
        if not self.judgements:
            self._keep(grading.rows(judgements))
        return scores

    def other_usage(self) -> list[dict[str, Any]]:
        """Returns the usage of the judge."""
        if not self._judge:
            return []
        cached = [
            usage for key, usage in self._cached_usages.items() if key not in self._asked_keys
        ]  # those requested here were for an earlier trial
        return other_row('judge', self._judge.name, self._spent, self._judge.prices, cached)

    def fix_for_unjudged(self) -> str:
        """Returns advice for when too many samples have no judgement."""
        if self.judgements:
            return (
                f'{self.judgement_file()} has to judge these very answers: give each model its own file, with '
                'judgements={"ABBR": FILE} or {model} in the path, or give judge_cfg in place of judgements.'
            )
        folder = self._judge.folder if self._judge else ''
        return (
            'Evaluate again with opencompass CONFIG -m eval -r TIME: judgements are kept, and only the missing ones '
            f'are requested; or give another judge_cfg. Unreadable replies are in {folder}'
        )

    def judge_provenance(self, prompt: str) -> dict[str, Any]:
        """Returns the judge's part of the provenance.

        Args:
            prompt: Identifies the judge's prompt.
        """
        if self.judgements:
            return {'judge': self.judgements.name, 'judgements': str(self.judgement_file())}
        if not self._judge:
            return {}
        return {
            'judge': self._judge.name,
            'judge_hash': self._judge.settings,
            'judge_settings': judge_settings(cast(Mapping[str, Any], self.judge_cfg)),
            'judge_prompt': prompt,
            'judge_calls': len(self._spent),
        }

    def _keep(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Writes the judge's replies next to the result, in the format of ``judgements=``, once per answer."""
        folder = getattr(self, '_out_dir', None)  # set by OpenCompass's task
        if not folder:
            return
        for row in rows:
            self._rows[tuple(str(row.get(key, '')) for key in ('id', 'step', 'answer_digest'))] = dict(row)
        file = Path(f'{folder}_judgements.jsonl')
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, ''.join(f'{json.dumps(row)}\n' for row in self._rows.values()))
