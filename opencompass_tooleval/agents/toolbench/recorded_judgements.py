"""Recorded answers and files of judgements, for ``tooleval agents judge`` and ``tooleval score agents``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.questions import YES_NO
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.judged_scores import Judged, judge_answers
from opencompass_tooleval.agents.toolbench.judgements import (
    SOLVABLE_AREA,
    SOLVED_AREA,
    WIN_AREA,
    Opinions,
    digests_of,
    joined,
    load_judgements,
)
from opencompass_tooleval.agents.toolbench.judgings import PASS, JudgeSettings, collected, judgings
from opencompass_tooleval.agents.toolbench.references import load_references
from opencompass_tooleval.embedding.cache import default_cache
from opencompass_tooleval.judging.judgement import Judgement
from opencompass_tooleval.judging.judgement_files import completed

_KINDS = {SOLVED_AREA: SOLVED_AREA, SOLVABLE_AREA: PASS, WIN_AREA: WIN_AREA, **{name: name for name in YES_NO}}


def kinds_of(judgements: Sequence[Judgement[Opinions]]) -> tuple[str, ...]:
    """Returns the kinds of judgements, in the order of the metrics."""
    areas = {area for judgement in judgements for area in judgement.found or ()}
    return tuple(kind for area, kind in _KINDS.items() if area in areas)


def judged_by_files(
    answers: Sequence[JudgedAnswer], judgements: Path, preferences: Path | None = None
) -> tuple[list[Judged], tuple[str, ...]]:
    """Computes the scores of answers from files of judgements, and their kinds.

    Args:
        answers: The answers.
        judgements: A file of ours, or ToolBench's ``pass_rate_results`` or ``preference_results``.
        preferences: Additional ``preference_results`` of ToolBench.

    Raises:
        DataError: A file is missing or damaged.
        UnjudgedError: More than 1% of the judgements are missing.
        ValueError: They judge other tasks.
    """
    ids = [answer.id for answer in answers]
    found = completed(load_judgements(judgements), judgements, ids, digests_of)
    if preferences:
        found = joined(found, load_judgements(preferences))
    kinds = kinds_of(found)
    fix = f'{judgements} has to judge these very answers'
    return judge_answers(answers, found, kinds, fix), kinds


def judged_lines(counted: Mapping[str, Any], judge: str) -> Iterator[str]:
    """Yields lines about judgements for a screen, beside the rates.

    Args:
        counted: The breakdown of the judged answers.
        judge: The judge.
    """
    lacking = ''
    if counted['unjudged_opinions']:
        lacking = (
            f'; {counted["unjudged_opinions"]} judgements could not be had, {counted["unjudged"]} answers not judged'
        )
    yield f'judged by {judge}{lacking}'
    solved: Mapping[str, Any] | None = counted.get('solved')
    if solved:
        rates = ', '.join(f'{rate:.1f}' for rate in solved['rates'])
        yield (
            f'solved by judgement: {rates}; standard deviation {solved["standard_deviation"]:.1f}; unsure '
            f'{solved["unsure_share"]:.1%}; judgements differ for {solved["split_share"]:.1%} of the answers'
        )
    won: Mapping[str, Any] | None = counted.get('win')
    if won:
        yield (
            f'against the reference: {won["win"]} won, {won["tie"]} tied, {won["loss"]} lost; {won["no_reference"]} of '
            f'the wins since it has no answer; {won["drawn_comparisons"]} of {won["comparisons"]} comparisons drawn'
        )
    passed: Mapping[str, Any] | None = counted.get('pass')
    if passed:
        yield f'passed: {passed["drawn_votes"]} votes drawn, {passed["ties"]} answers with as many for them as against'
    for name, counts in (('solved', solved), ('win', won)):
        if counts:
            yield f'{name} decided by: ' + ', '.join(
                f'{by or "?"} {count}' for by, count in counts['decided_by'].items()
            )


def ask_judge(
    cfg: Mapping[str, Any],
    answers: Sequence[JudgedAnswer],
    tasks: Sequence[Task],
    settings: JudgeSettings,
    reference: Path | None,
) -> tuple[list[Judgement[Opinions]], str, int]:
    """Sends the judge questions about answers; questions answered in any earlier run are not repeated.

    Args:
        cfg: The judge, any model of OpenCompass.
        answers: The answers.
        tasks: Their queries.
        settings: Kinds and numbers of judgements.
        reference: For ``win``, the answers to compare with.

    Returns:
        The judgements, the judge's name, and the number of requests.

    Raises:
        DataError: The reference is missing or damaged.
    """
    from opencompass_tooleval.judging.judge import Judge

    compared = load_references(reference, tasks) if reference and WIN_AREA in settings.kinds else {}
    judge = Judge(cfg, default_cache(), 'agents')
    found = judge.converse(judgings(answers, compared, settings))
    return collected(answers, compared, found), judge.name, judge.calls
