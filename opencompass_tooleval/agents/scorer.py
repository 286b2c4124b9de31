"""Scores agents' trajectories, with the settings that the scores depend on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opencompass_tooleval.agents import VERSION
from opencompass_tooleval.agents.scoring.breakdown import breakdown, settings_of
from opencompass_tooleval.agents.scoring.scoring import AgentScore, score_predictions
from opencompass_tooleval.agents.tasks.records import find_subset
from opencompass_tooleval.agents.tasks.task import Task, parse_task
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.scoring.scorer import Scorer


class AgentScorer(Scorer):
    """Scores the trajectories of one subset, without a judge.

    Args:
        subset: Row of the table: ``teval``, ``toolbench_g1``, ...
    """

    def __init__(self, subset: str) -> None:
        self.subset = find_subset(subset)
        self._scores: list[AgentScore] = []

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {'benchmark': 'agents', 'subset': self.subset.name, 'version': VERSION, **settings_of(self._scores)}

    breakdown = staticmethod(breakdown)
    read_record = staticmethod(parse_task)

    def score_records(self, records: Sequence[Task], answers: Sequence[Answer]) -> Sequence[AgentScore]:
        """Scores trajectories against tasks."""
        scores = score_predictions(records, answers)
        self._scores += scores
        return scores
