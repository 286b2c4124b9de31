"""Reads and writes files of judgements: ours and the authors'.

Our files (:mod:`~opencompass_tooleval.judging.judgement_files`) have ``{"scores", "why"}`` for each judged item, and a
line for every gold step without a created tool (``missing``), so that a file can be scored alone. Older lines lack
``why``. Several runs of a data set may share a file.

The authors' lines contain the judged row: ``{"data": ROW, "eval": [{"准确性分数": 8, ...}, ...]}`` for a plan,
``{"data": ROW, "step": STEP, "eval": [...]}`` for a created tool (``eval/tool_creation_eval.json``). ``ROW`` has record
and answer as in the authors' files of answers; for a created tool also ``golden``, the gold steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import Record, Subset, parse_record, read_rows, step_number
from opencompass_tooleval.benchmarks.ultratool.judge import LOWEST, Scores, parse_scores
from opencompass_tooleval.benchmarks.ultratool.protocol import Protocol
from opencompass_tooleval.benchmarks.ultratool.reading import without_thoughts
from opencompass_tooleval.benchmarks.ultratool.score_judged import (
    FULL,
    NOTHING_TO_JUDGE,
    Judged,
    dimensions,
    items_to_judge,
)
from opencompass_tooleval.benchmarks.ultratool.score_steps import StepsScore
from opencompass_tooleval.benchmarks.ultratool.scoring import read_answer, score_answer
from opencompass_tooleval.core.errors import DataError, Fault
from opencompass_tooleval.core.text.jsonable import answer_digest, bounded_text
from opencompass_tooleval.judging.grading import Item, ItemGrading, item_digests
from opencompass_tooleval.judging.judgement import MISSING, UNJUDGED, Unjudged, Unread, read_judgement
from opencompass_tooleval.judging.judgement_files import read_judgements
from opencompass_tooleval.work_dir.recorded import read_recorded_row


def _read_scores(names: Sequence[str], row: Mapping[str, Any]) -> Scores | Unread:
    """Parses the judge's scores in one of our rows."""
    scores, why = row.get('scores'), row.get('why')
    if not isinstance(scores, dict) or any(
        isinstance(scores.get(name), bool) or not isinstance(scores.get(name), (int, float)) for name in names
    ):
        raise Fault(f"'scores' needs numbers for {', '.join(names)}")
    outside = next((name for name in names if not LOWEST <= scores[name] <= FULL), None)
    if outside:
        return Unread(f'range:{outside}')
    reasons = {name: bounded_text(why[name]) for name in names if why.get(name)} if isinstance(why, dict) else {}
    return Scores({name: float(scores[name]) for name in names}, reasons)


def _content(steps: Any, reference: Any) -> str:
    """Returns text that identifies a record of tool creation; gold steps alone are not unique (39 pairs are equal)."""
    return json.dumps([steps, reference], sort_keys=True, ensure_ascii=False)


class _Published:
    """Parses the authors' rows, one after the other.

    Args:
        grading: The answers to score, with their records if these are known.
    """

    def __init__(self, grading: ScoresGrading) -> None:
        self._grading, self._known = grading, bool(grading.records)
        self._by_id = {record.id: record for record in grading.records}
        self._by_content = {
            _content(record.raw.get('input'), record.raw.get('reference')): record.id for record in grading.records
        }
        self._digests: dict[tuple[str, str], dict[str, str]] = {}
        self._gold_steps: dict[str, list[str]] = {}

    def judged(self, number: str, row: Mapping[str, Any]) -> Judged:
        """Returns the judgement of a row.

        One published plan has 0 in six dimensions, outside the scale; Table 4 and official scoring count it.
        """
        data, step, record_id = row.get('data'), '', number
        if self._grading.subset.kind == 'creation':
            step = step_number(row.get('step')) or ''
            if not step or not isinstance(data, dict):
                raise Fault("the row of a created tool needs 'data' and the text of its 'step'")
            record_id = self._record_id(data)
        verdict = parse_scores(row['eval'], self._grading.subset.task, LOWEST if self._grading.rules.strict else 0)
        return Judged(record_id, step, answer_digest=self._digest(record_id, step, data)).with_verdict(verdict)

    def _record_id(self, data: Mapping[str, Any]) -> str:
        """Returns the record of a created tool, by its content; without known records, its index in the file."""
        row = read_recorded_row(data)
        raw = row.record if row and isinstance(row.record, dict) else {}
        reference = raw.get('reference', data.get('golden'))
        content = _content(raw.get('input'), reference)
        if self._known and content not in self._by_content:
            raise Fault('it judges a record that is not in the data')
        record_id = self._by_content.setdefault(content, str(len(self._by_content)))
        if record_id not in self._gold_steps:
            texts = [item.get('step') for item in reference or () if isinstance(item, dict)]
            self._gold_steps[record_id] = [step for text in texts if (step := step_number(text))]
        return record_id

    def _digest(self, record_id: str, step: str, data: Any) -> str:
        """Returns the digest of the judged answer, if the record is known and the row contains the answer."""
        row = read_recorded_row(data)
        record = self._by_id.get(record_id)
        if record is None and row is not None and self._grading.carried:
            with suppress(Fault):
                record = parse_record(record_id, row.record, self._grading.subset, 'zh')
                self._by_id[record_id] = record
        if row is None or record is None or not isinstance(row.answer, (str, list)):
            return ''
        key = record_id, str(row.answer)
        if key not in self._digests:
            items = self._grading.items_of(record, without_thoughts(row.answer))
            self._digests[key] = item_digests(items)
        return self._digests[key].get(step, answer_digest(None))

    def missing(self, judgements: Sequence[Judged]) -> Iterator[Judged]:
        """Yields gold steps without a row, for records in the file, since the authors judge every existing tool."""
        steps = {(judged.id, judged.step) for judged in judgements}
        for record_id, numbers in self._gold_steps.items():
            yield from (
                Judged(record_id, number, MISSING)
                for number in dict.fromkeys(numbers)
                if (record_id, number) not in steps
            )


@dataclass
class ScoresGrading(ItemGrading[Record, Scores, StepsScore]):
    """Grading of plans or created tools, with scores from a judge.

    Attributes:
        records: The records; empty if unknown. The authors' rows of created tools have no record number: their content
            identifies them, and without records they are numbered in order.
        answers: The answers.
        subset: Planning or tool creation.
        rules: Rules for parsing and scoring answers.
        carried: True to take missing records from the authors' rows, so that their judgements identify the judged
            answers.
    """

    subset: Subset
    rules: Protocol
    carried: bool = False

    def read(self, file: Path) -> list[Judged]:
        """Reads judgements, ours or the authors', from JSON lines.

        Raises:
            DataError: The file is missing or damaged, in another format, or judges an item twice.
        """
        published, names = _Published(self), dimensions(self.subset)

        def read_row(number: str, row: Mapping[str, Any]) -> Judged:
            if not row.keys() & {'scores', 'status', 'eval'}:
                raise Fault("the row has neither 'scores' nor 'eval'")
            if 'eval' in row:
                return published.judged(number, row)
            return read_judgement(number, row, partial(_read_scores, names))

        judgements = read_judgements(file, read_rows(file, ''), read_row)
        return [*judgements, *published.missing(judgements)]

    def members(self, found: Scores) -> dict[str, Any]:
        """Converts scores to members of a row."""
        return found.to_row()

    def items_of(self, record: Record, answer: Any) -> Iterator[Item[Scores]]:
        """Yields the plan in an answer, or the created tool for each gold step."""
        return items_to_judge(record, read_answer(self.subset, answer, self.rules), self.rules)

    def score_answer(self, record: Record, answer: Any, judgements: Sequence[Judged]) -> StepsScore:
        """Scores an answer."""
        return score_answer(record, answer, self.rules, judgements)

    def opinions(self, score: StepsScore) -> Iterator[Unjudged | None]:
        """Yields None for each judged plan or created tool, or why its judgement is missing."""
        for step in score.steps:
            if step.reason not in NOTHING_TO_JUDGE:
                where = f'record {score.id}' + (f', step {step.number}' if step.number else '')
                yield Unjudged(where, step.fault) if step.reason == UNJUDGED else None


def check_single(judgements: Sequence[Judged], file: Path) -> None:
    """Checks that no item was judged in several answers, since without the answers it is unknown which one counts.

    Raises:
        DataError: An item was judged in several answers.
    """
    seen: set[tuple[str, str]] = set()
    for judged in judgements:
        if (judged.id, judged.step) in seen:
            what = 'the file judges several answers to this record (several runs), and it is unknown which one counts'
            raise DataError(file, what, judged.id)
        seen.add((judged.id, judged.step))
