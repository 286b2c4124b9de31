"""Reads recorded agents for ``tooleval score agents``: predictions, or runs in ToolBench's format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

from opencompass_tooleval.agents.description import BENCHMARK
from opencompass_tooleval.agents.scorer import AgentScorer
from opencompass_tooleval.agents.scoring.scoring import OF_REPAIRED, AgentScore
from opencompass_tooleval.agents.tasks.records import FIX_DATA, find_subset, load_data
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.answers import StoredAnswer, stored_answer
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer, load_judged_answers, of_run, of_score
from opencompass_tooleval.agents.toolbench.judged_scores import Judged, JudgedAgentScorer
from opencompass_tooleval.benchmarks.toolbench.data import Run, holds_runs, read_runs
from opencompass_tooleval.catalogue.benchmark import RecordedRun
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.observation import SIMULATED
from opencompass_tooleval.core.errors import DataError, first_of
from opencompass_tooleval.data_path import resolve_data_path
from opencompass_tooleval.environments.recordings_toolbench import is_trajectories
from opencompass_tooleval.extras.recorded.right_subset import load_answers, named_subsets
from opencompass_tooleval.extras.recorded.toolbench_judgements import judged_by_files, judged_lines
from opencompass_tooleval.work_dir.recorded import load_recorded

_RETRIEVED = 'retrieve'
"""Part of the file name of a method that retrieves tools: such calls name APIs without their tool."""


class _ScorerByFiles(JudgedAgentScorer):
    """Scores with judgements from files.

    Args:
        subset: Row of the table.
        judgements: A file of ours, or of ToolBench's evaluator.
        preferences: An additional file of ToolBench's preferences.
        runs: The scored runs, if they are in ToolBench's format.
    """

    def __init__(self, subset: str, judgements: Path, preferences: Path | None, runs: Sequence[Run]) -> None:
        super().__init__(subset)
        self._files, self._runs = (judgements, preferences), runs

    def judged(self, tasks: Sequence[Task], scores: Sequence[AgentScore]) -> Sequence[Judged]:
        """Returns the judgements in the files."""
        runs = map(of_run, self._runs) if self._runs else map(of_score, tasks, scores)
        judged, self.kinds = judged_by_files(list(runs), *self._files)
        return judged


def _tasks_of(tasks: Sequence[Task], stored: Sequence[StoredAnswer], file: Path, are_judged: bool) -> list[Task]:
    """Returns the task of every run in a file; the needed tools of tasks outside the data are unknown.

    With judgements, tasks of the data may be missing.
    """
    known = {task.id: task for task in tasks}
    missing = sorted(known.keys() - {answer.task.id for answer in stored})
    if missing and not are_judged:
        raise DataError(file, f'{len(missing)} of {len(known)} tasks have no run: {first_of(missing)}')
    return [_task_of(answer, known) for answer in stored]


def _task_of(answer: StoredAnswer, known: Mapping[str, Task]) -> Task:
    task = known.get(answer.task.id, answer.task)
    return replace(task, gold=None, relevant=()) if _is_retrieved(answer) else task


def _is_retrieved(answer: StoredAnswer) -> bool:
    return _RETRIEVED in str(answer.trajectory.settings.get('method', '')).casefold()


def _notes(tasks: Sequence[Task], stored: Sequence[StoredAnswer]) -> Iterator[str]:
    known = {task.id for task in tasks}
    missing = len(known - {answer.task.id for answer in stored}) if stored else 0
    if missing:
        yield f'{missing} of {len(known)} tasks have no run: not comparable with complete runs'
    others = sum(answer.task.id not in known for answer in stored)
    if others:
        yield (
            f'{others} of {len(stored)} runs belong to tasks outside the data, whose needed tools are unknown; '
            f'recall, precision and F1 cover the other {len(stored) - others}, all else and the reasons all runs'
        )
    if any(map(_is_retrieved, stored)):
        yield 'calls of retrieved tools name an API without its tool, so it is unknown if the API is needed'
    if stored:
        yield 'observations come from the file'


def _lines(counted: Mapping[str, Any]) -> Iterator[str]:
    for what in ('errors', 'stopped'):
        if counted[what]:
            yield f'{what}: ' + ', '.join(f'{kind} {count}' for kind, count in counted[what].items())
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
        yield (f'{beside["calls"]} gold calls of {beside["tasks"]} tasks equal no valid call; repaired: {metrics}')
    if counted['sources'][SIMULATED]:
        yield 'simulated by: ' + ', '.join(f'{name} {count}' for name, count in counted['simulated_by'].items())
    if 'judged' in counted:
        yield from judged_lines(counted['judged'], counted['judge'])


def _load_tasks(subset: str, data: Path | None) -> list[Task]:
    row = find_subset(subset)
    return list(load_data(data or resolve_data_path(f'{row.folder}/{row.file}', FIX_DATA), subset).tasks)


def read(
    subset: str,
    predictions: Path,
    *,
    data: Annotated[Path | None, 'The data file; default: where prepare puts it.'] = None,
    judgements: Annotated[
        Path | None,
        "Judgements: a file of ours, or ToolBench's pass_rate_results.",
    ] = None,
    preferences: Annotated[Path | None, "In addition, ToolBench's preference_results."] = None,
) -> RecordedRun:
    """Reads trajectories: a predictions file, or runs in ToolBench's format (``.json``, ``.json.gz``).

    Raises:
        DataError: A file is missing or damaged, or files do not belong together.
        ValueError: The subset does not exist, or preferences are given without judgements.
    """
    if preferences and not judgements:
        raise ValueError('--preferences needs --judgements; a single file belongs to --judgements')
    tasks, count = _load_tasks(subset, data), find_subset(subset).tasks
    runs = list(read_runs(predictions)) if holds_runs(predictions) else []
    stored = list(map(stored_answer, runs))
    notes = list(_notes(tasks, stored))
    if stored:
        tasks, count = _tasks_of(tasks, stored, predictions, judgements is not None), 0
        answers = {answer.task.id: Answer(answer.trajectory.to_json()) for answer in stored}
    else:
        answers = load_answers(predictions, subset, BENCHMARK.subsets, [task.id for task in tasks])
    return RecordedRun(
        _ScorerByFiles(subset, judgements, preferences, runs) if judgements else AgentScorer(subset),
        tasks,
        answers,
        '{subset}, {loop}',
        None,
        {'judge': judgements.name} if judgements else {},
        lines=_lines,
        notes=notes,
        expected=count or None,
        unit='tasks',
    )


def load_to_judge(file: Path, subset: str | None, data: Path | None) -> tuple[list[Task], list[JudgedAnswer]]:
    """Loads the tasks and answers of a file.

    Args:
        file: A predictions file, or answers in ToolBench's format, which contain their queries.
        subset: The subset of the tasks; default: that of the data set named in the predictions.
        data: The subset's data file; default: where ``prepare`` puts it.

    Raises:
        DataError: A file is missing or damaged, or the files do not belong together.
        ValueError: The subset of predictions is unknown, or does not exist.
    """
    if is_trajectories(file):
        answers = list(load_judged_answers(file).values())
        return [Task(answer.id, '', answer.query, ()) for answer in answers], answers
    run = read(subset or _subset_of(file, BENCHMARK.subsets), file, data=data)
    scores = cast(Sequence[AgentScore], run.score(file).scores)
    return list(run.records), list(map(of_score, run.records, scores))


def _subset_of(file: Path, subsets: Sequence[str]) -> str:
    """Returns the subset that all predictions in a file name as their data set."""
    questions = load_recorded(file).questions.values()
    named = {name for question in questions for name in named_subsets(question.source or question.dataset, subsets)}
    if len(named) != 1:
        raise ValueError(f'{file} does not name the subset of its tasks: add --subset, one of {", ".join(subsets)}')
    return named.pop()
