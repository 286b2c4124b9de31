"""Splits an answer into the items that the judge sees (arXiv 2401.17167, App. B.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from opencompass_tooleval.benchmarks.ultratool.judge import judge_prompt, parse_scores
from opencompass_tooleval.benchmarks.ultratool.judge_prompts import SYSTEM
from opencompass_tooleval.benchmarks.ultratool.protocol import Protocol
from opencompass_tooleval.benchmarks.ultratool.records import Record
from opencompass_tooleval.benchmarks.ultratool.score_judged import Judged, judged_parts, numbers
from opencompass_tooleval.core.jsonable import answer_digest, to_jsonable
from opencompass_tooleval.core.reading import Parsed
from opencompass_tooleval.judging.judge_item import JudgeItem
from opencompass_tooleval.judging.judgement import FAILED, MISSING, Judgement


def _tool_text(tool: Any, protocol: Protocol) -> str:
    """Formats a tool; officially as Python does."""
    return json.dumps(to_jsonable(tool), ensure_ascii=False) if protocol.strict else str(tool)


def _question(step: str, protocol: Protocol) -> str:
    """Returns the question for the judge of a created tool: officially the word after the step's number.

    For ``1.2 Query the rate`` it is ``Query``; a Chinese step is one word in most cases.
    """
    return step if protocol.strict else ''.join(step.split(' ')[1:2])


def items_to_judge(record: Record, parsed: Parsed, protocol: Protocol) -> Iterator[tuple[Judged, JudgeItem | None]]:
    """Yields the plan of an answer, or the created tool for each gold step.

    Yields:
        The judgement without the judge's reply, and the question; None if there is nothing to judge. ``12`` names the
        plan of record 12, ``12/1.2`` its tool for step 1.2.
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
