"""Success rate: a judge says whether a final answer answers the request (EasyTool, Section 5.1 and Appendix B.1).

Pure: asking is the host's business. A trajectory is what an agent did, stored: its request and its final answer.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.answer import clean, strip_reasoning, unfence, why_unread
from opencompass_tooleval.core.bounds import MAX_CHARS
from opencompass_tooleval.core.content import joined_text
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.jsonable import bounded_text, to_jsonable
from opencompass_tooleval.core.reading import parse_enclosed
from opencompass_tooleval.core.result import INFRA, OK, SampleScore
from opencompass_tooleval.core.verdicts import (
    FAILED,
    JUDGED,
    MISSING,
    STATUSES,
    UNREAD,
    Unjudged,
    Unread,
    answer_digest,
    check_unjudged,
    is_silent,
    judgement_of_answer,
    unread_reply,
)
from opencompass_tooleval.easytool.files import read_json
from opencompass_tooleval.easytool.toolbench.success_prompts import SUCCESS

NOT_SUCCESSFUL = 'judge:no'
UNJUDGED = 'judge:unjudged'


_PLACEHOLDER = re.compile(r'\{(question|answer)\}')
_CHOICE = re.compile(r'["\']choice["\']\s*:\s*["\']\s*(yes|no)\b', re.IGNORECASE)
_REASON = re.compile(r'["\']reason["\']\s*:', re.IGNORECASE)
_ID_KEYS, _QUERY_KEYS = ('record_id', 'query_id', 'id'), ('query', 'question')
_ANSWER_KEYS = ('final_answer', 'answer', 'answer_generation', 'prediction')


@dataclass(frozen=True)
class Trajectory:
    """What an agent did.

    Attributes:
        id: Record id.
        query: The request.
        answer: Its final answer, ``''`` if it gave none.
        infra: Why there is none through no fault of the model (``infra:...``), or None.
    """

    id: str
    query: str
    answer: str
    infra: str | None = None

    def to_payload(self) -> str:
        """The trajectory as JSON text; :func:`parse_trajectory` gives it back."""
        return json.dumps(asdict(self))


@dataclass(frozen=True)
class Judgement:
    """What the judge said of one answer.

    Attributes:
        id: Record id.
        status: ``judged``, ``unjudged`` (the reply could not be read) or ``missing`` (there was no answer to judge).
        success: Whether it answers the request; None unless ``judged``.
        why: The judge's reason, bounded text.
        answer_digest: Of the answer that it judged; ``''`` where that is not said.
        fault: Of what is ``unjudged``: why, as :attr:`~opencompass_tooleval.core.verdicts.Unread.why`.
    """

    id: str
    status: str
    success: bool | None = None
    why: str = ''
    answer_digest: str = ''
    fault: str = ''


@dataclass(frozen=True)
class Verdict:
    """What a judge's reply says."""

    success: bool
    why: str = ''


def parse_trajectory(payload: str) -> Trajectory:
    """Gives back the trajectory of :meth:`Trajectory.to_payload`."""
    return Trajectory(**json.loads(payload))


def prompt_hash() -> str:
    """12 hex digits of the judge's prompt, so that a judgement says what it was asked with."""
    return hashlib.sha256(SUCCESS.encode('utf-8')).hexdigest()[:12]


def judge_prompt(question: str, answer: str) -> str:
    """Fills the judge's prompt; what is filled in is never read as a placeholder itself."""
    values = {'question': question, 'answer': answer}
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], SUCCESS)


def _decision(value: Any) -> bool | None:
    word = value.strip().strip('.!').casefold() if isinstance(value, str) else ''
    return {'yes': True, 'no': False}.get(word)


def parse_verdict(reply: str) -> Verdict | Unread:
    """Reads a judge's reply; never raises.

    Returns:
        What ``Choice`` says in the reply's JSON object, or in what was meant to be one where all of its choices agree,
        or the reply itself where it is a bare yes or no. Why it says neither, if so: that is never taken for a no.
    """
    if len(reply) > MAX_CHARS:
        return Unread('too_long')
    text = unfence(strip_reasoning(reply)).strip()
    bare = _decision(text)
    if bare is not None:
        return Verdict(bare)
    parsed = parse_enclosed(text, '{', '}')
    if isinstance(parsed.value, dict):
        fields = {str(key).strip().casefold(): value for key, value in parsed.value.items()}
        choice = _decision(fields.get('choice'))
        return Unread(UNREAD) if choice is None else Verdict(choice, bounded_text(fields.get('reason')))
    choices = list(_CHOICE.finditer(text))
    words = {match.group(1).casefold() for match in choices}
    if len(words) != 1:
        return unread_reply(reply)
    return Verdict(words == {'yes'}, _reason_before(text, choices[0].start()))


def _reason_before(text: str, end: int) -> str:
    """What is called the reason in front of a choice, in what was meant to be JSON."""
    label = _REASON.search(text, 0, end)
    return bounded_text(text[label.end() : end].strip(' \t\r\n,"\'')) if label else ''


# Trajectories


def _first(row: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Name and value of every row: of a list by its number, of an object by its key."""
    value = read_json(file)
    if isinstance(value, dict) and all(isinstance(row, dict) for row in value.values()):
        yield from value.items()
    else:
        yield from ((str(number), row) for number, row in enumerate(value if isinstance(value, list) else [value]))


def _text_of(file: Path, record_id: str, content: Any) -> Any:
    """What a message says, if it comes in parts; anything else as it is."""
    try:
        return joined_text(content)
    except ValueError as error:
        raise DataError(file, str(error), record_id) from error


def _trajectory(file: Path, name: str, row: Any, queries: Mapping[str, str]) -> Trajectory:
    if not isinstance(row, dict):
        raise DataError(file, 'the trajectory is no object', name)
    stated_id = _first(row, _ID_KEYS)
    record_id = name if stated_id is None else str(stated_id)
    answer, query, infra = _first(row, _ANSWER_KEYS), _first(row, _QUERY_KEYS), row.get('infra')
    if isinstance(answer, dict):  # ToolBench's own files: the steps, and what they end in
        query = query or _first(answer, _QUERY_KEYS)
        answer = answer.get('final_answer', '')
    query = query or queries.get(record_id)
    if not isinstance(query, str) or not query.strip():
        raise DataError(file, "the trajectory has no 'query', and its id is of no record", record_id)
    answer = _text_of(file, record_id, answer)
    if not isinstance(answer, str):
        raise DataError(file, f'the trajectory has no text as {", ".join(map(repr, _ANSWER_KEYS))}', record_id)
    if infra is not None and not (isinstance(infra, str) and infra.startswith(INFRA)):
        raise DataError(file, "'infra' is neither null nor an infra: reason", record_id)
    return Trajectory(record_id, query, answer, infra)


def load_trajectories(file: Path, queries: Mapping[str, str] | None = None) -> list[Trajectory]:
    """Reads stored trajectories.

    Args:
        file: JSON lines or a JSON list with ``id``, ``query`` and ``final_answer`` (or ``answer``); ToolBench's own
            result files (an object by query id, the answer an object with ``final_answer``); or a predictions file of
            OpenCompass (``record_id``, ``prediction``), which has no queries.
        queries: Record id -> request, for those that the file does not say.

    Raises:
        DataError: It is missing, damaged or empty, a trajectory is not whole, or two have one id.
    """
    trajectories: dict[str, Trajectory] = {}
    for name, row in _rows(file):
        trajectory = _trajectory(file, name, row, queries or {})
        if trajectory.id in trajectories:
            raise DataError(file, 'two trajectories have this id', trajectory.id)
        trajectories[trajectory.id] = trajectory
    if not trajectories:
        raise DataError(file, 'the file holds no trajectories')
    return list(trajectories.values())


# Judgements


def _judgement(file: Path, name: str, row: Any) -> Judgement:
    if not isinstance(row, dict):
        raise DataError(file, 'the judgement is no object', name)
    record_id = str(row.get('id', name))
    digest = bounded_text(row.get('answer_digest'), 100)
    if 'reply' in row:
        return judgement_of(record_id, parse_verdict(str(_text_of(file, record_id, row['reply']))), digest)
    status, success = row.get('status', JUDGED), row.get('success')
    if status not in STATUSES:
        raise DataError(file, f"'status' is none of {', '.join(STATUSES)}", record_id)
    if (status == JUDGED) != isinstance(success, bool):
        raise DataError(file, "'success' must be true or false where it is judged, and nowhere else", record_id)
    fault = bounded_text(row.get('fault'), 100) if status == FAILED else ''
    return Judgement(record_id, status, success, bounded_text(row.get('why')), digest, fault)


def load_judgements(file: Path) -> list[Judgement]:
    """Reads judgements: lines ``{"id", "status", "success", "why", "answer_digest"}``, as a run writes them, with
    ``fault`` if unjudged, or ``{"id", "reply"}``; the digest of the answer that was judged may be missing.

    Raises:
        DataError: The file is missing or damaged, or judges one thing twice.
    """
    judgements: dict[tuple[str, str], Judgement] = {}
    for name, row in _rows(file):
        judgement = _judgement(file, name, row)
        key = judgement.id, judgement.answer_digest
        if key in judgements:
            raise DataError(file, 'it is judged twice', judgement.id)
        judgements[key] = judgement
    return list(judgements.values())


def with_answers(judgements: Sequence[Judgement], answers: Mapping[str, str]) -> list[Judgement]:
    """Judgements that do not say what they judged, with what the predictions beside their file say.

    Args:
        judgements: As :func:`load_judgements` has them.
        answers: Record id -> the answer that was judged; of others nothing is known.
    """
    return [
        replace(judgement, answer_digest=answer_digest(clean(answers[judgement.id])))
        if is_silent(judgement) and judgement.id in answers
        else judgement
        for judgement in judgements
    ]


def judgement_of(record_id: str, verdict: Verdict | Unread, answer_digest: str = '') -> Judgement:
    """The judgement that a verdict makes, or the lack of one.

    Args:
        record_id: Of what was judged.
        verdict: What the judge said.
        answer_digest: Digest of the answer.
    """
    if isinstance(verdict, Unread):
        return Judgement(record_id, FAILED, answer_digest=answer_digest, fault=verdict.why)
    return Judgement(record_id, JUDGED, verdict.success, verdict.why, answer_digest)


def matched(record_id: str, answer: str, judgements: Sequence[Judgement]) -> Judgement:
    """The judgement of an answer: of just that, or else one that does not say what it judged.

    Args:
        record_id: Its record.
        answer: The final answer, clean.
        judgements: What there is for this record, of this answer or of others.

    Returns:
        One that is ``unjudged`` where there is none, or only of other answers.
    """
    return judgement_of_answer(answer_digest(answer), judgements, Judgement(record_id, FAILED))


# Scores


@dataclass(frozen=True)
class SuccessScore(SampleScore):
    """The score of one final answer, which is ``parsed``; there is no gold answer.

    Attributes:
        why: The judge's reason.
        answer_digest: Of the answer, if it was judged.
        fault: Why it could not be judged; ``''`` if it was.
    """

    why: str = ''
    answer_digest: str = ''
    fault: str = ''

    def to_detail(self) -> dict[str, Any]:
        """See :meth:`SampleScore.to_detail`."""
        detail = {**super().to_detail(), 'why': to_jsonable(self.why)}
        more = {'answer_digest': self.answer_digest, 'fault': self.fault}
        return detail | {name: to_jsonable(text) for name, text in more.items() if text}


def score_success(trajectory: Trajectory, answer: str, judgements: Sequence[Judgement]) -> SuccessScore:
    """Scores one final answer.

    Args:
        trajectory: The request.
        answer: The final answer, clean.
        judgements: What was judged of this record, of which only that of this very answer counts (:func:`matched`).

    Returns:
        ``success_rate``: 1 or 0 as the judge says, 0 without an answer, and None where there is no judgement: that is
        never a score, and counted by its reason.
    """
    reason = why_unread(answer)
    if reason:
        return SuccessScore(trajectory.id, {'success_rate': 0.0}, reason, str(answer), 'value')
    judgement = matched(trajectory.id, answer, judgements)
    value = None if judgement.success is None else float(judgement.success)
    reason = {True: OK, False: NOT_SUCCESSFUL, None: UNJUDGED}[judgement.success]
    return SuccessScore(
        id=trajectory.id,
        values={'success_rate': value},
        reason=reason,
        parsed=str(answer),
        rung='value',
        why=judgement.why,
        answer_digest=judgement.answer_digest,
        fault=judgement.fault,
    )


def score_trajectories(
    trajectories: Sequence[Trajectory], answers: Sequence[str], judgements: Sequence[Judgement], mend: str = ''
) -> list[SuccessScore]:
    """Scores final answers: one score per trajectory, in the same order.

    Args:
        trajectories: The requests.
        answers: The final answers, clean.
        judgements: What was judged.
        mend: What to do where too much could not be judged.

    Raises:
        ValueError: A judgement is of none of them.
        UnjudgedError: More than 1% of the answers could not be judged.
    """
    by_id: dict[str, list[Judgement]] = {}
    for judgement in judgements:
        by_id.setdefault(judgement.id, []).append(judgement)
    foreign = sorted(set(by_id) - {trajectory.id for trajectory in trajectories})
    if foreign:
        raise ValueError(f'{len(foreign)} judgements are of no trajectory, such as {foreign[0]!r}')
    scores = [
        score_success(trajectory, answer, by_id.get(trajectory.id, ()))
        for trajectory, answer in zip(trajectories, answers, strict=True)
    ]
    unjudged = [Unjudged(f'record {score.id}', score.fault) for score in scores if score.reason == UNJUDGED]
    tried = sum(score.reason in (UNJUDGED, NOT_SUCCESSFUL, OK) for score in scores)
    check_unjudged(unjudged, tried, mend)
    return scores


def judgement_rows(scores: Sequence[SuccessScore]) -> Iterator[dict[str, Any]]:
    """Scored answers as rows of a file of judgements, which :func:`load_judgements` reads."""
    for score in scores:
        status = {OK: JUDGED, NOT_SUCCESSFUL: JUDGED, UNJUDGED: FAILED}.get(score.reason, MISSING)
        success = score.reason == OK if status == JUDGED else None
        row = {
            'id': score.id,
            'status': status,
            'success': success,
            'why': score.why,
            'answer_digest': score.answer_digest,
        }
        yield {**row, 'fault': score.fault} if score.fault else row
