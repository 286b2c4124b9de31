"""What of an answer is shown to the judge, item by item (arXiv 2401.17167, App. B.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.jsonable import to_jsonable
from opencompass_tooleval.core.reading import Parsed
from opencompass_tooleval.core.verdicts import FAILED, JUDGED, answer_digest
from opencompass_tooleval.ultratool.judge import Judgement, judge_prompt
from opencompass_tooleval.ultratool.protocol import Protocol
from opencompass_tooleval.ultratool.records import Record
from opencompass_tooleval.ultratool.score_judged import Judged, judged_parts


@dataclass(frozen=True)
class Item:
    """One thing to judge.

    Attributes:
        record: Id of its record.
        step: Number of the gold step that a created tool is for; ``''`` for a plan.
        prompt: What the judge is asked.
        answer_digest: Of what is judged.
    """

    record: str
    step: str
    prompt: str
    answer_digest: str

    @property
    def id(self) -> str:
        """``12`` for the plan of record 12, ``12/1.2`` for its tool for step 1.2."""
        return f'{self.record}/{self.step}' if self.step else self.record


def _tool_text(tool: Any, protocol: Protocol) -> str:
    """Officially as Python writes it."""
    return json.dumps(to_jsonable(tool), ensure_ascii=False) if protocol.strict else str(tool)


def _question(step: str, protocol: Protocol) -> str:
    """What the judge of a created tool gets as the question: officially the word after the step's number.

    Of ``1.2 Query the rate`` that is ``Query``; a Chinese step is one word in most cases.
    """
    return step if protocol.strict else ''.join(step.split(' ')[1:2])


def items_to_judge(record: Record, parsed: Parsed, protocol: Protocol) -> Iterator[Item]:
    """The plan of an answer, or each created tool for a gold step; nothing of an answer that has neither."""
    parts = judged_parts(record, parsed, protocol)
    if record.subset.kind == 'planning':
        for plan in parts.values():
            prompt = judge_prompt('planning', record.language, record.question, record.plan, plan)
            yield Item(record.id, '', prompt, answer_digest(plan))
        return
    for step in record.reference:
        if step.number in parts:
            gold, tool = (_tool_text(value, protocol) for value in (step.tool, parts[step.number]))
            question = _question(step.text, protocol)
            prompt = judge_prompt('tool_creation', record.language, question, gold, tool)
            yield Item(record.id, step.number, prompt, answer_digest(parts[step.number]))


def judged_of(item: Item, judgement: Judgement | None, fault: str = '') -> Judged:
    """An item with what the judge says of it, or, without, why it says nothing."""
    if judgement is None:
        return Judged(item.record, item.step, FAILED, answer_digest=item.answer_digest, fault=fault)
    return Judged(item.record, item.step, JUDGED, judgement.scores, judgement.why, item.answer_digest)
