"""Success rate: a judge decides if a final answer answers the request (EasyTool, Section 5.1 and Appendix B.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.prompts import SUCCESS
from opencompass_tooleval.benchmarks.toolbench.trajectories import holds_runs, stored_rows
from opencompass_tooleval.core.calls.answer import Answer, why_unread
from opencompass_tooleval.core.calls.messages import joined_text
from opencompass_tooleval.core.errors import DataError, Fault
from opencompass_tooleval.core.scoring.result import INFRA, OK, SampleScore
from opencompass_tooleval.core.text.jsonable import answer_digest, bounded_text, to_jsonable
from opencompass_tooleval.judging import judge_item
from opencompass_tooleval.judging.grading import Item, ItemGrading, matched_items
from opencompass_tooleval.judging.judge_item import JudgeItem, fill
from opencompass_tooleval.judging.judgement import (
    FAILED,
    JUDGED,
    MISSING,
    UNJUDGED,
    Judgement,
    Opinion,
    Unjudged,
    Unread,
    read_judgement,
)
from opencompass_tooleval.judging.judgement_files import read_judgements
from opencompass_tooleval.judging.yes_no import NAME, NO, NOT_SUCCESSFUL, YES, points, read_reply
from opencompass_tooleval.work_dir.data_files import read_json

_ID_KEYS, _QUERY_KEYS = ('record_id', 'query_id', 'id'), ('query', 'question')
_ANSWER_KEYS = ('final_answer', 'answer', 'answer_generation', 'prediction')


@dataclass(frozen=True)
class FinalAnswer:
    """The final answer of an agent's run.

    Attributes:
        id: Record id.
        query: The request.
        answer: The final answer, ``''`` if it is missing.
        infra: Reason for a missing answer that the model did not cause (``infra:...``), or None.
    """

    id: str
    query: str
    answer: str
    infra: str | None = None

    def to_payload(self) -> str:
        """Converts the final answer to JSON text for :func:`parse_final_answer`."""
        return json.dumps(asdict(self))


def parse_final_answer(payload: str) -> FinalAnswer:
    """Parses the text of :meth:`FinalAnswer.to_payload`."""
    return FinalAnswer(**json.loads(payload))


def prompt_hash() -> str:
    """Returns the hash of the judge's prompt; see :func:`~opencompass_tooleval.judging.judge_item.prompt_hash`."""
    return judge_item.prompt_hash(SUCCESS)


def question_of(name: str, query: str, answer: str) -> JudgeItem:
    """Builds the question about a final answer; ``name`` is the question's id."""
    return JudgeItem(name, fill(SUCCESS, question=query, answer=answer), read_reply)


# Final answers


def _first(row: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _rows(file: Path) -> Iterator[tuple[str, Any]]:
    """Yields the name and value of every row; the name is the row's number in a list, or its key in an object."""
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
        raise DataError(file, 'the trajectory is not an object', name)
    stated_id = _first(row, _ID_KEYS)
    record_id = name if stated_id is None else str(stated_id)
    answer, query, infra = _first(row, _ANSWER_KEYS), _first(row, _QUERY_KEYS), row.get('infra')
    if isinstance(answer, dict):  # ToolBench's files: an object with the steps and the final answer
        query = query or _first(answer, _QUERY_KEYS)
        answer = answer.get('final_answer', '')
    query = query or queries.get(record_id)
    if not isinstance(query, str) or not query.strip():
        raise DataError(file, "the trajectory has no 'query', and no record has its id", record_id)
    try:
        answer = joined_text(answer)
    except ValueError as error:
        raise DataError(file, str(error), record_id) from error
    if not isinstance(answer, str):
        raise DataError(file, f'the trajectory has no text in {", ".join(map(repr, _ANSWER_KEYS))}', record_id)
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
        DataError: The file is missing, damaged or empty, a trajectory is incomplete, or two have the same id.
    """
    answers: dict[str, FinalAnswer] = {}
    for name, row in _rows(file):
        answer = _final_answer(file, name, row, queries or {})
        if answer.id in answers:
            raise DataError(file, 'two trajectories have this id', answer.id)
        answers[answer.id] = answer
    if not answers:
        raise DataError(file, 'the file contains no trajectories')
    return list(answers.values())


# Judgements


_NEEDS = "'success' must be true or false in judged rows, and absent in other rows"


def _read_row(row: Mapping[str, Any]) -> Opinion | Unread:
    """Parses the judge's opinion in a row of a file."""
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


# Scores


@dataclass(frozen=True)
class SuccessScore(SampleScore):
    """The score of one final answer, which is ``parsed``; no gold answer exists.

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


class SuccessGrading(ItemGrading[FinalAnswer, Opinion, SuccessScore]):
    """Grading of final answers, after postprocessing, to their requests."""

    def read(self, file: Path) -> list[Judgement[Opinion]]:
        """Reads a file of judgements: rows have ``{"success", "why"}``, as a run writes them, or ``{"reply"}``.

        Raises:
            DataError: The file is missing or damaged, or judges an answer twice.
        """
        return read_judgements(file, _rows(file), _read_judgement)

    def members(self, found: Opinion) -> dict[str, Any]:
        """Converts an opinion to members of a row."""
        return {'success': found.value == YES, 'why': found.why}

    def items_of(self, record: FinalAnswer, answer: Answer) -> Iterator[Item[Opinion]]:
        """Yields the question about an answer."""
        if why_unread(answer):
            yield Judgement(record.id, status=MISSING), None
        else:
            judgement: Judgement[Opinion] = Judgement(
                record.id, status=FAILED, answer_digest=answer_digest(answer.text)
            )
            yield judgement, question_of(record.id, record.query, answer.text)

    def score_answer(
        self, record: FinalAnswer, answer: Answer, judgements: Sequence[Judgement[Opinion]]
    ) -> SuccessScore:
        """Scores a final answer.

        Returns:
            ``success_rate``: 1 or 0 as the judge decides, 0 without an answer, None without a judgement. A missing
            judgement is counted by its reason, never scored.
        """
        (judgement,) = matched_items(self.items_of(record, answer), judgements)
        value = 0.0 if judgement.status == MISSING else points(judgement.found)
        reason = why_unread(answer) or (UNJUDGED if value is None else OK if value else NOT_SUCCESSFUL)
        return SuccessScore(record.id, {'success_rate': value}, reason, answer.text, 'value', judgement=judgement)

    def opinions(self, score: SuccessScore) -> Iterator[Unjudged | None]:
        """Yields None for a judged answer, or why its judgement is missing; nothing without an answer."""
        if score.judgement.status != MISSING:
            yield Unjudged(f'record {score.id}', score.judgement.fault) if score.reason == UNJUDGED else None
