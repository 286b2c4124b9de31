"""``tooleval score funcqa``: stored trajectories, and the authors' logs, to numbers, without OpenCompass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from opencompass_tooleval.cli.funcqa_files import DATA_PATH
from opencompass_tooleval.cli.output import STDOUT, check_outputs, counts_line, print_metrics, write_outputs
from opencompass_tooleval.cli.right_subset import check_name, warn_if_unread
from opencompass_tooleval.core.aggregate import aggregate
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.easytool.funcqa import VERSION
from opencompass_tooleval.easytool.funcqa.logs import LoggedQuestion, count_labels, load_log
from opencompass_tooleval.easytool.funcqa.records import CURE, TABLE, Record, Subset, find_subset, load_records
from opencompass_tooleval.easytool.funcqa.scoring import (
    ACCURACY,
    QuestionScore,
    breakdown,
    score_predictions,
    score_trajectory,
)
from opencompass_tooleval.host.data_path import resolve_data_path
from opencompass_tooleval.sweep.recorded import load_recorded


@dataclass(frozen=True)
class FuncQARequest:
    """What ``tooleval score funcqa`` was asked; the fields are its options.

    Attributes:
        subset: ``one_hop`` or ``multi_hop``.
        predictions: The trajectories: a predictions file, any other recorded answers that hold their JSON, or a log
            of the authors.
        data: The records; None finds them where ``prepare`` puts them.
        gold: ``official`` or ``repaired``.
        json_out: File for the result, or ``-``.
        details: File for one JSON line per question.
    """

    subset: str
    predictions: Path
    data: Path | None = None
    gold: str = 'official'
    json_out: str | None = None
    details: Path | None = None


_PUBLISHED_ERROR = 2.34
"""Table 6, ChatGPT with EasyTool, over both subsets."""


def _print(result: dict[str, Any], expected: int) -> None:
    console = Console()
    what = "the authors' log" if 'log' in result else ', '.join(result['methods'])
    title = f'FuncQA {result["subset"]}, {what}, {result["gold"]} gold, {result["samples"]} questions'
    print_metrics(title, result, console)
    for name in ('reasons', 'tool_calls', 'tool_errors', 'tools'):
        console.print(counts_line(name, result[name]), markup=False)
    for line in _about_log(result):
        console.print(line, markup=False, soft_wrap=True)
    if result['samples'] != expected:
        console.print(f'NOTE {result["samples"]} questions of {expected}: not comparable with the paper', markup=False)


def _about_log(result: dict[str, Any]) -> Iterator[str]:
    log, labels = result.get('log'), result.get('labels')
    if log is None:
        return
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


def score_funcqa(request: FuncQARequest) -> None:
    """Scores trajectories and prints or writes what was asked for.

    Raises:
        DataError: A file is missing or damaged, they do not belong together, or a prediction is no trajectory.
        ValueError: No such subset or gold.
    """
    check_outputs(request.json_out, request.details)
    subset = find_subset(request.subset)
    data = request.data or resolve_data_path(f'{DATA_PATH}/{subset.file}', CURE)
    records = load_records(data, subset.name, request.gold)
    logged = load_log(request.predictions, records)
    scores = _score(records, request.predictions, subset) if logged is None else _score_log(records, logged)
    total = aggregate(scores, subset.metrics)
    result = {
        'benchmark': 'funcqa',
        'subset': subset.name,
        'gold': request.gold,
        'version': VERSION,
        'samples': total.samples,
        'metrics': total.metrics,
        'standard_errors': total.standard_errors,
        'reasons': total.reasons,
        **breakdown(scores),
        **({} if logged is None else _log_result(logged, scores)),
    }
    write_outputs(result, scores, request.json_out, request.details)
    if request.json_out != STDOUT:
        _print(result, subset.count)


def _score(records: Sequence[Record], predictions: Path, subset: Subset) -> list[QuestionScore]:
    recorded = load_recorded(predictions)
    recorded.check_complete([record.id for record in records])
    check_name(predictions, subset.name, [row.name for row in TABLE], recorded=recorded)
    answers = [recorded.answer(record.id, position) for position, record in enumerate(records)]
    try:
        scores = score_predictions(records, answers)
    except ValueError as error:
        raise DataError(predictions, str(error)) from error
    warn_if_unread(scores, predictions, subset.name)
    return scores


def _score_log(records: Sequence[Record], logged: Sequence[LoggedQuestion]) -> list[QuestionScore]:
    return [score_trajectory(record, question.trajectory) for record, question in zip(records, logged, strict=True)]


def _log_result(logged: Sequence[LoggedQuestion], scores: Sequence[QuestionScore]) -> dict[str, Any]:
    labels = count_labels(logged, [bool(score.values[ACCURACY]) for score in scores])
    return {
        'labels': labels.to_dict() if labels else None,
        'log': {
            'questions_with_error': sum(bool(question.trajectory.tool_errors) for question in logged),
            'questions_with_discarded_try': sum(bool(question.discarded) for question in logged),
            'discarded_tries': sum(question.discarded for question in logged),
            'differing_results': sum(question.differing for question in logged),
        },
    }
