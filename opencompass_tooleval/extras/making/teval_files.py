"""Writes T-Eval's step files of a made set."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from opencompass_tooleval.benchmarks.teval.records import SUFFIXES, file_stem
from opencompass_tooleval.benchmarks.teval.step_prompts import INSTRUCT_TEMPLATES
from opencompass_tooleval.benchmarks.teval.step_rows import (
    NEXT_STEPS,
    PLANS,
    REVIEW,
    DoneStep,
    Request,
    Row,
    instruct_row,
    next_step_row,
    plan_row,
    reaches_full_marks,
    review_row,
)
from opencompass_tooleval.core.calls.observation import INJECTED, UNANSWERED, UNKNOWN_TOOL, WRONG_ARGUMENTS
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.environments.recordings_teval import ERROR_OF_CHOICE
from opencompass_tooleval.extras.making.made_task import MadeTask, SolvedCall, gold_path, has_one_path, known_steps
from opencompass_tooleval.tool_docs.other_formats import teval_tool
from opencompass_tooleval.work_dir.whole_file import write_whole

FOLDER = 'teval'
VERSION = 'v2'
"""Arguments are compared by equality, as T-Eval's authors do today."""

SUCCESS = 'A'
CHOICE_OF_ERROR = {
    **{error: choice for choice, error in ERROR_OF_CHOICE.items() if error},
    UNANSWERED: 'B',
    INJECTED: 'B',
    UNKNOWN_TOOL: 'C',
    WRONG_ARGUMENTS: 'C',
}
"""Error of a call -> review's choice.

Errors that are guessed from the words of a response, ``tool_error`` of a live server, and empty responses are not in
it: several choices fit them. ``D`` and ``E`` come only from recordings that carry T-Eval's own labels.
"""


def write_teval(made: Sequence[MadeTask], folder: Path) -> dict[str, int]:
    """Writes ``teval/LANGUAGE/SUBSET_v2.json``, in place of those of an earlier call; none for a subset without rows.

    A row whose own gold answer would not score full marks is left out, such as one with a tool's name that T-Eval's
    reading cannot find in a line.

    Args:
        made: The tasks.
        folder: That of the set.

    Returns:
        Name of each file below ``teval`` -> its rows.
    """
    shutil.rmtree(folder / FOLDER, ignore_errors=True)
    counts = {}
    for language in SUFFIXES:
        for subset, rows in subset_rows([one for one in made if one.task.language == language], language).items():
            kept = {name: row for name, row in rows.items() if reaches_full_marks(name, row, subset)}
            if kept:
                file = folder / FOLDER / language / f'{file_stem(subset, VERSION, language)}.json'
                file.parent.mkdir(parents=True, exist_ok=True)
                write_whole(file, json.dumps(to_jsonable(kept), ensure_ascii=False, indent=1))
                counts[f'{language}/{file.name}'] = len(kept)
    return counts


def subset_rows(made: Sequence[MadeTask], language: str) -> dict[str, dict[str, Row]]:
    """Makes the rows of all subsets.

    Review has calls of all tasks, the other subsets only tasks with one possible path. A next step needs the
    observations of all steps before it and its own thought: the steps of a task end where one is not known.

    Args:
        made: Tasks of one language.
        language: That of the prompts.

    Returns:
        Subset -> id -> row.
    """
    subsets: dict[str, dict[str, Row]] = {name: {} for name in ('instruct', *PLANS, *NEXT_STEPS, REVIEW)}
    for one in made:
        for number, (goal, call, choice) in enumerate(_outcomes(one), 1):
            step = DoneStep(goal, call.name, call.arguments, call.observation.strip())
            subsets[REVIEW][f'{one.task.id}_{number}'] = review_row(language, step, choice)
        if has_one_path(one):
            _add_steps(subsets, one, language)
    return subsets


def _add_steps(subsets: dict[str, dict[str, Row]], made: MadeTask, language: str) -> None:
    task = made.task
    apis = {tool.name: teval_tool(tool, task.documents.get(tool.name)) for tool in task.tools}
    request = Request(task.query, apis, language)
    gold = [(call.name, call.arguments) for call in task.gold or ()]
    for subset in PLANS:
        subsets[subset][task.id] = plan_row(request, subset, gold, indices_before(made))
    for number, (name, arguments) in enumerate(gold, 1):
        turn = len(subsets['instruct']) // len(INSTRUCT_TEMPLATES)
        for answer_format in INSTRUCT_TEMPLATES:
            row = instruct_row(request, name, arguments, answer_format, turn)
            subsets['instruct'][f'{task.id}_{number}_{answer_format}'] = row
    steps = [
        DoneStep(call.purpose, call.name, call.arguments, call.solved.observation if call.solved else '')
        for call in known_steps(gold_path(made))
    ]
    for number, step in enumerate(steps):
        for subset in NEXT_STEPS:
            subsets[subset][f'{task.id}_{number + 1}'] = next_step_row(request, subset, steps[:number], step)


def indices_before(made: MadeTask) -> list[list[int]]:
    """Returns, for each gold call, the calls that have to come before; the call before where no order is known."""
    order, count = made.goal.order, len(made.task.gold or ())
    if order:
        return [[first for first, second in order if second == index] for index in range(count)]
    return [[index - 1] if index else [] for index in range(count)]


def _outcomes(made: MadeTask) -> Iterator[tuple[str, SolvedCall, str]]:
    """Yields goal, call and choice: gold calls that were answered, and calls of all solutions with known errors."""
    for call in gold_path(made):
        if call.solved and call.purpose and call.solved.observation.strip():
            yield call.purpose, call.solved, SUCCESS
    seen = set()
    for solution in made.solutions:
        for solved in solution.calls:
            choice = CHOICE_OF_ERROR.get(solved.error or '')
            key = (solved.name, str(solved.arguments), solved.observation)
            if choice and solved.thought.strip() and solved.observation.strip() and key not in seen:
                seen.add(key)
                yield solved.thought.strip(), solved, choice
