"""Scores recorded agents for ``tooleval score agents``: predictions, and runs in ToolBench's format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from opencompass_tooleval.agents import VERSION
from opencompass_tooleval.agents.scoring.breakdown import breakdown, settings_of
from opencompass_tooleval.agents.scoring.scoring import OF_REPAIRED, AgentScore, score_predictions, score_trajectory
from opencompass_tooleval.agents.tables import BENCHMARK
from opencompass_tooleval.agents.tasks.records import FIX_DATA, find_subset, load_data
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.answers import StoredAnswer, stored_answer
from opencompass_tooleval.agents.toolbench.judged_answer import of_run, of_score
from opencompass_tooleval.agents.toolbench.judged_scores import breakdown as judged_breakdown
from opencompass_tooleval.agents.toolbench.judged_scores import metrics_of, with_judged
from opencompass_tooleval.agents.toolbench.recorded_judgements import judged_by_files, judged_lines
from opencompass_tooleval.benchmarks.toolbench.trajectories import holds_runs, load_runs
from opencompass_tooleval.catalogue.benchmark import ScoredAnswers
from opencompass_tooleval.core.calls.observation import SIMULATED
from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.core.scoring.aggregate import aggregate
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.work_dir.right_subset import load_answers as load_predictions

_RETRIEVED = 'retrieve'
"""Part of the file name of a method that retrieves tools: its calls name APIs without their tool."""


def _score_predictions(tasks: Sequence[Task], predictions: Path, subset: str) -> list[AgentScore]:
    answers = load_predictions(predictions, subset, BENCHMARK.subsets, [task.id for task in tasks])
    try:
        return score_predictions(tasks, answers)
    except ValueError as error:
        raise DataError(predictions, str(error)) from error


def _score_stored(
    tasks: Sequence[Task], stored: Sequence[StoredAnswer], predictions: Path, are_judged: bool
) -> list[AgentScore]:
    """Scores every run of a file; the needed tools of tasks outside the data are unknown.

    If there are judgements, the tasks may be any.
    """
    known = {task.id: task for task in tasks}
    missing = sorted(known.keys() - {answer.task.id for answer in stored})
    if missing and not are_judged:
        raise DataError(predictions, f'{len(missing)} of {len(known)} tasks have no run: {first_of(missing)}')
    return [score_trajectory(_task_of(answer, known), answer.trajectory) for answer in stored]


def _task_of(answer: StoredAnswer, known: Mapping[str, Task]) -> Task:
    task = known.get(answer.task.id, answer.task)
    return replace(task, gold=None, relevant=()) if _is_retrieved(answer) else task


def _is_retrieved(answer: StoredAnswer) -> bool:
    return _RETRIEVED in str(answer.trajectory.settings.get('method', '')).casefold()


def _notes(scores: Sequence[AgentScore], tasks: Sequence[Task], stored: Sequence[StoredAnswer]) -> Iterator[str]:
    known = {task.id for task in tasks}
    missing = len(known - {answer.task.id for answer in stored}) if stored else 0
    if missing:
        yield f'{missing} of {len(known)} tasks have no run: not comparable with those of all'
    others = sum(answer.task.id not in known for answer in stored)
    if others:
        yield (
            f'{others} of {len(stored)} runs are of tasks that the data does not have: what they need is not known; '
            f'recall, precision and F1 are of the other {len(stored) - others}, all else, reasons too, of all runs'
        )
    if any(map(_is_retrieved, stored)):
        yield 'calls of retrieved tools name an API without its tool: whether it is a needed one is not known'
    if stored:
        yield 'observations are those of the file'


def _lines(counted: Mapping[str, Any], stored: Sequence[StoredAnswer]) -> Iterator[str]:
    for what in ('steps', 'calls'):
        numbers = counted[what]
        if numbers:
            yield (
                f'{what}: {numbers["total"]}, {numbers["mean"]:.2f} per task '
                f'(median {numbers["p50"]}, 95th percentile {numbers["p95"]})'
            )
    answered = {source: f'{share:.1%}' for source, share in counted['shares'].items() if share}
    if answered:
        yield 'observations: ' + ', '.join(f'{source} {share}' for source, share in answered.items())
    if beside := counted.get('repaired'):
        metrics = ', '.join(f'{metric} {beside[metric]:.2f}' for metric in OF_REPAIRED if beside[metric] is not None)
        yield (
            f'{beside["calls"]} gold calls of {beside["tasks"]} tasks equal no call by the documentation; '
            f'repaired: {metrics}'
        )
    if counted['sources'][SIMULATED]:
        yield 'simulated by: ' + ', '.join(f'{name} {count}' for name, count in counted['simulated_by'].items())


def score(
    subset: str,
    predictions: Path,
    *,
    data: Annotated[Path | None, 'The data file; by default where prepare puts it.'] = None,
    judgements: Annotated[
        Path | None,
        "What a judge said: a file of ours, or ToolBench's pass_rate_results.",
    ] = None,
    preferences: Annotated[Path | None, "Beside it, ToolBench's preference_results."] = None,
) -> ScoredAnswers:
    """Scores trajectories: a predictions file, or runs in ToolBench's format (``.json``, ``.json.gz``).

    Raises:
        DataError: A file is missing or damaged, files do not belong together, or a prediction is no trajectory.
        UnjudgedError: More than 1% of the judgements are missing.
        ValueError: There is no such subset, or there are preferences without judgements.
    """
    if preferences and not judgements:
        raise ValueError('--preferences stand beside --judgements; alone they are judgements themselves')
    row = find_subset(subset)
    tasks = load_data(data or resolve_data_path(f'{row.folder}/{row.file}', FIX_DATA), subset).tasks
    runs = load_runs(predictions) if holds_runs(predictions) else []
    stored = list(map(stored_answer, runs))
    scores = (
        _score_stored(tasks, stored, predictions, judgements is not None)
        if stored
        else _score_predictions(tasks, predictions, subset)
    )
    counted, settings = breakdown(scores), settings_of(scores)
    lines, metrics = list(_lines(counted, stored)), row.metrics
    if judgements:
        scored_tasks = () if runs else zip(tasks, scores, strict=True)
        answers = [*map(of_run, runs), *(of_score(task, score) for task, score in scored_tasks)]
        judged, kinds = judged_by_files(answers, judgements, preferences)
        scores = [with_judged(score, one) for score, one in zip(scores, judged, strict=True)]
        counted |= {'judge': judgements.name, 'judged': judged_breakdown(judged)}
        lines += judged_lines(judged, judgements.name)
        metrics = (*metrics, *metrics_of(kinds))
    return ScoredAnswers(
        scores,
        aggregate(scores, metrics),
        f'{subset}, {settings.get("loop", "no answers")}',
        {'version': VERSION, **settings},
        counted,
        counts=tuple(name for name in ('errors', 'stopped') if counted[name]),
        lines=lines,
        notes=list(_notes(scores, tasks, stored)),
        expected=None if stored else row.tasks or None,
        unit='tasks',
    )
