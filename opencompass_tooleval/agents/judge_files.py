"""Recorded answers to judge, whatever file they stand in, and the judge that is asked about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.judged_answer import JudgedAnswer, load_judged_answers, of_score
from opencompass_tooleval.agents.judgements import WIN_AREA, Judgement
from opencompass_tooleval.agents.judgings import JudgeSettings, collected, judgings
from opencompass_tooleval.agents.records import MEND, find_subset, load_data
from opencompass_tooleval.agents.references import load_references
from opencompass_tooleval.agents.scoring import score_predictions
from opencompass_tooleval.agents.task import Task
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.subset_names import named_subsets
from opencompass_tooleval.embedding.cache import default_cache
from opencompass_tooleval.environments.recordings_toolbench import is_trajectories
from opencompass_tooleval.sweep.recorded import load_recorded
from opencompass_tooleval.sweep.right_subset import load_answers


def load_to_judge(file: Path, subset: str | None, data: Path | None) -> tuple[list[Task], list[JudgedAnswer]]:
    """Tasks and answers of a file.

    Args:
        file: A predictions file, or answers in ToolEval's format, which say their queries.
        subset: Whose tasks the predictions are of; by default those of the data set that they name.
        data: Its data file; by default where ``prepare`` puts it.

    Raises:
        DataError: A file is missing or damaged, or they do not belong together.
        ValueError: Predictions need a subset, or there is no such one.
    """
    from opencompass_tooleval.agents.files import BENCHMARK
    from opencompass_tooleval.host.data_path import resolve_data_path

    if is_trajectories(file):
        answers = list(load_judged_answers(file).values())
        return [Task(answer.id, '', answer.query, ()) for answer in answers], answers
    subset = subset or _subset_of(file, BENCHMARK.subsets)
    row = find_subset(subset)
    tasks = list(load_data(data or resolve_data_path(f'{row.folder}/{row.file}', MEND), subset).tasks)
    predictions = load_answers(file, subset, BENCHMARK.subsets, [task.id for task in tasks])
    try:
        scores = score_predictions(tasks, predictions)
    except ValueError as error:
        raise DataError(file, str(error)) from error
    return tasks, [of_score(task, score) for task, score in zip(tasks, scores, strict=True)]


def _subset_of(file: Path, subsets: Sequence[str]) -> str:
    """The subset that all predictions of a file name as their data set."""
    questions = load_recorded(file).questions.values()
    named = {name for question in questions for name in named_subsets(question.source or question.dataset, subsets)}
    if len(named) != 1:
        raise ValueError(f'{file} does not say whose tasks it is of: give --subset, one of {", ".join(subsets)}')
    return named.pop()


def ask_judge(
    cfg: Mapping[str, Any],
    answers: Sequence[JudgedAnswer],
    tasks: Sequence[Task],
    settings: JudgeSettings,
    reference: Path | None,
) -> tuple[list[Judgement], str, int]:
    """Asks a judge about answers; what was asked before, in whatever run, costs nothing.

    Args:
        cfg: The judge, any model of OpenCompass.
        answers: What is judged.
        tasks: Their queries.
        settings: What is asked.
        reference: For ``win``, what they are compared with.

    Returns:
        The judgements, the judge's name, and how often it was asked.

    Raises:
        DataError: The reference is missing or damaged.
    """
    from opencompass_tooleval.host.judging import Judge

    compared = load_references(reference, tasks) if reference and WIN_AREA in settings.kinds else {}
    judge: Judge[Any] = Judge(cfg, default_cache(), lambda reply: reply, 'judge-agents')
    found = judge.converse(judgings(answers, compared, settings))
    return collected(answers, compared, found), judge.name, judge.calls
