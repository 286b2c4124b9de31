"""Scores stored trajectories of FuncQA, and logs of EasyTool's authors, for ``tooleval score``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from opencompass_tooleval.benchmarks.funcqa import VERSION
from opencompass_tooleval.benchmarks.funcqa.files import DATA_PATH
from opencompass_tooleval.benchmarks.funcqa.logs import LoggedQuestion, count_labels, load_log
from opencompass_tooleval.benchmarks.funcqa.records import FIX, Record, find_subset, load_records
from opencompass_tooleval.benchmarks.funcqa.scoring import (
    ACCURACY,
    QuestionScore,
    breakdown,
    score_predictions,
    score_trajectory,
    tool_errors,
)
from opencompass_tooleval.benchmarks.funcqa.tables import BENCHMARK
from opencompass_tooleval.catalogue.benchmark import ScoredAnswers
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.aggregate import aggregate
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.work_dir.right_subset import load_answers

_PUBLISHED_ERROR = 2.34
"""Published error rate in Table 6, for ChatGPT with EasyTool, over both subsets."""


def _about_log(log: Mapping[str, Any], labels: Mapping[str, Any] | None) -> Iterator[str]:
    if labels is None:
        yield 'labels: none; accuracy above is a rule, not what the authors call right'
    else:
        share = f'{labels["right"]} of {labels["questions"]} = {labels["accuracy"]:.2f}'
        yield f"labels: {share}, the sum that the paper reports; accuracy's rule gives {labels['agreeing']} of them"
    yield (
        f'tool errors: {log["questions_with_error"]} questions have a call that a tool refuses, '
        f'{log["questions_with_discarded_try"]} a try that was discarded for reasons the log does not hold; '
        f'the paper has {_PUBLISHED_ERROR}% over both subsets'
    )
    yield f'results: {log["differing_results"]} logged ones are not what the tools give'


def _score_recorded(records: Sequence[Record], predictions: Path, subset: str) -> list[QuestionScore]:
    answers = load_answers(predictions, subset, BENCHMARK.subsets, [record.id for record in records])
    try:
        return score_predictions(records, answers)
    except ValueError as error:
        raise DataError(predictions, str(error)) from error


def _log_result(logged: Sequence[LoggedQuestion], scores: Sequence[QuestionScore]) -> dict[str, Any]:
    labels = count_labels(logged, [bool(score.values[ACCURACY]) for score in scores])
    return {
        'labels': labels.to_dict() if labels else None,
        'log': {
            'questions_with_error': sum(bool(tool_errors(question.trajectory)) for question in logged),
            'questions_with_discarded_try': sum(bool(question.discarded) for question in logged),
            'discarded_tries': sum(question.discarded for question in logged),
            'differing_results': sum(question.differing for question in logged),
        },
    }


def score(
    subset: str,
    predictions: Path,
    *,
    data: Annotated[Path | None, "FuncQA's data file; by default where prepare puts it."] = None,
    gold: Annotated[
        Literal['official', 'repaired'], 'repaired fixes the wrong answers of the published data.'
    ] = 'official',
) -> ScoredAnswers:
    """Scores trajectories: a predictions file, other recorded answers with their JSON, or a log of the authors.

    Raises:
        DataError: A file is missing or damaged, they do not belong together, or a prediction is no trajectory.
        ValueError: There is no such subset.
    """
    row = find_subset(subset)
    records = load_records(data or resolve_data_path(f'{DATA_PATH}/{row.file}', FIX), subset, gold)
    logged = load_log(predictions, records)
    if logged is None:
        scores, of_log, lines = _score_recorded(records, predictions, subset), {}, []
    else:
        pairs = zip(records, logged, strict=True)
        scores = [score_trajectory(record, question.trajectory) for record, question in pairs]
        of_log = _log_result(logged, scores)
        lines = list(_about_log(of_log['log'], of_log['labels']))
    counted = breakdown(scores)
    what = ', '.join(counted['methods']) if logged is None else "the authors' log"
    return ScoredAnswers(
        scores,
        aggregate(scores, row.metrics),
        f'{subset}, {what}, {gold} gold',
        {'gold': gold, 'version': VERSION},
        {**counted, **of_log},
        counts=('tool_calls', 'tool_errors', 'tools'),
        lines=lines,
        expected=row.count,
        unit='questions',
    )
