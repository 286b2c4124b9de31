"""Files of judgements, as ``tooleval score agents`` and ``tooleval agents judge`` take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.judged_scores import Judged, breakdown, judge_answers
from opencompass_tooleval.agents.judgements import (
    SOLVABLE_AREA,
    SOLVED_AREA,
    SUCCESS_AREA,
    WIN_AREA,
    Judgement,
    joined,
    load_judgements,
    with_answers,
)
from opencompass_tooleval.agents.judgings import PASS
from opencompass_tooleval.sweep.judgement_files import completed

_KINDS = {SOLVED_AREA: SOLVED_AREA, SOLVABLE_AREA: PASS, WIN_AREA: WIN_AREA, SUCCESS_AREA: SUCCESS_AREA}


def kinds_of(judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """What judgements are about, in the order of the metrics."""
    areas = {area for judgement in judgements for area in judgement.opinions}
    return tuple(kind for area, kind in _KINDS.items() if area in areas)


def judged_by_files(
    answers: Sequence[JudgedAnswer], judgements: Path, preferences: Path | None = None
) -> tuple[list[Judged], tuple[str, ...]]:
    """What files of judgements say of answers, and what they are about.

    Args:
        answers: The answers.
        judgements: A file of ours, or ToolEval's ``pass_rate_results`` or ``preference_results``.
        preferences: ToolEval's ``preference_results`` beside it.

    Raises:
        DataError: A file is missing or damaged.
        UnjudgedError: More than 1% could not be judged.
        ValueError: They judge other tasks.
    """
    ids = [answer.id for answer in answers]
    found = completed(load_judgements(judgements), judgements, ids, with_answers)
    if preferences:
        found = joined(found, load_judgements(preferences))
    kinds = kinds_of(found)
    mend = f'{judgements} has to judge these very answers'
    return judge_answers(answers, found, kinds, mend), kinds


def judged_lines(judged: Sequence[Judged], judge: str) -> Iterator[str]:
    """What a screen says of judgements beside the rates.

    Args:
        judged: What was found.
        judge: Whose judgement it is.
    """
    counted = breakdown(judged)
    yield f'judged by {judge}' + (f'; {counted["unjudged"]} not judged' if counted['unjudged'] else '')
    solved: Mapping[str, Any] | None = counted.get('solved')
    if solved:
        rates = ', '.join(f'{rate:.1f}' for rate in solved['rates'])
        yield (
            f'solved by judgement: {rates}; standard deviation {solved["standard_deviation"]:.1f}; unsure '
            f'{solved["unsure_share"]:.1%}; judgements differ for {solved["split_share"]:.1%} of the answers'
        )
    won: Mapping[str, Any] | None = counted.get('win')
    if won:
        yield f'against the reference: {won["win"]} won, {won["tie"]} tied, {won["loss"]} lost'
    for name, counts in (('solved', solved), ('win', won)):
        if counts:
            yield f'{name} decided by: ' + ', '.join(f'{by or "?"} {count}' for by, count in counts['by'].items())
