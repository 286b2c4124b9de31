"""Success rate: a judge decides if a final answer answers the request (EasyTool, Section 5.1 and Appendix B.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.prompts import SUCCESS
from opencompass_tooleval.benchmarks.toolbench.trajectories import holds_runs, stored_rows
from opencompass_tooleval.core.calls.answer import Answer, clean, strip_reasoning, unfence, why_unread
from opencompass_tooleval.core.calls.messages import joined_text
from opencompass_tooleval.core.errors import DataError, Fault
from opencompass_tooleval.core.scoring.result import INFRA, OK, SampleScore
from opencompass_tooleval.core.text.bounds import MAX_CHARS
from opencompass_tooleval.core.text.jsonable import answer_digest, bounded_text, to_jsonable
from opencompass_tooleval.core.text.reading import parse_enclosed
from opencompass_tooleval.judging import judge_item
from opencompass_tooleval.judging.judge_item import JudgeItem, fill
from opencompass_tooleval.judging.judgement import (
    FAILED,
    JUDGED,
    MISSING,
    UNREAD,
    Judgement,
    Opinion,
    Unjudged,
    Unread,
    by_record,
    check_unjudged,
    matched,
    read_judgement,
    unread_reply,
)
from opencompass_tooleval.judging.judgement_files import read_judgements
from opencompass_tooleval.work_dir.data_files import read_json

YES, NO = 'yes', 'no'
NAME = 'success'
NOT_SUCCESSFUL = 'judge:no'
UNJUDGED = 'judge:unjudged'

_CHOICE = re.compile(r'["\']choice["\']\s*:\s*["\']\s*(yes|no)\b', re.IGNORECASE)
_REASON = re.compile(r'["\']reason["\']\s*:', re.IGNORECASE)
_ID_KEYS, _QUERY_KEYS = ('record_id', 'query_id', 'id'), ('query', 'question')
_ANSWER_KEYS = ('final_answer', 'answer', 'answer_generation', 'prediction')


@dataclass(frozen=True)
class FinalAnswer:
    """The final answer of an agent's run.

    Attributes:
        id: Record id.
        query: The request.
        answer: The final answer, ``''`` if there is none.
        infra: Reason for a missing answer that is no fault of the model (``infra:...``), or None.
    """

    id: str
    query: str
    answer: str
    infra: str | None = None

    def to_payload(self) -> str:
        """Converts to JSON text for :func:`parse_final_answer`."""
        return json.dumps(asdict(self))


def parse_final_answer(payload: str) -> FinalAnswer:
    """Reads the text of :meth:`FinalAnswer.to_payload`."""
    return FinalAnswer(**json.loads(payload))


def prompt_hash() -> str:
    """Returns the hash of the judge's prompt; see :func:`~opencompass_tooleval.judging.judge_item.prompt_hash`."""
    return judge_item.prompt_hash(SUCCESS)


def judge_prompt(question: str, answer: str) -> str:
    """Fills the judge's prompt."""
    return fill(SUCCESS, question=question, answer=answer)


def question_of(name: str, query: str, answer: str) -> JudgeItem:
    """Builds the question about a final answer; ``name`` is its id."""
    return JudgeItem(name, judge_prompt(query, answer), read_reply)


def _decision(value: Any) -> str:
    word = value.strip().strip('.!').casefold() if isinstance(value, str) else ''
    return word if word in (YES, NO) else ''


def read_reply(reply: str) -> Opinion | Unread:
    """Reads a judge's reply; never raises.

    Returns:
        ``Choice`` in the reply's JSON object, or in invalid JSON if all of its choices agree, or the reply itself if
        it is a bare yes or no. Otherwise the reason for a missing opinion: it never counts as a no.
    """
    if len(reply) > MAX_CHARS:
        return Unread('too_long')
    text = unfence(strip_reasoning(reply).text).strip()
    bare = _decision(text)
    if bare:
        return Opinion(bare, NAME)
    parsed = parse_enclosed(text, '{', '}')
    if isinstance(parsed.value, dict):
        fields = {str(key).strip().casefold(): value for key, value in parsed.value.items()}
        choice = _decision(fields.get('choice'))
        return Opinion(choice, NAME, bounded_text(fields.get('reason'))) if choice else Unread(UNREAD)
    choices = list(_CHOICE.finditer(text))
    words = {match.group(1).casefold() for match in choices}
    if len(words) != 1:
        return unread_reply(reply)
    return Opinion(words.pop(), NAME, _reason_before(text, choices[0].start()))


def _reason_before(text: str, end: int) -> str:
    """Returns the reason before a choice in invalid JSON."""
    label = _REASON.search(text, 0, end)
    return bounded_text(text[label.end() : end].strip(' \t\r\n,"\'')) if label else ''


# Final answers


def _first(row: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Yields name and value of every row: in a list its number, in an object its key."""
    if holds_runs(file):
        yield from stored_rows(file)
        return
    value = read_json(file)
    if isinstance(value, dict) and all(isinstance(row, dict) for row in value.values()):
        yield from value.items()
    else:
        yield from ((str(number), row) for number, row in enumerate(value if isinstance(value, list) else [value]))


def _final_answer(file: Path, name: str, row: Any, queries: Mapping[str, str]) -> FinalAnswer:
    if not isinstance(row, dict):
        raise DataError(file, 'the trajectory is no object', name)
    stated_id = _first(row, _ID_KEYS)
    record_id = name if stated_id is None else str(stated_id)
    answer, query, infra = _first(row, _ANSWER_KEYS), _first(row, _QUERY_KEYS), row.get('infra')
    if isinstance(answer, dict):  # ToolBench's own files: the steps with the final answer
        query = query or _first(answer, _QUERY_KEYS)
        answer = answer.get('final_answer', '')
    query = query or queries.get(record_id)
    if not isinstance(query, str) or not query.strip():
        raise DataError(file, "the trajectory has no 'query', and its id is of no record", record_id)
    try:
        answer = joined_text(answer)
    except ValueError as error:
        raise DataError(file, str(error), record_id) from error
    if not isinstance(answer, str):
        raise DataError(file, f'the trajectory has no text as {", ".join(map(repr, _ANSWER_KEYS))}', record_id)
    if infra is not None and not (isinstance(infra, str) and infra.startswith(INFRA)):
        raise DataError(file, "'infra' is neither null nor an infra: reason", record_id)
    return FinalAnswer(record_id, query, answer, infra)


def load_final_answers(file: Path, queries: Mapping[str, str] | None = None) -> list[FinalAnswer]:
    """Reads the final answers of stored trajectories.

    Args:
        file: JSON lines or a JSON list with ``id``, ``query`` and ``final_answer`` (or ``answer``); ToolBench's result
            files (an object by query id, the answer an object with ``final_answer``); or a predictions file of
            OpenCompass (``record_id``, ``prediction``), which has no queries.
        queries: Record id -> request, for files without them.

    Raises:
        DataError: It is missing, damaged or empty, a trajectory is incomplete, or two have one id.
    """
    answers: dict[str, FinalAnswer] = {}
    for name, row in _rows(file):
        answer = _final_answer(file, name, row, queries or {})
        if answer.id in answers:
            raise DataError(file, 'two trajectories have this id', answer.id)
        answers[answer.id] = answer
    if not answers:
        raise DataError(file, 'the file holds no trajectories')
    return list(answers.values())


# Judgements


_NEEDS = "'success' must be true or false where it is judged, and nowhere else"


def _read_row(row: Mapping[str, Any]) -> Opinion | Unread:
    """Reads the judge's opinion in a row of a file."""
    if 'reply' in row:
        try:
            return read_reply(str(joined_text(row['reply'])))
        except ValueError as error:
            raise Fault(str(error)) from error
    if not isinstance(row.get('success'), bool):
        raise Fault(_NEEDS)
    return Opinion(YES if row['success'] else NO, NAME, bounded_text(row.get('why')))


def _read_judgement(name: str, row: Mapping[str, Any]) -> Judgement[Opinion]:
    judgement: Judgement[Opinion] = read_judgement(name, row, _read_row)
    if judgement.status != JUDGED and isinstance(row.get('success'), bool):
        raise Fault(_NEEDS)
    return judgement


def load_judgements(file: Path) -> list[Judgement[Opinion]]:
    """Reads a file of judgements: with ``{"success", "why"}``, as a run writes it, or ``{"reply"}``.

    Raises:
        DataError: The file is missing or damaged, or judges one answer twice.
    """
    return read_judgements(file, _rows(file), _read_judgement)


def to_row(judgement: Judgement[Opinion]) -> dict[str, Any]:
    """Converts a judgement to a row of a file for :func:`load_judgements`."""
    return judgement.to_row(lambda opinion: {'success': opinion.value == YES, 'why': opinion.why})


def digests_of(record_id: str, answer: Answer) -> dict[str, str]:
    """Returns the digest of an answer for :func:`~opencompass_tooleval.judging.judgement_files.completed`."""
    return {'': answer_digest(clean(answer).text)}


def questions(
    stored: Sequence[FinalAnswer], answers: Sequence[Answer]
) -> Iterator[tuple[Judgement[Opinion], JudgeItem | None]]:
    """Yields the judgement of each answer without the judge's reply, and the question; None without an answer.

    Args:
        stored: The requests.
        answers: The final answers, postprocessed.
    """
    for one, answer in zip(stored, answers, strict=True):
        if why_unread(answer):
            yield Judgement(one.id, status=MISSING), None
        else:
            judgement: Judgement[Opinion] = Judgement(one.id, status=FAILED, answer_digest=answer_digest(answer.text))
            yield judgement, question_of(one.id, one.query, answer.text)


# Scores


@dataclass(frozen=True)
class SuccessScore(SampleScore):
    """The score of one final answer, which is ``parsed``; there is no gold answer.

    Attributes:
        judgement: The judgement of the answer.
    """

    judgement: Judgement[Opinion] = field(default_factory=lambda: Judgement('', status=MISSING))

    def to_detail(self) -> dict[str, Any]:
        """Returns the detail of the sample."""
        found = self.judgement.found
        more = {'answer_digest': self.judgement.answer_digest, 'fault': self.judgement.fault}
        detail = {**super().to_detail(), 'why': to_jsonable(found.why if found else '')}
        return detail | {name: to_jsonable(text) for name, text in more.items() if text}


def score_success(stored: FinalAnswer, answer: Answer, judgements: Sequence[Judgement[Opinion]]) -> SuccessScore:
    """Scores one final answer.

    Args:
        stored: The request.
        answer: The final answer, postprocessed.
        judgements: Judgements of this record, of which only that of this answer counts
            (:func:`~opencompass_tooleval.judging.judgement.matched`).

    Returns:
        ``success_rate``: 1 or 0 by the judge, 0 without an answer, and None without a judgement, which is never a score
        and is counted by its reason.
    """
    unread = why_unread(answer)
    if unread:
        return SuccessScore(stored.id, {'success_rate': 0.0}, unread, answer.text, 'value')
    judgement = matched(judgements, Judgement(stored.id, status=FAILED, answer_digest=answer_digest(answer.text)))
    said = judgement.found.value if judgement.found else ''
    values = {'success_rate': {YES: 1.0, NO: 0.0}.get(said)}
    reason = {YES: OK, NO: NOT_SUCCESSFUL}.get(said, UNJUDGED)
    return SuccessScore(stored.id, values, reason, answer.text, 'value', judgement=judgement)


def score_final_answers(
    stored: Sequence[FinalAnswer], answers: Sequence[Answer], judgements: Sequence[Judgement[Opinion]], fix: str = ''
) -> list[SuccessScore]:
    """Scores final answers: one score each, in the same order.

    Args:
        stored: The requests.
        answers: The final answers, postprocessed.
        judgements: The judgements.
        fix: Advice if too many judgements are missing.

    Raises:
        ValueError: A judgement is of none of them.
        UnjudgedError: More than 1% of the judgements are missing.
    """
    of_record = by_record(judgements, [one.id for one in stored])
    scores = [score_success(one, answer, of_record[one.id]) for one, answer in zip(stored, answers, strict=True)]
    unjudged = [Unjudged(f'record {score.id}', score.judgement.fault) for score in scores if score.reason == UNJUDGED]
    check_unjudged(unjudged, sum(score.judgement.status != MISSING for score in scores), fix)
    return scores
