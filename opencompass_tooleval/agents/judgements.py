"""Judgements of answers, and files of them: ours, or ToolEval's.

A file of ours is JSON lines, ``{"id", "status", "answer_digest", "reference", "solved": [opinion, ...], "solvable":
[...], "win": [...], "success": [...]}``; an opinion is ``{"value", "by", "why", "fault"}`` without what is empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents import win
from opencompass_tooleval.agents.judged_answer import JudgedAnswer, digest_of, steps_text
from opencompass_tooleval.agents.opinion import Opinion
from opencompass_tooleval.agents.tooleval_prompts import SOLVABLE, SOLVED, UNSOLVABLE, UNSOLVED, UNSURE
from opencompass_tooleval.agents.trajectory import parse_trajectory
from opencompass_tooleval.core.errors import DataError, Fault, naming_record
from opencompass_tooleval.core.jsonable import bounded_text
from opencompass_tooleval.core.verdicts import FAILED, JUDGED, answer_digest, is_silent, judgement_of_answer
from opencompass_tooleval.easytool.files import read_json

SOLVED_AREA, SOLVABLE_AREA, WIN_AREA, SUCCESS_AREA = 'solved', 'solvable', 'win', 'success'
YES, NO = 'yes', 'no'
VALUES = {
    SOLVED_AREA: (SOLVED, UNSURE, UNSOLVED),
    SOLVABLE_AREA: (SOLVABLE, UNSURE, UNSOLVABLE),
    WIN_AREA: (win.OWN, win.REFERENCE),
    SUCCESS_AREA: (YES, NO),
}
"""What opinions are about -> the words that they may have."""

MAX_OPINIONS = 1_000
"""About one thing."""

_PUBLISHED = 'AnswerStatus.'


@dataclass(frozen=True)
class Judgement:
    """All that was found about one answer.

    Attributes:
        id: Query id.
        opinions: Area -> opinions, in the order in which they were asked for.
        answer_digest: Of the answer; ``''`` where that is not said.
        reference: Digest of what it was compared with; ``''`` where it was not, or that is not said.
        status: ``judged``, or ``unjudged`` where nothing is known.
        fault: Why nothing is known.
    """

    id: str
    opinions: Mapping[str, tuple[Opinion, ...]]
    answer_digest: str = ''
    reference: str = ''
    status: str = JUDGED
    fault: str = ''

    def to_row(self) -> dict[str, Any]:
        """The row of a file."""
        opinions = {area: [opinion.to_row() for opinion in own] for area, own in self.opinions.items() if own}
        row = {'id': self.id, 'status': self.status, 'answer_digest': self.answer_digest, 'reference': self.reference}
        return {**row, **opinions}


def _opinion(area: str, row: Any) -> Opinion:
    if not isinstance(row, dict):
        raise Fault(f'{area!r}: an opinion is no object')
    value, fault = row.get('value'), bounded_text(row.get('fault'), 100)
    if value not in ('', *VALUES[area]) or bool(value) == bool(fault):
        raise Fault(f"{area!r}: 'value' is none of {', '.join(VALUES[area])}, and 'fault' does not say why")
    return Opinion(str(value), bounded_text(row.get('by'), 100), bounded_text(row.get('why')), fault)


def _own_row(row: Any) -> Judgement:
    if not isinstance(row, dict) or not isinstance(row.get('id'), (str, int)):
        raise Fault("the judgement is no object with an 'id'")
    opinions = {}
    for area in VALUES:
        rows = row.get(area, [])
        if not isinstance(rows, list) or len(rows) > MAX_OPINIONS:
            raise Fault(f'{area!r} is no list of opinions')
        if rows:
            opinions[area] = tuple(_opinion(area, opinion) for opinion in rows)
    digest, reference = (bounded_text(row.get(name), 100) for name in ('answer_digest', 'reference'))
    return Judgement(str(row['id']), opinions, digest, reference, JUDGED if opinions else FAILED)


def _published_row(query_id: str, row: Mapping[str, Any]) -> Judgement:
    """Of ToolEval's ``pass_rate_results``; the steps that it has beside its judgements say what was judged."""
    found = row['is_solved']
    statuses = [found] if isinstance(found, str) else [found[key] for key in sorted(found, key=_number)]
    words = [str(status).removeprefix(_PUBLISHED) for status in statuses]
    if not words or not set(words) <= set(VALUES[SOLVED_AREA]):
        raise Fault(f"'is_solved' is none of {', '.join(VALUES[SOLVED_AREA])}")
    steps, final = row.get('answer_steps'), row.get('final_step')
    digest = answer_digest([steps, final]) if isinstance(steps, str) and isinstance(final, str) else ''
    return Judgement(query_id, {SOLVED_AREA: tuple(Opinion(word, 'published') for word in words)}, digest)


def _number(key: str) -> int:
    try:
        return int(key)
    except ValueError:
        raise Fault("'is_solved' has a key that is no number") from None


def _preference_row(query_id: str, row: Mapping[str, Any], own: str | None) -> Judgement:
    """Of ToolEval's ``preference_results``: rounds that two models won; the reference stands first."""
    counts = {name: count for name, count in row.items() if isinstance(count, int) and not isinstance(count, bool)}
    if len(counts) != 2 or not all(0 <= count <= MAX_OPINIONS for count in counts.values()):
        raise Fault('it has no counts of two models')
    if own is not None and own not in counts:
        raise Fault(f'it is of {" and ".join(counts)}, not of {own}')
    own = own or list(counts)[1]
    rounds = [
        Opinion(win.OWN if name == own else win.REFERENCE, 'published')
        for name, count in counts.items()
        for _ in range(count)
    ]
    return Judgement(query_id, {WIN_AREA: tuple(rounds)})


def load_judgements(file: Path, own: str | None = None) -> list[Judgement]:
    """Reads judgements: a file of ours, or ToolEval's ``pass_rate_results`` or ``preference_results`` (JSON).

    Args:
        file: The file.
        own: For ``preference_results``, the model whose answers are scored; by default the second.

    Raises:
        DataError: It is missing or damaged, or judges one answer twice.
    """
    rows = read_json(file)
    judgements: dict[tuple[str, str], Judgement] = {}
    for name, row in rows.items() if _is_published(rows) else enumerate(rows if isinstance(rows, list) else [rows]):
        with naming_record(file, str(name)[:100]):
            judgement = _own_row(row) if isinstance(name, int) else _any_published(name, row, own)
            key = judgement.id, judgement.answer_digest
            if key in judgements:
                raise Fault(f'the answer to {judgement.id!r} is judged twice')
            judgements[key] = judgement
    if not judgements:
        raise DataError(file, 'the file holds no judgements')
    return list(judgements.values())


def _is_published(rows: Any) -> bool:
    return isinstance(rows, dict) and bool(rows) and all(isinstance(row, dict) for row in rows.values())


def _any_published(query_id: str, row: Mapping[str, Any], own: str | None) -> Judgement:
    if isinstance(row.get('is_solved'), (str, dict)):
        return _published_row(query_id, row)
    return _preference_row(query_id, row, own)


def with_answers(judgements: Sequence[Judgement], answers: Mapping[str, str]) -> list[Judgement]:
    """Judgements that do not say what they judged, with what the predictions beside their file say.

    Args:
        judgements: As :func:`load_judgements` has them.
        answers: Record id -> a trajectory's JSON.
    """
    return [
        replace(judgement, answer_digest=digest)
        if is_silent(judgement) and (digest := _digest(answers.get(judgement.id)))
        else judgement
        for judgement in judgements
    ]


def _digest(prediction: str | None) -> str:
    try:
        return digest_of(parse_trajectory(prediction)) if prediction else ''
    except ValueError:
        return ''


def joined(first: Sequence[Judgement], second: Sequence[Judgement]) -> list[Judgement]:
    """Judgements of two files about the same answers, such as of ToolEval's ``pass_rate_results`` and
    ``preference_results``."""
    more = {judgement.id: judgement for judgement in second}
    ids = {judgement.id for judgement in first}
    both = [
        replace(judgement, opinions={**more[judgement.id].opinions, **judgement.opinions})
        if judgement.id in more
        else judgement
        for judgement in first
    ]
    return [*both, *(judgement for judgement in second if judgement.id not in ids)]


def matched(answer: JudgedAnswer, judgements: Sequence[Judgement]) -> Judgement:
    """The judgement of an answer: of just that, or else one that does not say what it judged.

    Args:
        answer: The answer.
        judgements: What there is for its query, of this answer or of others.

    Returns:
        One that is ``unjudged`` where there is none, or only of other answers.
    """
    steps = answer_digest(list(steps_text(answer)))
    named = [
        replace(judgement, answer_digest=answer.digest) if judgement.answer_digest == steps else judgement
        for judgement in judgements
    ]
    return judgement_of_answer(answer.digest, named, Judgement(answer.id, {}, status=FAILED))


def judgement_rows(judgements: Sequence[Judgement]) -> Iterator[dict[str, Any]]:
    """Judgements as rows of a file, which :func:`load_judgements` reads."""
    for judgement in judgements:
        if judgement.status == JUDGED:
            yield judgement.to_row()
