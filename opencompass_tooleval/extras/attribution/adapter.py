"""Adds the errors of servers to a result, and scores answers as the model wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opencompass.utils import get_logger

from opencompass_tooleval.core.calls.answer import CALLS
from opencompass_tooleval.core.calls.observed import OBSERVED
from opencompass_tooleval.core.calls.tool_calls import calls_payload
from opencompass_tooleval.core.scoring.result import SampleScore, with_runs
from opencompass_tooleval.core.scoring.scorer import Scored
from opencompass_tooleval.evaluators.evaluator import ToolEvalEvaluator, part_of
from opencompass_tooleval.extras.attribution.causes import NAMES, SERVING, UNKNOWN, Attribution, Written
from opencompass_tooleval.extras.attribution.points import faults_payload, of_sample
from opencompass_tooleval.extras.attribution.reading import attribution_of_row
from opencompass_tooleval.work_dir.run_context import run_context
from opencompass_tooleval.work_dir.work_dir import ResultPath

_MOST_NOTES = 10


def add_faults(
    evaluator: ToolEvalEvaluator,
    result: dict[str, Any],
    runs: Sequence[Scored],
    positions: Sequence[Sequence[int]],
    columns: Mapping[str, Any],
) -> None:
    """Adds the server's errors, and the scores of the answers as written, to a result and its details.

    The errors are read from the predictions beside the result, since OpenCompass's task only passes columns that all
    rows have.
    """
    result_path = ResultPath.of(evaluator)
    stored = result_path.rows_with(OBSERVED, SERVING) if result_path else {}
    attributions = [attribution_of_row(stored.get(key)) for key, _ in with_runs(columns['record_id'], str)]
    if not any(attributions):
        return
    _log_notes(attributions)
    again: dict[int, SampleScore] = {}
    for rows in positions if evaluator.can_score_again else ():
        written = {row: one.written for row in rows if (one := attributions[row]) and one.written is not None}
        again |= _score_written(evaluator, columns, written) if written else {}
    second = [
        [again.get(row, score) for row, score in zip(rows, run.scores, strict=True)]
        for run, rows in zip(runs, positions, strict=True)
    ]
    order = [row for rows in positions for row in rows]
    result[SERVING] = faults_payload(evaluator, result, second if again else (), [attributions[row] for row in order])
    result['details'] = result.pop('details')  # stays last
    for detail, row in zip(result['details'], order, strict=True):
        if fault := of_sample(attributions[row], again.get(row)):
            detail[SERVING] = fault


def _log_notes(attributions: Sequence[Attribution | None]) -> None:
    """Logs why answers are unknown, and what the names of all calls have in common, each note once."""
    notes: dict[str, None] = {}
    for one in attributions:
        if one and one.note:
            _, names, more = one.note.partition(NAMES)
            notes[one.note if one.cause == UNKNOWN else f'{names}{more}'] = None
    for note in [note for note in notes if note][:_MOST_NOTES]:
        get_logger().warning(f'attribution: {note}')


def _score_written(
    evaluator: ToolEvalEvaluator, columns: Mapping[str, Any], written: Mapping[int, Written]
) -> dict[int, SampleScore]:
    """Scores some rows with the answers that the model wrote."""
    answers = list(written.values())
    texts = (run_context().postprocess or evaluator.scored_parts)([answer.text for answer in answers])
    part = {key: part_of(value, list(written)) for key, value in columns.items()}
    part |= {'predictions': list(texts), 'infra': [None] * len(answers)}
    if CALLS in part:
        part[CALLS] = [calls_payload(answer.calls) for answer in answers]
    scores = evaluator.summarize(evaluator.score(**part), part['record_id']).scores
    return dict(zip(written, scores, strict=True))
