"""What of an answer is shown to the judge, item by item (arXiv 2401.17167, App. B.2)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.core.jsonable import to_jsonable
from opencompass_tooleval.core.parse import Parsed
from opencompass_tooleval.core.result import INFRA
from opencompass_tooleval.ultratool.judge import Judgement, judge_prompt
from opencompass_tooleval.ultratool.protocol import Protocol
from opencompass_tooleval.ultratool.records import Record
from opencompass_tooleval.ultratool.score_judged import FAILED, JUDGED, MISSING, Judged, created_tools


@dataclass(frozen=True)
class Item:
    """One thing to judge.

    Attributes:
        record: Id of its record.
        step: Number of the gold step that a created tool is for; ``''`` for a plan.
        prompt: What the judge is asked; ``''`` where no answer came and there is nothing to ask.
    """

    record: str
    step: str
    prompt: str

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
    """The plan of an answer, or each created tool for a gold step."""
    if record.subset.kind == 'planning':
        unanswered = parsed.reason.startswith(INFRA)
        shown = str(parsed.value or '')
        prompt = '' if unanswered else judge_prompt('planning', record.language, record.question, record.plan, shown)
        yield Item(record.id, '', prompt)
        return
    created = created_tools(record, parsed.value if isinstance(parsed.value, list) else (), protocol)
    for step in record.reference:
        if step.number in created:
            gold, tool = (_tool_text(value, protocol) for value in (step.tool, created[step.number]))
            question = _question(step.text, protocol)
            yield Item(record.id, step.number, judge_prompt('tool_creation', record.language, question, gold, tool))


def judged_of(item: Item, judgement: Judgement | None) -> Judged:
    """An item with what the judge says of it: ``judged``, ``unjudged``, or ``missing`` if there was nothing to ask."""
    if judgement is not None:
        return Judged(item.record, item.step, JUDGED, judgement.scores, judgement.why)
    return Judged(item.record, item.step, FAILED if item.prompt else MISSING)
