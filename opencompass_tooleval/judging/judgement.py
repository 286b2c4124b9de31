"""Judgements of answers, for all benchmarks: which answer was judged, why a judgement is missing, how many may be
missing, and the row of a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from opencompass_tooleval.core.calls.answer import strip_reasoning
from opencompass_tooleval.core.errors import Fault
from opencompass_tooleval.core.scoring.refusal import declines_or_apologizes
from opencompass_tooleval.core.scoring.result import INFRA
from opencompass_tooleval.core.text.jsonable import bounded_text

F = TypeVar('F')

UNJUDGED_LIMIT = 0.01
"""Share of unjudged answers above which an evaluation fails."""

UNJUDGED = 'judge:unjudged'
"""Reason of a sample, or of one of its parts, without a judgement."""

UNREAD, REFUSED, EMPTY_REPLY = 'unread', 'refused', 'empty'
OTHER_ANSWER, NO_JUDGEMENT = 'other_answer', 'no_judgement'

JUDGED, FAILED, MISSING = 'judged', 'unjudged', 'missing'
STATUSES = (JUDGED, FAILED, MISSING)
"""Statuses of a judgement; ``missing``: the answer lacks the part to judge."""

_WORDS = {
    UNREAD: 'unreadable reply',
    REFUSED: 'the judge refused',
    EMPTY_REPLY: 'empty reply',
    'too_long': 'reply too long',
    'missing': 'missing score',
    'range': 'out of range',
    OTHER_ANSWER: 'judgement of another answer',
    NO_JUDGEMENT: 'no judgement',
    '': 'unknown reason',
}
"""Area of a fault (the text before its colon) -> its description."""


class UnjudgedError(ValueError):
    """Too many answers could not be judged for a meaningful score."""


@dataclass(frozen=True)
class Unread:
    """A judge's reply without a judgement.

    Attributes:
        why: The reason: ``unread``, ``refused``, ``empty``, ``range:accuracy``, ``infra:timeout``, ...
    """

    why: str


@dataclass(frozen=True)
class Opinion:
    """A judge's answer to a question with few possible answers.

    Attributes:
        value: One of the possible answers, such as ``Solved``; ``''`` if the judge gave none.
        decided_by: The name of the question that the judge answered, or of the rule that decided without a judge.
        why: The judge's explanation.
        fault: Why there is no value, as in :attr:`Unread.why`.
    """

    value: str
    decided_by: str = ''
    why: str = ''
    fault: str = ''

    def to_row(self) -> dict[str, str]:
        """Returns the members for a file of judgements, without empty members."""
        return {name: text for name, text in vars(self).items() if text or name == 'value'}


@dataclass(frozen=True)
class Unjudged:
    """An answer, or part of one, that could not be judged.

    Attributes:
        where: The place, such as ``record 7, step 1.2``.
        why: The reason, as in :attr:`Unread.why`, or ``other_answer`` or ``no_judgement`` for a file of judgements.
    """

    where: str
    why: str


def unread_reply(reply: str) -> Unread:
    """Returns why a reply has no judgement: it is empty, it declines to judge, or it cannot be parsed."""
    text = strip_reasoning(reply).text.strip()
    return Unread(EMPTY_REPLY if not text else REFUSED if declines_or_apologizes(text) else UNREAD)


@dataclass(frozen=True)
class Judgement(Generic[F]):
    """The judgement of one answer, or of one part of it.

    Attributes:
        id: Record id.
        step: The judged part of the answer; ``''`` for the complete answer.
        status: ``judged``, ``unjudged`` (the judgement could not be parsed) or ``missing`` (the answer lacks the part).
        found: The judge's verdict; None unless ``judged``.
        answer_digest: :func:`~opencompass_tooleval.core.text.jsonable.answer_digest` of the judged answer; ``''`` if
            unknown.
        reference: Digest of the answer that it was compared with; ``''`` without a comparison, or if unknown.
        fault: Why it is ``unjudged``, as in :attr:`Unread.why`; ``''`` if unknown.
    """

    id: str
    step: str = ''
    status: str = JUDGED
    found: F | None = None
    answer_digest: str = ''
    reference: str = ''
    fault: str = ''

    @property
    def is_silent(self) -> bool:
        """True if the judgement does not identify the judged answer."""
        return self.status == JUDGED and not self.answer_digest

    def with_verdict(self, verdict: F | Unread) -> Judgement[F]:
        """Returns a copy with a judge's verdict, or with the reason why it is missing."""
        if isinstance(verdict, Unread):
            return replace(self, status=FAILED, found=None, fault=verdict.why)
        return replace(self, status=JUDGED, found=verdict, fault='')

    def to_row(self, found_row: Callable[[F], Mapping[str, Any]]) -> dict[str, Any]:
        """Returns the row for a file, which :func:`read_judgement` can parse.

        Args:
            found_row: Converts the verdict to members of the row.
        """
        found = {} if self.found is None else found_row(self.found)
        more = {'answer_digest': self.answer_digest, 'reference': self.reference, 'fault': self.fault}
        row = {'id': self.id, **({'step': self.step} if self.step else {}), 'status': self.status, **found}
        return row | {name: text for name, text in more.items() if text}


def read_judgement(name: str, row: Mapping[str, Any], read: Callable[[Mapping[str, Any]], F | Unread]) -> Judgement[F]:
    """Parses a row of a file.

    Args:
        name: Name of the row in the file; used as the id of a row without ``id``.
        row: The row.
        read: Parses the verdict in a row; raises :class:`Fault` if the row has none.

    Raises:
        Fault: The row is not a judgement.
    """
    status, record_id = row.get('status', JUDGED), row.get('id', name)
    if status not in STATUSES:
        raise Fault(f"'status' is not one of {', '.join(STATUSES)}")
    if not isinstance(record_id, (str, int)):
        raise Fault("'id' is not a string")
    digest, reference, fault = (bounded_text(row.get(key), 100) for key in ('answer_digest', 'reference', 'fault'))
    step = str(row.get('step') or '')
    judgement: Judgement[F] = Judgement(str(record_id), step, str(status), None, digest, reference)
    return judgement.with_verdict(read(row)) if status == JUDGED else replace(judgement, fault=fault)


def by_record(judgements: Iterable[Judgement[F]], record_ids: Iterable[str]) -> dict[str, list[Judgement[F]]]:
    """Groups judgements: record id -> its judgements, for every record.

    Raises:
        ValueError: A judgement does not belong to any of the records.
    """
    grouped: dict[str, list[Judgement[F]]] = {record_id: [] for record_id in record_ids}
    judgements = list(judgements)
    foreign = sorted({judgement.id for judgement in judgements} - grouped.keys())
    if foreign:
        raise ValueError(f'{len(foreign)} records have judgements but are not scored, such as record {foreign[0]!r}')
    for judgement in judgements:
        grouped[judgement.id].append(judgement)
    return grouped


def matched(judgements: Sequence[Judgement[F]], unjudged: Judgement[F], *digests: str) -> Judgement[F]:
    """Selects the judgement of an answer: one that identifies the answer, or else one without a digest.

    Args:
        judgements: The judgements of this answer and of other answers to the same record.
        unjudged: The result, with a fault, if there is no judgement of this answer. It has the answer's digest.
        digests: Other digests under which files may identify the same answer.
    """
    same = (one for one in judgements if one.answer_digest in (unjudged.answer_digest, *digests))
    silent = (one for one in judgements if not one.answer_digest and one.status != MISSING)
    judgement = next(same, None) or next(silent, None)
    if judgement is None:
        fault = OTHER_ANSWER if any(one.answer_digest for one in judgements) else NO_JUDGEMENT
        return replace(unjudged, status=FAILED, fault=fault)
    return replace(judgement, answer_digest=unjudged.answer_digest)


def _words(why: str) -> str:
    return bounded_text(why, 40) if why.startswith(INFRA) else _WORDS.get(why.partition(':')[0], bounded_text(why, 40))


def check_unjudged(unjudged: Sequence[Unjudged], tried: int, fix: str = '', limit: float = UNJUDGED_LIMIT) -> int:
    """Returns the number of unjudged answers or parts.

    Args:
        unjudged: The unjudged answers or parts.
        tried: Number of all answers or parts to judge.
        fix: Advice, in one or two sentences.
        limit: Maximum share of unjudged answers or parts.

    Raises:
        UnjudgedError: The share is above ``limit``; the error has the count, an example, the reasons and the limit.
    """
    if len(unjudged) > limit * tried:
        example = unjudged[0]
        reasons = Counter(_words(thing.why) for thing in unjudged).most_common(5)
        raise UnjudgedError(
            f'{len(unjudged)} of {tried} could not be judged, for example {bounded_text(example.where, 80)} '
            f'({_words(example.why)}): {", ".join(f"{count} {words}" for words, count in reasons)}. '
            f'At most {limit:.0%} may be.' + (f' {fix}' if fix else '')
        )
    return len(unjudged)
