"""Reference answers for comparisons: predictions of another run, or published answers in ToolBench's format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer, load_judged_answers, of_trajectory
from opencompass_tooleval.agents.toolbench.judgements import Opinions
from opencompass_tooleval.core.calls.trajectory import parse_trajectory
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.scoring.result import INFRA
from opencompass_tooleval.core.text.jsonable import answer_digest
from opencompass_tooleval.environments.recordings_toolbench import is_trajectories
from opencompass_tooleval.judging.judgement import Judgement
from opencompass_tooleval.work_dir.recorded import load_recorded
from opencompass_tooleval.work_dir.shards import shard_files


def prediction_files(path: Path, dataset: str | None) -> list[Path]:
    """Finds the files of a reference.

    Args:
        path: A file, or a model's folder of predictions, ``RUN/predictions/MODEL``.
        dataset: The data set's abbr, to find its files in a folder.

    Raises:
        DataError: The reference, or its file for the data set, is missing.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError(path, 'the reference is missing')
    whole = path / f'{dataset}.json'
    files = [whole] if whole.is_file() else shard_files(whole)
    if not files:
        there = ', '.join(sorted(file.name for file in path.glob('*.json'))) or 'no .json files'
        raise DataError(path, f'it has no predictions of {dataset}; it has {there}. Name one of these files')
    return files


def load_references(path: Path, tasks: Iterable[Task], dataset: str | None = None) -> dict[str, JudgedAnswer]:
    """Returns query id -> the reference answer to compare with.

    Args:
        path: A path for :func:`prediction_files`, or a file of answers in ToolBench's format.
        tasks: The queries. Answers to other queries are skipped.
        dataset: The data set's abbr.

    Raises:
        DataError: The reference is missing or damaged, or has no answer to any of the queries.
    """
    by_id = {task.id: task for task in tasks}
    answers: dict[str, JudgedAnswer] = {}
    for file in prediction_files(path, dataset):
        answers |= load_judged_answers(file) if is_trajectories(file) else _of_run(file, by_id)
    answers = {query_id: answer for query_id, answer in answers.items() if query_id in by_id}
    if not answers:
        raise DataError(path, 'the reference has no answer to any of the queries')
    return answers


def _of_run(file: Path, tasks: Mapping[str, Task]) -> dict[str, JudgedAnswer]:
    answers = {}
    for query_id, prediction in load_recorded(file).by_id.items():
        reason = prediction.reason or ''
        if query_id not in tasks or reason.startswith(INFRA):
            continue
        try:
            trajectory = parse_trajectory(prediction.text)
        except ValueError as error:
            raise DataError(file, f'it is not a prediction of an agent: {error}', query_id) from error
        if not trajectory.stopped.startswith(INFRA):
            answers[query_id] = of_trajectory(tasks[query_id], trajectory)
    return answers


def references_digest(references: Mapping[str, JudgedAnswer]) -> str:
    """Returns the digest of all answers of a reference."""
    return answer_digest({query_id: answer.digest for query_id, answer in references.items()})


def compared_digest(judgements: Iterable[Judgement[Opinions]]) -> str:
    """Returns the digest of the reference in stored judgements; ``''`` if no judgement names one."""
    compared = {judgement.id: judgement.reference for judgement in judgements if judgement.reference}
    return answer_digest(compared) if compared else ''


def check_compared(
    judgements: Iterable[Judgement[Opinions]], references: Mapping[str, JudgedAnswer], file: Path | None
) -> None:
    """Checks that stored judgements which name their reference compare with this one.

    Args:
        judgements: The judgements.
        references: Query id -> the answer to compare with.
        file: File of the judgements.

    Raises:
        DataError: A judgement compares with another answer.
    """
    for judgement in judgements:
        given = references.get(judgement.id)
        if judgement.reference and (given is None or given.digest != judgement.reference):
            raise DataError(file, 'it was compared with another reference', judgement.id)
