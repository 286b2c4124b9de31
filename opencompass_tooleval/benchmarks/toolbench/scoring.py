"""Scores ToolBench's subsets, with the settings that the scores depend on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opencompass_tooleval.benchmarks.toolbench import VERSION, score_runs, success
from opencompass_tooleval.benchmarks.toolbench.records import find_subset
from opencompass_tooleval.benchmarks.toolbench.request import parse_request
from opencompass_tooleval.benchmarks.toolbench.score_calls import (
    breakdown,
    score_native_requests,
    score_requests,
    total,
)
from opencompass_tooleval.benchmarks.toolbench.score_selection import parse_choice, score_choices
from opencompass_tooleval.benchmarks.toolbench.trajectories import Run
from opencompass_tooleval.core.calls.answer import Answer, clean
from opencompass_tooleval.core.scoring.aggregate import Aggregate
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.core.scoring.scorer import Scorer
from opencompass_tooleval.judging.grading import GradedScorer


class ToolBenchScorer(Scorer):
    """Scores choices or calls.

    Args:
        subset: Row of the table, such as ``selection_5`` or ``calls_g2``.
    """

    def __init__(self, subset: str) -> None:
        self.subset = find_subset(subset)

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {'benchmark': 'toolbench', 'subset': self.subset.name, 'version': VERSION}

    def total(self, scores: Sequence[Any]) -> Aggregate:
        """Aggregates samples; error rates are over all calls."""
        if self.subset.kind == 'calls':
            return total(scores, self.metrics)
        return super().total(scores)

    def breakdown(self, scores: Sequence[Any]) -> dict[str, Any]:
        """Returns the result's parts other than its metrics."""
        return breakdown(scores) if self.subset.kind == 'calls' else {}

    def read_record(self, payload: str) -> Any:
        """Parses a record from the data set's column ``record``."""
        return parse_choice(payload) if self.subset.kind == 'selection' else parse_request(payload)

    def query_of(self, record: Any) -> str:
        """Returns the ``query_id`` of a record, which is unique across ToolBench's groups."""
        return f'toolbench/{record.id}'

    def score_records(self, records: Sequence[Any], answers: Sequence[Answer]) -> Sequence[SampleScore]:
        """Scores answers against records."""
        return score_choices(records, answers) if self.subset.kind == 'selection' else score_requests(records, answers)


class NativeCallsScorer(ToolBenchScorer):
    """Scores native calls."""

    def score_records(self, records: Sequence[Any], answers: Sequence[Answer]) -> Sequence[SampleScore]:
        """Scores native calls against requests."""
        return score_native_requests(records, answers)


class SuccessScorer(ToolBenchScorer, GradedScorer):
    """Scores final answers from judgements, by the rules of UltraTool's judge."""

    def __init__(self) -> None:
        super().__init__('success')

    read_record = staticmethod(success.parse_final_answer)

    def score_records(self, records: Sequence[success.FinalAnswer], answers: Sequence[Answer]) -> Sequence[SampleScore]:
        """Scores final answers."""
        finals = [
            clean(Answer('', stored.infra) if stored.infra and not answer.text else answer)
            for stored, answer in zip(records, answers, strict=True)
        ]
        return self.graded(success.SuccessGrading(records, finals), 'success')


TRAJECTORIES = 'trajectories'
"""Name for scores of stored runs without a judge; it is not an OpenCompass data set."""


class RunsScorer(ToolBenchScorer):
    """Scores stored runs without a judge; each is both record and answer."""

    def __init__(self) -> None:
        self.subset = replace(find_subset('success'), name=TRAJECTORIES, kind='runs', metrics=score_runs.METRICS)

    def score_records(self, records: Sequence[Run], answers: Sequence[Any]) -> Sequence[SampleScore]:
        """Scores runs."""
        return [score_runs.score_run(run) for run in records]

    total = staticmethod(score_runs.total)
    breakdown = staticmethod(score_runs.breakdown)
