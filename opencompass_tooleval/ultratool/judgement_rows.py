"""Files of judgements: ours and the authors', in and out.

A file of ours has one line per judged thing, ``{"id", "step", "status", "scores", "why", "answer_digest"}``, and one
for every gold step without a created tool (``missing``), so that it can be scored on its own; what could not be judged
has ``fault``. The digest stands for what was judged; older lines lack it and ``why``. Several runs of a data set may be
in one file.

The authors' lines hold the row that they judged: ``{"data": ROW, "eval": [{"准确性分数": 8, ...}, ...]}`` of a plan,
``{"data": ROW, "step": STEP, "eval": [...]}`` of a created tool (``eval/tool_creation_eval.json``). ``ROW`` has record
and answer as in their files of answers; that of a created tool also ``golden``, the gold steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.answer import EMPTY, clean
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.jsonable import bounded_text
from opencompass_tooleval.core.recorded_row import read_recorded_row
from opencompass_tooleval.core.verdicts import FAILED, JUDGED, MISSING, STATUSES, answer_digest, is_silent
from opencompass_tooleval.ultratool.judge import LOWEST, parse_judgement
from opencompass_tooleval.ultratool.protocol import Protocol
from opencompass_tooleval.ultratool.reading import read
from opencompass_tooleval.ultratool.records import Record, Subset, read_rows, step_number
from opencompass_tooleval.ultratool.score_judged import (
    FULL,
    Judged,
    dimensions,
    judged_parts,
)
from opencompass_tooleval.ultratool.score_steps import TOOL_MISSING, UNJUDGED, StepsScore


def digests_of(record: Record, answer: Any, protocol: Protocol) -> dict[str, str]:
    """Step -> digest of what is judged of an answer; :func:`~.score_judged.judged_parts` says what that is."""
    parsed = read(clean(answer), record.subset.reading, protocol)
    return {step: answer_digest(part) for step, part in judged_parts(record, parsed, protocol).items()}


def _own(file: Path, subset: Subset, number: str, row: Mapping[str, Any]) -> Judged:
    record_id, step, status = str(row.get('id', number)), str(row.get('step') or ''), row.get('status', JUDGED)
    if status not in STATUSES:
        raise DataError(file, f"'status' is none of {', '.join(STATUSES)}", number)
    digest = bounded_text(row.get('answer_digest'), 100)
    if status != JUDGED:
        return Judged(record_id, step, str(status), answer_digest=digest, fault=bounded_text(row.get('fault'), 100))
    scores = row.get('scores')
    names = dimensions(subset)
    if not isinstance(scores, dict) or any(
        isinstance(scores.get(name), bool) or not isinstance(scores.get(name), (int, float)) for name in names
    ):
        raise DataError(file, f"'scores' needs numbers for {', '.join(names)}", number)
    outside = next((name for name in names if not LOWEST <= scores[name] <= FULL), None)
    if outside:
        return Judged(record_id, step, FAILED, answer_digest=digest, fault=f'range:{outside}')
    why_of = row.get('why')
    why = {name: bounded_text(why_of[name]) for name in names if why_of.get(name)} if isinstance(why_of, dict) else {}
    return Judged(record_id, step, JUDGED, {name: float(scores[name]) for name in names}, why, digest)


def _content(steps: Any, reference: Any) -> str:
    """What tells a record of tool creation from the others; gold steps alone are the same in 39 pairs."""
    return json.dumps([steps, reference], sort_keys=True, ensure_ascii=False)


class _Published:
    """Reads the authors' rows, one after the other.

    Args:
        file: For messages.
        subset: Planning or tool creation.
        protocol: The rules.
        records: The records that are scored; None where they are not known.
    """

    def __init__(self, file: Path, subset: Subset, protocol: Protocol, records: Sequence[Record] | None) -> None:
        self._file, self._subset, self._protocol = file, subset, protocol
        self._by_id = {record.id: record for record in records or ()}
        self._by_content = {
            _content(record.raw.get('input'), record.raw.get('reference')): record.id for record in records or ()
        }
        self._known = records is not None
        self._digests: dict[tuple[str, str], dict[str, str]] = {}
        self._gold_steps: dict[str, list[str]] = {}

    def judged(self, number: str, row: Mapping[str, Any]) -> Judged:
        """The judgement of a row; one published plan holds 0 in six dimensions, outside the scale: Table 4 counts it,
        so official does."""
        judgement = parse_judgement(row['eval'], self._subset.task, LOWEST if self._protocol.strict else 0)
        data = row.get('data')
        status = FAILED if judgement.fault else JUDGED
        step, record_id = '', number
        if self._subset.kind == 'creation':
            step = step_number(row.get('step')) or ''
            if not step or not isinstance(data, dict):
                raise DataError(self._file, "a row of a created tool needs 'data' and the text of its 'step'", number)
            record_id = self._record_id(number, data)
        answer = self._digest(record_id, step, data)
        return Judged(record_id, step, status, judgement.scores, judgement.why, answer, judgement.fault)

    def _record_id(self, number: str, data: Mapping[str, Any]) -> str:
        """The record of a created tool, by what it holds; without the records, its place among those of the file."""
        row = read_recorded_row(data)
        raw = row.record if row and isinstance(row.record, dict) else {}
        reference = raw.get('reference', data.get('golden'))
        content = _content(raw.get('input'), reference)
        if self._known and content not in self._by_content:
            raise DataError(self._file, 'it judges a record that is not in the data', number)
        record_id = self._by_content.setdefault(content, str(len(self._by_content)))
        if record_id not in self._gold_steps:
            texts = [item.get('step') for item in reference or () if isinstance(item, dict)]
            self._gold_steps[record_id] = [step for text in texts if (step := step_number(text))]
        return record_id

    def _digest(self, record_id: str, step: str, data: Any) -> str:
        """Of what was judged, if the record is known and the row has the answer."""
        row = read_recorded_row(data)
        record = self._by_id.get(record_id)
        if row is None or record is None or not isinstance(row.answer, (str, list)):
            return ''
        key = record_id, str(row.answer)
        if key not in self._digests:
            self._digests[key] = digests_of(record, row.answer, self._protocol)
        return self._digests[key].get(step, answer_digest(None))

    def missing(self, judgements: Mapping[tuple[str, str, str], Judged]) -> Iterator[Judged]:
        """Gold steps that no row is of, of records that the file tells of: the authors judge every tool there is."""
        steps = {(judged.id, judged.step) for judged in judgements.values()}
        for record_id, numbers in self._gold_steps.items():
            yield from (
                Judged(record_id, number, MISSING)
                for number in dict.fromkeys(numbers)
                if (record_id, number) not in steps
            )


def load_judgements(
    file: Path, subset: Subset, protocol: Protocol, records: Sequence[Record] | None = None
) -> list[Judged]:
    """Reads judgements, ours or the authors'.

    Args:
        file: JSON lines.
        subset: Planning or tool creation.
        protocol: How the answers in the authors' rows are read.
        records: The records that are scored. The authors' rows of created tools have no record number: they are told by
            what they hold, and without ``records`` numbered as they come.

    Raises:
        DataError: The file is missing or damaged, of neither shape, or judges one thing twice.
    """
    published = _Published(file, subset, protocol, records)
    judgements: dict[tuple[str, str, str], Judged] = {}
    for number, row in read_rows(file, ''):
        if not isinstance(row, dict) or not ('scores' in row or 'status' in row or 'eval' in row):
            raise DataError(file, "the row has neither 'scores' nor 'eval'", number)
        judged = published.judged(number, row) if 'eval' in row else _own(file, subset, number, row)
        key = judged.id, judged.step, judged.answer_digest
        if key in judgements:
            raise DataError(file, f'it is judged twice (step {judged.step!r})', judged.id)
        judgements[key] = judged
    return [*judgements.values(), *published.missing(judgements)]


def with_answers(
    judgements: Sequence[Judged], answers: Mapping[str, str], records: Sequence[Record], protocol: Protocol
) -> list[Judged]:
    """Judgements that do not say what they judged, with what the predictions beside their file say.

    Args:
        judgements: As :func:`load_judgements` has them.
        answers: Record id -> the answer that was judged; of others nothing is known.
        records: The records.
        protocol: How answers are read.
    """
    silent = {judged.id for judged in judgements if is_silent(judged)}
    digests = {
        record.id: digests_of(record, answers[record.id], protocol)
        for record in records
        if record.id in silent and record.id in answers
    }
    return [
        replace(judged, answer_digest=digests[judged.id].get(judged.step, answer_digest(None)))
        if is_silent(judged) and judged.id in digests
        else judged
        for judged in judgements
    ]


def check_single(judgements: Sequence[Judged], file: Path) -> None:
    """Checks that nothing was judged in several answers: without the answers nobody can tell which counts.

    Raises:
        DataError: Something was.
    """
    seen: set[tuple[str, str]] = set()
    for judged in judgements:
        if (judged.id, judged.step) in seen:
            what = 'the file judges several answers to it (several runs), and nothing says which counts'
            raise DataError(file, what, judged.id)
        seen.add((judged.id, judged.step))


def judgement_rows(scores: Sequence[StepsScore]) -> Iterator[dict[str, Any]]:
    """Scored samples as rows of a file of judgements, which :func:`load_judgements` reads."""
    statuses = {TOOL_MISSING: MISSING, EMPTY: MISSING, UNJUDGED: FAILED}
    for score in scores:
        for step in score.steps:
            status = statuses.get(step.reason, JUDGED)
            scores_of = dict(step.predicted) if status == JUDGED else {}
            row = {'id': score.id, 'step': step.number, 'status': status, 'scores': scores_of, 'why': dict(step.why)}
            yield {**row, 'answer_digest': step.answer_digest, **({'fault': step.fault} if step.fault else {})}
