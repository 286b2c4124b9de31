"""Scores planning and tool creation with a judge: 1-10 per dimension, shown as 0-100 (UltraTool, section 3.1).

Judgements are data (``judgement_rows.py``), and each counts only for the answer that it judged. The judge sees the same
items as in the paper (App. B.2).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.data import Record, Subset
from opencompass_tooleval.benchmarks.ultratool.judge import LABELS, Scores, judge_prompt, parse_scores
from opencompass_tooleval.benchmarks.ultratool.judge_prompts import SYSTEM
from opencompass_tooleval.benchmarks.ultratool.protocol import Protocol
from opencompass_tooleval.benchmarks.ultratool.score_steps import (
    NOT_JUDGED,
    NOT_PERFECT,
    TOOL_MISSING,
    SampleResult,
    StepScore,
    flat_mean,
    item_of,
)
from opencompass_tooleval.core.calls.answer import EMPTY
from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.core.text.jsonable import answer_digest, to_jsonable
from opencompass_tooleval.core.text.reading import Parsed
from opencompass_tooleval.judging.grading import Item
from opencompass_tooleval.judging.judge_item import JudgeItem
from opencompass_tooleval.judging.judgement import FAILED, MISSING, NO_JUDGEMENT, UNJUDGED, Judgement

JUDGED_KINDS = ('planning', 'creation')
"""Kinds of subsets that need a judge."""

FULL = 10
NOTHING_TO_JUDGE = frozenset({TOOL_MISSING, EMPTY})
"""Reasons of steps without an item to judge: no created tool, or no plan."""


Judged = Judgement[Scores]
"""The judgement of a plan, or of the created tool for a gold step: ``step`` is the step's number."""


def dimensions(subset: Subset) -> tuple[str, ...]:
    """Returns the judge's dimensions of a task, in the paper's order."""
    return tuple(LABELS[subset.task])


def _is_tool(tool: Any) -> bool:
    return isinstance(tool, dict) and bool(tool)


def _with_lists(value: Any) -> Any:
    """Replaces tuples by lists: the published code converts created tools to JSON for its judge."""
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return [_with_lists(item) for item in value] if isinstance(value, (list, tuple)) else value


def created_tools(record: Record, items: Sequence[Any], protocol: Protocol) -> dict[str, Mapping[str, Any]]:
    """Returns the created tools to judge: number of a gold step -> its tool, a non-empty object.

    In official scoring the first item with the number and a tool decides, valid or not; in strict scoring the first
    item whose tool can be judged.
    """
    tools = {}
    for step in record.reference:
        item, _ = item_of(
            items, step, protocol, lambda item: _is_tool(item.get('tool')) if protocol.strict else 'tool' in item
        )
        if item is not None and _is_tool(item['tool']):
            tools[step.number] = _with_lists(item['tool'])
    return tools


def judged_parts(record: Record, parsed: Parsed, protocol: Protocol) -> dict[str, Any]:
    """Returns the parts of an answer to judge: its plan under ``''``, or the created tools by step number.

    A missing plan (an empty answer, unfinished thoughts, no text) is left out.
    """
    if record.subset.kind == 'planning':
        return {'': parsed.value} if isinstance(parsed.value, str) and parsed.value.strip() else {}
    return dict(created_tools(record, parsed.value if isinstance(parsed.value, list) else (), protocol))


def complete(record: Record, judgements: Sequence[Judged]) -> list[Judged]:
    """Returns the judgements of a record with an unknown answer, one per possible item.

    An item without a row is ``unjudged``; for a gold step without a created tool, files have a row with ``missing``.
    """
    by_step = {judged.step: judged for judged in judgements}
    return [by_step.get(number, Judged(record.id, number, FAILED, fault=NO_JUDGEMENT)) for number in numbers(record)]


def numbers(record: Record) -> list[str]:
    """Returns the step number of each possible item."""
    return [''] if record.subset.kind == 'planning' else [step.number for step in record.reference]


def not_judged(record: Record, parsed: Parsed, protocol: Protocol) -> SampleResult:
    """Returns the result of an answer without a judge: every score is None."""
    parts, names = judged_parts(record, parsed, protocol), dimensions(record.subset)
    missing = EMPTY if record.subset.kind == 'planning' else TOOL_MISSING
    reasons = {number: NOT_JUDGED if number in parts else missing for number in numbers(record)}
    steps = tuple(
        StepScore(number, dict.fromkeys(names), reason, codes=(reason,)) for number, reason in reasons.items()
    )
    return SampleResult(dict.fromkeys(names), steps)


def _step(judged: Judged, names: Sequence[str]) -> StepScore:
    if found := judged.found:
        values: dict[str, float | None] = {name: found.scores[name] / FULL for name in names}
        reason = OK if all(value == 1 for value in values.values()) else NOT_PERFECT
        return StepScore(
            judged.step, values, reason, dict(found.scores), why=dict(found.why), answer_digest=judged.answer_digest
        )
    if judged.status == MISSING:
        reason = TOOL_MISSING if judged.step else EMPTY
        return StepScore(judged.step, dict.fromkeys(names, 0.0), reason, codes=(reason,))
    return StepScore(
        judged.step,
        dict.fromkeys(names),
        UNJUDGED,
        codes=(UNJUDGED,),
        answer_digest=judged.answer_digest,
        fault=judged.fault,
    )


def score(subset: Subset, judgements: Sequence[Judged], protocol: Protocol) -> SampleResult:
    """Computes the scores of one sample: the scores of its plan, or means over its created tools.

    In official scoring a missing tool is left out, unless the sample has no tool at all: then each step counts 0. In
    strict scoring every missing tool counts 0. Missing judgements are left out of the mean and counted.
    """
    names = dimensions(subset)
    steps = tuple(_step(judged, names) for judged in judgements)
    counted = [step for step in steps if step.reason not in {*NOTHING_TO_JUDGE, UNJUDGED}]
    tried = any(step.reason not in NOTHING_TO_JUDGE for step in steps)
    if protocol.strict or not tried:
        counted = [step for step in steps if step.reason != UNJUDGED]
    else:  # a detail must not show a 0 that is left out
        steps = tuple(
            replace(step, values=dict.fromkeys(names)) if step.reason in NOTHING_TO_JUDGE else step for step in steps
        )
    flat = {name: tuple(float(step.values[name] or 0) for step in counted) for name in names}
    return SampleResult({name: flat_mean(flat[name]) for name in names}, steps, flat=flat)


def _tool_text(tool: Any, protocol: Protocol) -> str:
    """Formats a tool; in official scoring as Python does."""
    return json.dumps(to_jsonable(tool), ensure_ascii=False) if protocol.strict else str(tool)


def _question(step: str, protocol: Protocol) -> str:
    """Returns the question for the judge of a created tool; in official scoring, the word after the step's number.

    For ``1.2 Query the rate`` it is ``Query``; a Chinese step is mostly one word.
    """
    return step if protocol.strict else ''.join(step.split(' ')[1:2])


def items_to_judge(record: Record, parsed: Parsed, protocol: Protocol) -> Iterator[Item[Scores]]:
    """Yields the plan in an answer, or the created tool for each gold step.

    Yields:
        The judgement without the judge's reply, and the question; None if nothing can be judged. ``12`` names the plan
        of record 12, ``12/1.2`` its tool for step 1.2.
    """
    parts, task = judged_parts(record, parsed, protocol), record.subset.task
    texts = {
        step.number: (_question(step.text, protocol), _tool_text(step.tool, protocol)) for step in record.reference
    }
    for number in numbers(record):
        if number not in parts:
            yield Judgement(record.id, number, MISSING), None
            continue
        part = parts[number]
        shown = (*texts[number], _tool_text(part, protocol)) if number else (record.question, record.plan, part)
        prompt, name = judge_prompt(task, record.language, *shown), f'{record.id}/{number}' if number else record.id
        item = JudgeItem(name, prompt, partial(parse_scores, task=task), SYSTEM)
        yield Judgement(record.id, number, FAILED, answer_digest=answer_digest(part)), item
