"""Judges recorded answers, or reads their judgements, for ``tooleval agents judge`` and ``tooleval score agents``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.toolbench.grading import AgentGrading, JudgeSettings
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer
from opencompass_tooleval.agents.toolbench.judged_scores import Judged
from opencompass_tooleval.agents.toolbench.judgements import AREAS, Opinions, joined
from opencompass_tooleval.embedding.locate import default_cache
from opencompass_tooleval.judging.judgement import Judgement


def kinds_of(judgements: Sequence[Judgement[Opinions]]) -> tuple[str, ...]:
    """Returns the kinds of judgements, in the order of the metrics."""
    areas = {area for judgement in judgements for area in judgement.found or ()}
    return tuple(kind for kind, areas_of_kind in AREAS.items() if areas_of_kind[-1] in areas)


def judged_by_files(
    answers: Sequence[JudgedAnswer], judgements: Path, preferences: Path | None = None
) -> tuple[Sequence[Judged], tuple[str, ...]]:
    """Computes the scores of answers from files of judgements; returns the scores and the kinds of judgements.

    Args:
        answers: The answers.
        judgements: A file of ours, or ToolBench's ``pass_rate_results`` or ``preference_results``.
        preferences: An additional file of ToolBench's ``preference_results``.

    Raises:
        DataError: A file is missing or damaged.
        UnjudgedError: More than 1% of the judgements are missing.
        ValueError: The files judge other tasks.
    """
    grading = AgentGrading(answers)
    by_answer = grading.read(judgements)
    if preferences:
        by_answer = joined(by_answer, grading.read(preferences))
    if kinds := kinds_of(by_answer):
        grading.settings = JudgeSettings(kinds)
    scores = grading.check(grading.score(by_answer), f'{judgements} must judge exactly these answers')
    return scores, grading.settings.kinds


def judged_lines(counted: Mapping[str, Any], judge: str) -> Iterator[str]:
    """Yields the lines on judgements that a screen shows below the rates.

    Args:
        counted: The breakdown of the judged answers.
        judge: The judge's name.
    """
    lacking = ''
    if counted['unjudged_opinions']:
        lacking = f'; {counted["unjudged_opinions"]} judgements are missing, {counted["unjudged"]} answers not judged'
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
            f'the wins because the reference has no answer; {won["drawn_comparisons"]} of {won["comparisons"]} '
            'comparisons drawn'
        )
    passed: Mapping[str, Any] | None = counted.get('pass')
    if passed:
        yield f'passed: {passed["drawn_votes"]} votes drawn, {passed["ties"]} answers with equal votes'
    for name, counts in (('solved', solved), ('win', won)):
        if counts:
            yield f'{name} decided by: ' + ', '.join(
                f'{by or "?"} {count}' for by, count in counts['decided_by'].items()
            )


def ask_judge(cfg: Mapping[str, Any], grading: AgentGrading) -> tuple[list[Judgement[Opinions]], str, int]:
    """Sends a judge the questions about answers; a question that was answered in an earlier run is not sent again.

    Args:
        cfg: Config of the judge, any OpenCompass model.
        grading: The answers.

    Returns:
        The judgements, the judge's name, and the number of requests.
    """
    from opencompass_tooleval.judging.judge import Judge

    judge = Judge(cfg, default_cache(), 'agents')
    return grading.collected(judge.converse(grading.dialogues())), judge.name, judge.calls
