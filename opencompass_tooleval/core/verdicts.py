"""What holds for every judge, whatever the benchmark: of what answer a judgement is, why there is none, and how much of
that may be."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from opencompass_tooleval.core.answer import strip_reasoning
from opencompass_tooleval.core.jsonable import bounded_text, to_jsonable
from opencompass_tooleval.core.refusal import is_refusal
from opencompass_tooleval.core.result import INFRA

UNJUDGED_LIMIT = 0.01
"""Share of unjudged above which an evaluation fails."""

UNREAD, REFUSED, EMPTY_REPLY = 'unread', 'refused', 'empty'
OTHER_ANSWER, NO_JUDGEMENT = 'other_answer', 'no_judgement'

JUDGED, FAILED, MISSING = 'judged', 'unjudged', 'missing'
STATUSES = (JUDGED, FAILED, MISSING)
"""What became of something that could be judged; ``missing``: the answer did not have it."""

_WORDS = {
    UNREAD: 'unreadable reply',
    REFUSED: 'the judge refused',
    EMPTY_REPLY: 'empty reply',
    'too_long': 'reply too long',
    'missing': 'a score missing',
    'range': 'out of range',
    OTHER_ANSWER: 'the judgement is of another answer',
    NO_JUDGEMENT: 'no judgement of it',
    '': 'not said why',
}
"""Area of a fault (what stands before its colon) -> the same for people."""


class UnjudgedError(ValueError):
    """Too much could not be judged for a score to mean anything."""


@dataclass(frozen=True)
class Unread:
    """A judge's reply that says no judgement.

    Attributes:
        why: ``unread``, ``refused``, ``empty``, ``range:accuracy``, ``infra:timeout``, ...
    """

    why: str


@dataclass(frozen=True)
class Unjudged:
    """Something that could not be judged.

    Attributes:
        where: Such as ``record 7, step 1.2``.
        why: As :attr:`Unread.why`, or ``other_answer`` or ``no_judgement`` of a file of judgements.
    """

    where: str
    why: str


def unread_reply(reply: str) -> Unread:
    """Why a reply that holds no judgement does not: it is empty, it declines to judge, or else it is unreadable."""
    text = strip_reasoning(reply).strip()
    return Unread(EMPTY_REPLY if not text else REFUSED if is_refusal(text) else UNREAD)


def answer_digest(judged: Any) -> str:
    """32 hex digits that stand for what was judged: text, or any value as JSON, whatever the order of its keys."""
    text = judged if isinstance(judged, str) else json.dumps(to_jsonable(judged), ensure_ascii=False, sort_keys=True)
    return hashlib.blake2b(text.encode('utf-8', 'backslashreplace'), digest_size=16).hexdigest()


class OfAnswer(Protocol):
    """A judgement that may say of which answer it is; a dataclass with ``fault`` besides."""

    @property
    def status(self) -> str:
        """One of :data:`STATUSES`."""

    @property
    def answer_digest(self) -> str:
        """:func:`answer_digest` of the answer; ``''`` where that is not said."""


J = TypeVar('J', bound=OfAnswer)


def is_silent(judgement: OfAnswer) -> bool:
    """Whether a judgement does not say which answer it judged."""
    return judgement.status == JUDGED and not judgement.answer_digest


def judgement_of_answer(digest: str, judgements: Sequence[J], unjudged: J) -> J:
    """The judgement of an answer: of just that, or else one that does not say what it judged.

    Args:
        digest: :func:`answer_digest` of the answer.
        judgements: What there is for it, and for other answers to the same.
        unjudged: What stands, with its fault, where there is none, or only of other answers.
    """
    silent = (row for row in judgements if not row.answer_digest and row.status != MISSING)
    judgement = next((row for row in judgements if row.answer_digest == digest), None) or next(silent, None)
    if judgement is None:
        fault = OTHER_ANSWER if any(row.answer_digest for row in judgements) else NO_JUDGEMENT
        return replace(unjudged, answer_digest=digest, fault=fault)  # type: ignore[type-var]
    return judgement if judgement.answer_digest else replace(judgement, answer_digest=digest)  # type: ignore[type-var]


def _words(why: str) -> str:
    return bounded_text(why, 40) if why.startswith(INFRA) else _WORDS.get(why.partition(':')[0], bounded_text(why, 40))


def check_unjudged(unjudged: Sequence[Unjudged], tried: int, mend: str = '', limit: float = UNJUDGED_LIMIT) -> int:
    """Returns how many things could not be judged.

    Args:
        unjudged: They.
        tried: How many things had something to judge.
        mend: What to do about it, a sentence or two.
        limit: The share that is allowed.

    Raises:
        UnjudgedError: It is more than ``limit``; the message has the count, an example, the reasons and the limit.
    """
    if len(unjudged) > limit * tried:
        example = unjudged[0]
        reasons = Counter(_words(thing.why) for thing in unjudged).most_common(5)
        raise UnjudgedError(
            f'{len(unjudged)} of {tried} could not be judged, for example {bounded_text(example.where, 80)} '
            f'({_words(example.why)}): {", ".join(f"{count} {words}" for words, count in reasons)}. '
            f'At most {limit:.0%} may be.' + (f' {mend}' if mend else '')
        )
    return len(unjudged)
