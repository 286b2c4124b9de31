"""Judgements of answers, and files of them: ours, or those of ToolBench's evaluator.

A row of our files (:mod:`~opencompass_tooleval.judging.judgement_files`) has ``{"solved": [opinion, ...],
"solvable": [...], "win": [...], "success": [...]}``; an opinion is ``{"value", "decided_by", "why", "fault"}``, in
which empty members are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opencompass_tooleval.agents.questions import YES_NO
from opencompass_tooleval.agents.toolbench import win
from opencompass_tooleval.agents.toolbench.judge_prompts import SOLVABLE, SOLVED, UNSOLVABLE, UNSOLVED, UNSURE
from opencompass_tooleval.agents.toolbench.judged_answer import JudgedAnswer, steps_text
from opencompass_tooleval.core.errors import Fault
from opencompass_tooleval.core.text.jsonable import answer_digest, bounded_text
from opencompass_tooleval.judging.judgement import FAILED, Judgement, Opinion, Unread, matched
from opencompass_tooleval.judging.yes_no import NO, YES

SOLVED_AREA, SOLVABLE_AREA, WIN_AREA = 'solved', 'solvable', 'win'
PASS = 'pass'
AREAS = {
    SOLVED_AREA: (SOLVED_AREA,),
    PASS: (SOLVED_AREA, SOLVABLE_AREA),
    WIN_AREA: (WIN_AREA,),
    **{name: (name,) for name in YES_NO},
}
"""Kind of judgements, in the order of the metrics -> areas of the opinions that it requests."""
KINDS = tuple(AREAS)

VALUES = {
    SOLVED_AREA: (SOLVED, UNSURE, UNSOLVED),
    SOLVABLE_AREA: (SOLVABLE, UNSURE, UNSOLVABLE),
    WIN_AREA: (win.CANDIDATE, win.REFERENCE),
    **dict.fromkeys(YES_NO, (YES, NO)),
}
"""Area of opinions -> its values."""

MAX_OPINIONS = 1_000
"""Maximum number of opinions in one area."""

_PUBLISHED = 'AnswerStatus.'


Opinions = Mapping[str, tuple[Opinion, ...]]
"""Area -> opinions, in the order of the requests."""


def _opinion(area: str, row: Any) -> Opinion:
    if not isinstance(row, dict):
        raise Fault(f'{area!r}: an opinion is not an object')
    value, fault = row.get('value'), bounded_text(row.get('fault'), 100)
    if value not in ('', *VALUES[area]) or bool(value) == bool(fault):
        raise Fault(f"{area!r}: 'value' is not one of {', '.join(VALUES[area])}, and 'fault' does not say why")
    return Opinion(str(value), bounded_text(row.get('decided_by'), 100), bounded_text(row.get('why')), fault)


def read_opinions(row: Mapping[str, Any]) -> Opinions | Unread:
    """Reads the opinions in a row of our files."""
    opinions = {}
    for area in VALUES:
        rows = row.get(area, [])
        if not isinstance(rows, list) or len(rows) > MAX_OPINIONS:
            raise Fault(f'{area!r} is not a list of opinions')
        if rows:
            opinions[area] = tuple(_opinion(area, opinion) for opinion in rows)
    return opinions or Unread('')


def _published_row(query_id: str, row: Mapping[str, Any]) -> Judgement[Opinions]:
    """Reads a row of ToolBench's ``pass_rate_results``; the steps in the row identify the judged answer."""
    found = row['is_solved']
    statuses = [found] if isinstance(found, str) else [found[key] for key in sorted(found, key=_number)]
    words = [str(status).removeprefix(_PUBLISHED) for status in statuses]
    if not words or not set(words) <= set(VALUES[SOLVED_AREA]):
        raise Fault(f"'is_solved' is not one of {', '.join(VALUES[SOLVED_AREA])}")
    steps, final = row.get('answer_steps'), row.get('final_step')
    digest = answer_digest([steps, final]) if isinstance(steps, str) and isinstance(final, str) else ''
    opinions = {SOLVED_AREA: tuple(Opinion(word, 'published') for word in words)}
    return Judgement(query_id, found=opinions, answer_digest=digest)


def _number(key: str) -> int:
    try:
        return int(key)
    except ValueError:
        raise Fault("'is_solved' has a key that is not a number") from None


def _preference_row(query_id: str, row: Mapping[str, Any], candidate: str | None) -> Judgement[Opinions]:
    """Reads a row of ToolBench's ``preference_results``: the number of rounds that each of two models won; the
    first is the reference."""
    counts = {name: count for name, count in row.items() if isinstance(count, int) and not isinstance(count, bool)}
    if len(counts) != 2 or not all(0 <= count <= MAX_OPINIONS for count in counts.values()):
        raise Fault('it does not have the counts of two models')
    if candidate is not None and candidate not in counts:
        raise Fault(f'it compares {" and ".join(counts)}, not {candidate}')
    candidate = candidate or list(counts)[1]
    rounds = [
        Opinion(win.CANDIDATE if name == candidate else win.REFERENCE, 'published')
        for name, count in counts.items()
        for _ in range(count)
    ]
    return Judgement(query_id, found={WIN_AREA: tuple(rounds)})


def read_published(query_id: str, row: Mapping[str, Any], candidate: str | None) -> Judgement[Opinions]:
    """Reads a row of ToolBench's ``pass_rate_results`` or ``preference_results``."""
    if isinstance(row.get('is_solved'), (str, dict)):
        return _published_row(query_id, row)
    return _preference_row(query_id, row, candidate)


def joined(first: Sequence[Judgement[Opinions]], second: Sequence[Judgement[Opinions]]) -> list[Judgement[Opinions]]:
    """Joins judgements of two files about the same answers, such as ToolBench's ``pass_rate_results`` and
    ``preference_results``."""
    more = {judgement.id: judgement for judgement in second}
    both = [replace(one, found={**_opinions(more.pop(one.id, None)), **_opinions(one)}) for one in first]
    return [*both, *(judgement for judgement in second if judgement.id in more)]


def _opinions(judgement: Judgement[Opinions] | None) -> Opinions:
    return (judgement and judgement.found) or {}


def match_answer(answer: JudgedAnswer, judgements: Sequence[Judgement[Opinions]]) -> Judgement[Opinions]:
    """Returns the judgement of an answer, found with :func:`~opencompass_tooleval.judging.judgement.matched`.

    Args:
        answer: The answer.
        judgements: Judgements of the same query; some may be of other answers.
    """
    unjudged: Judgement[Opinions] = Judgement(answer.id, status=FAILED, answer_digest=answer.digest)
    return matched(judgements, unjudged, answer_digest(list(steps_text(answer))))
