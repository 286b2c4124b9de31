"""Registered evaluator of agents with a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass.registry import ICL_EVALUATORS

from opencompass_tooleval.agents.adapter import ToolEvalAgentEvaluator
from opencompass_tooleval.agents.scoring.scoring import AgentScore
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.grading import AgentGrading, JudgeSettings
from opencompass_tooleval.agents.toolbench.judge_prompts import prompt_hash
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer, of_score
from opencompass_tooleval.agents.toolbench.judged_scores import METRICS, Judged, JudgedAgentScorer
from opencompass_tooleval.agents.toolbench.judgements import WIN_AREA
from opencompass_tooleval.agents.toolbench.references import load_references
from opencompass_tooleval.agents.toolbench.solved import TIMES
from opencompass_tooleval.agents.toolbench.win import COMPARISONS, RANDOM, STABLETOOLBENCH
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.statistics.trials import BinaryMetrics
from opencompass_tooleval.evaluators.judged_evaluator import JudgedEvaluator
from opencompass_tooleval.work_dir.work_dir import ResultPath


@ICL_EVALUATORS.register_module()
class ToolEvalAgentJudgedEvaluator(JudgedAgentScorer, ToolEvalAgentEvaluator, JudgedEvaluator):
    """Scores one subset without a judge, and adds a judge's scores.

    Args:
        name: The subset, as for :class:`ToolEvalAgentEvaluator`.
        judge_cfg: The judge, as for :class:`JudgedEvaluator`.
        judgements: Replaces the judge, as for :class:`JudgedEvaluator`.
        judgement_kinds: Kinds of judgements: any of ``solved``, ``pass``, ``win`` and ``success``.
        judgements_per_answer: Number of judgements of each answer, for ``solved`` and ``pass``.
        reference: For ``win``, the answers to compare with: another model's folder of predictions, a predictions
            file, or published answers in ToolBench's format.
        comparisons_per_answer: Number of comparisons of each answer with the reference.
        answer_order: The order in which the judge sees two answers: ``random``, as published, or ``both``.
        seed: Seed of random choices.
        win_rule: The rule for ``win``: ``stabletoolbench``, or ``toolbench``, by which an answer that passes beats one
            that does not.
        function_calls: True if the judge calls a function natively, as ToolBench's does; False for a reply in JSON.

    Raises:
        ValueError: The judge, or the reference for ``win``, is missing, or a setting is invalid.
    """

    def __init__(
        self,
        name: str,
        judge_cfg: Mapping[str, Any] | None = None,
        judgements: str | Mapping[str, str] | None = None,
        judgement_kinds: Sequence[str] = ('solved',),
        judgements_per_answer: int = TIMES,
        reference: str | None = None,
        comparisons_per_answer: int = COMPARISONS,
        answer_order: str = RANDOM,
        seed: int = 0,
        win_rule: str = STABLETOOLBENCH,
        function_calls: bool = False,
    ) -> None:
        ToolEvalAgentEvaluator.__init__(self, name)
        JudgedEvaluator.__init__(self, judge_cfg, judgements)
        self.need_judge("agents' answers")
        self.settings = JudgeSettings(
            tuple(judgement_kinds),
            judgements_per_answer,
            comparisons_per_answer,
            answer_order,
            seed,
            win_rule,
            function_calls,
        )
        self.kinds = self.settings.kinds
        self.reference = Path(reference) if reference else None
        if WIN_AREA in judgement_kinds and not (self.reference or self.judgements):
            raise ValueError('win compares with other answers: set reference')
        self._about = self.settings.to_row()

    @property
    def binary_metrics(self) -> BinaryMetrics:
        """The condition for a correct sample; the solved rate of one answer may be between 0 and 1."""
        rule = super().binary_metrics
        return BinaryMetrics((*rule.metrics, *(METRICS[kind] for kind in self.settings.whole)), rule.success)

    def check_model(self, model: str) -> None:
        """Checks the judgements and the reference of a model, before inference.

        Raises:
            DataError: The reference is missing.
        """
        super().check_model(model)
        if self.reference and not self.reference.exists():
            raise DataError(self.reference, 'the reference is missing')

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {**super().provenance(), **self.judge_provenance(prompt_hash()), **self._about}

    def judged(self, tasks: Sequence[Task], scores: Sequence[AgentScore]) -> Sequence[Judged]:
        """Judges trajectories, from a file of judgements or with the judge."""
        runs = [of_score(task, score) for task, score in zip(tasks, scores, strict=True)]
        compares = WIN_AREA in self.settings.kinds
        grading = AgentGrading(runs, self.settings, self._references(tasks) if compares and self.reference else {})
        judged = self.graded(grading, f'agents-{self.subset.name}')
        if compares:
            reference = str(self.reference) if self.reference else None
            self._about |= {'reference': reference, 'reference_digest': grading.reference_digest}
        return judged

    def _references(self, tasks: Sequence[Task]) -> dict[str, JudgedAnswer]:
        assert self.reference is not None
        result_path = ResultPath.of(self)
        return load_references(self.reference, tasks, result_path.dataset if result_path else None)
