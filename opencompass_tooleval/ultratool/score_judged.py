"""Planning and tool creation: a judge's scores, 1-10 in each dimension, shown on 0-100 (UltraTool, section 3.1).

Judgements come as data. A file of ours has one line per judged thing, ``{"id", "step", "status", "scores", "why"}``
(older ones have no ``why``), and one for every gold step without a created tool (``missing``), so that it can be scored
on its own. The authors' file has one line per plan, ``{"data": ..., "eval": [{"准确性分数": 8, ...}, ...]}``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.core.jsonable import bounded_text
from opencompass_tooleval.core.result import OK
from opencompass_tooleval.ultratool.judge import LABELS, LOWEST, parse_judgement
from opencompass_tooleval.ultratool.protocol import Protocol
from opencompass_tooleval.ultratool.records import Record, Subset, read_rows
from opencompass_tooleval.ultratool.score_steps import (
    NOT_PERFECT,
    TOOL_MISSING,
    UNJUDGED,
    Outcome,
    StepScore,
    StepsScore,
    flat_mean,
    item_of,
)

JUDGED, FAILED, MISSING = 'judged', 'unjudged', 'missing'
STATUSES = (JUDGED, FAILED, MISSING)

FULL = 10
UNJUDGED_LIMIT = 0.01
"""Share of unjudged above which an evaluation fails."""


@dataclass(frozen=True)
class Judged:
    """One judgement.

    Attributes:
        id: Record id.
        step: Number of the gold step that the created tool is for; ``''`` for a plan.
        status: ``judged``, ``unjudged`` (the judge's reply could not be read) or ``missing`` (nothing to judge).
        scores: Dimension -> 0-10; empty unless ``judged``.
        why: Dimension -> the judge's reason, where it is known; no score depends on it.
    """

    id: str
    step: str
    status: str
    scores: Mapping[str, float] = field(default_factory=dict)
    why: Mapping[str, str] = field(default_factory=dict)


class UnjudgedError(ValueError):
    """Too much could not be judged for a score to mean anything."""


def dimensions(subset: Subset) -> tuple[str, ...]:
    """The judge's dimensions of a task, in the paper's order."""
    return tuple(LABELS[subset.task])


def _is_tool(tool: Any) -> bool:
    return isinstance(tool, dict) and bool(tool)


def created_tools(record: Record, items: Sequence[Any], protocol: Protocol) -> dict[str, Mapping[str, Any]]:
    """The created tools that are judged: number of a gold step -> its tool, a non-empty object.

    Officially the first item with the number and a tool decides, whatever that is; strictly the first whose tool can be
    judged.
    """
    tools = {}
    for step in record.reference:
        item, _ = item_of(
            items, step, protocol, lambda item: _is_tool(item.get('tool')) if protocol.strict else 'tool' in item
        )
        if item is not None and _is_tool(item['tool']):
            tools[step.number] = item['tool']
    return tools


def _published(subset: Subset, number: str, row: Mapping[str, Any], protocol: Protocol) -> Judged:
    """One plan holds 0 in six dimensions, outside the scale: Table 4 counts it, so official does."""
    judgement = parse_judgement(row['eval'], subset.task, LOWEST if protocol.strict else 0)
    return Judged(number, '', FAILED if judgement.fault else JUDGED, judgement.scores, judgement.why)


def _own(file: Path, subset: Subset, number: str, row: Mapping[str, Any]) -> Judged:
    record_id, step, status = row.get('id', number), row.get('step') or '', row.get('status', JUDGED)
    if status not in STATUSES:
        raise DataError(file, f"'status' is none of {', '.join(STATUSES)}", number)
    if status != JUDGED:
        return Judged(str(record_id), str(step), str(status))
    scores = row.get('scores')
    wanted = dimensions(subset)
    if not isinstance(scores, dict) or any(
        isinstance(scores.get(name), bool) or not isinstance(scores.get(name), (int, float)) for name in wanted
    ):
        raise DataError(file, f"'scores' needs numbers for {', '.join(wanted)}", number)
    if any(not LOWEST <= scores[name] <= FULL for name in wanted):
        return Judged(str(record_id), str(step), FAILED)
    said = row.get('why')
    why = {name: bounded_text(said[name]) for name in wanted if said.get(name)} if isinstance(said, dict) else {}
    return Judged(str(record_id), str(step), JUDGED, {name: float(scores[name]) for name in wanted}, why)


def load_judgements(file: Path, subset: Subset, protocol: Protocol) -> list[Judged]:
    """Reads judgements, ours or the authors'.

    Raises:
        DataError: The file is missing or damaged, of neither shape, or judges one thing twice.
    """
    judgements: dict[tuple[str, str], Judged] = {}
    for number, row in read_rows(file, ''):
        if not isinstance(row, dict) or not ('scores' in row or 'status' in row or 'eval' in row):
            raise DataError(file, "the row has neither 'scores' nor 'eval'", number)
        if 'eval' in row and subset.kind != 'planning':
            raise DataError(file, 'rows of the authors are read for planning only', number)
        judged = _published(subset, number, row, protocol) if 'eval' in row else _own(file, subset, number, row)
        key = (judged.id, judged.step)
        if key in judgements:
            raise DataError(file, f'it is judged twice (step {judged.step!r})', judged.id)
        judgements[key] = judged
    return list(judgements.values())


def complete(record: Record, judgements: Sequence[Judged]) -> list[Judged]:
    """The judgements of a record whose answer is not known, one per thing that could have one.

    What no row is of is ``unjudged``: files say of a gold step without a created tool that it is ``missing``.
    """
    by_step = {judged.step: judged for judged in judgements}
    if record.subset.kind == 'planning':
        return [by_step.get('', Judged(record.id, '', FAILED))]
    return [by_step.get(step.number, Judged(record.id, step.number, FAILED)) for step in record.reference]


def expected(record: Record, items: Sequence[Any], judgements: Sequence[Judged], protocol: Protocol) -> list[Judged]:
    """The judgements of a record's answer, one per thing that could have one.

    What the answer has and no judgement is of is ``unjudged``; what it does not have is ``missing``.
    """
    if record.subset.kind == 'planning':
        return complete(record, judgements)
    by_step = {judged.step: judged for judged in judgements}
    created = created_tools(record, items, protocol)
    return [
        by_step.get(step.number, Judged(record.id, step.number, FAILED))
        if step.number in created
        else Judged(record.id, step.number, MISSING)
        for step in record.reference
    ]


def _step(judged: Judged, names: Sequence[str]) -> StepScore:
    if judged.status == JUDGED:
        values: dict[str, float | None] = {name: judged.scores[name] / FULL for name in names}
        reason = OK if all(value == 1 for value in values.values()) else NOT_PERFECT
        return StepScore(judged.step, values, reason, dict(judged.scores), why=dict(judged.why))
    missing = judged.status == MISSING
    reason = TOOL_MISSING if missing else UNJUDGED
    return StepScore(judged.step, dict.fromkeys(names, 0.0 if missing else None), reason, codes=(reason,))


def score(subset: Subset, judgements: Sequence[Judged], protocol: Protocol) -> Outcome:
    """The scores of one sample: those of its plan, or the means over its created tools.

    Officially a missing tool is left out, unless the sample has none at all: then each of its steps counts 0. Strictly
    every missing tool counts 0. What could not be judged is left out of the mean and counted.
    """
    names = dimensions(subset)
    steps = tuple(_step(judged, names) for judged in judgements)
    counted = [step for step in steps if step.reason not in {TOOL_MISSING, UNJUDGED}]
    tried = any(step.reason != TOOL_MISSING for step in steps)
    if protocol.strict or not tried:
        counted = [step for step in steps if step.reason != UNJUDGED]
    else:  # a detail must not tell of a 0 that does not count
        steps = tuple(
            replace(step, values=dict.fromkeys(names)) if step.reason == TOOL_MISSING else step for step in steps
        )
    flat = {name: tuple(float(step.values[name] or 0) for step in counted) for name in names}
    return Outcome({name: flat_mean(flat[name]) for name in names}, steps, flat=flat)


def judgement_rows(scores: Sequence[StepsScore]) -> Iterator[dict[str, Any]]:
    """Scored samples as rows of a file of judgements, which :func:`load_judgements` reads."""
    for score_ in scores:
        for step in score_.steps:
            status = {TOOL_MISSING: MISSING, UNJUDGED: FAILED}.get(step.reason, JUDGED)
            scores_of = dict(step.predicted) if status == JUDGED else {}
            row = {'id': score_.id, 'step': step.number, 'status': status, 'scores': scores_of}
            yield {**row, 'why': dict(step.why)}


def check_unjudged(steps: Sequence[tuple[str, StepScore]], limit: float = UNJUDGED_LIMIT) -> int:
    """Returns how many things could not be judged.

    Args:
        steps: Record id and step score of everything that had something to judge.
        limit: The share that is allowed.

    Raises:
        UnjudgedError: It is more than ``limit``; the message has the count and an example.
    """
    tried = [(record_id, step) for record_id, step in steps if step.reason != TOOL_MISSING]
    failed = [(record_id, step.number) for record_id, step in tried if step.reason == UNJUDGED]
    if len(failed) > limit * len(tried):
        record_id, number = failed[0]
        where = f'record {record_id}' + (f', step {number}' if number else '')
        raise UnjudgedError(f'{len(failed)} of {len(tried)} could not be judged, for example {where}')
    return len(failed)
