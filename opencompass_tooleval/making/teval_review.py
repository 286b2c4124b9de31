"""Made tasks -> rows of T-Eval's review: calls of solutions whose outcome the environment itself has labelled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opencompass_tooleval.benchmarks.teval.step_prompts import REVIEW_CASE, SYSTEM
from opencompass_tooleval.environments.observation import INJECTED, UNANSWERED, UNKNOWN_TOOL, WRONG_ARGUMENTS
from opencompass_tooleval.environments.recordings_teval import ERROR_OF_CHOICE
from opencompass_tooleval.judging.judge_item import fill
from opencompass_tooleval.making.gold_path import gold_path
from opencompass_tooleval.making.made_task import MadeTask, SolvedCall

SUBSET = 'review_str'

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


def review_rows(made: Sequence[MadeTask], language: str) -> dict[str, dict[str, Any]]:
    """Makes the rows of review.

    A gold call that was answered without an error is a success. A call with an error is taken from any solution, each
    call with its response once.

    Args:
        made: The tasks, of any kind.
        language: ``EN`` or ``ZH``: of the tasks to take, and of the prompts.

    Returns:
        Id -> row. A call without a thought has no goal to review it against, and is left out.
    """
    rows = {}
    for one in made:
        if one.task.language == language:
            for number, (goal, call, choice) in enumerate(_outcomes(one), 1):
                rows[f'{one.task.id}_{number}'] = _row(goal, call, choice, language)
    return rows


def _outcomes(made: MadeTask) -> Iterator[tuple[str, SolvedCall, str]]:
    """Goal, call and choice."""
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


def _row(goal: str, call: SolvedCall, choice: str, language: str) -> dict[str, Any]:
    case = fill(
        REVIEW_CASE[language],
        goal=goal,
        name=call.name,
        args=str(dict(call.arguments)),
        response=call.observation.strip(),
    )
    return {
        'template': '',
        'meta_data': {'response_format': 'str'},
        'ground_truth': {'answer': choice, 'thought': ''},
        'origin_prompt': [
            {'role': 'system', 'content': SYSTEM[SUBSET, language]},
            {'role': 'user', 'content': case},
        ],
    }
