"""Scores requests: one record and one answer in, one score out. An answer is right or wrong."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from opencompass_tooleval.core.calls.answer import Answer, visible_text
from opencompass_tooleval.core.calls.one_call import NO_CALL, SEVERAL_CALLS, call_fault, why_no_call
from opencompass_tooleval.core.calls.tool_calls import GoldCall, ToolCall
from opencompass_tooleval.core.scoring.refusal import REFUSED, is_refusal
from opencompass_tooleval.core.scoring.result import OK, SampleScore
from opencompass_tooleval.core.scoring.scorer import Scorer
from opencompass_tooleval.extras.conformance import VERSION
from opencompass_tooleval.extras.conformance.description import METRICS, RIGHT_RATE
from opencompass_tooleval.extras.conformance.records import Record, find_subset, parse_payload
from opencompass_tooleval.extras.typed_result import find_result, is_same

WRONG_TOOL = 'name:wrong'
MISSING_CALL, EXTRA_CALL = 'calls:missing', 'calls:extra'
MISSING_ARGUMENT, EXTRA_ARGUMENT, WRONG_ARGUMENT = 'args:missing', 'args:extra', 'args:wrong'
NEEDLESS_CALL = 'goal:needless_call'
OTHER_RESULT = 'goal:result'

_EXACT = frozenset('"\'\\`<>{}[]\n\r\t')
"""Marks in a text that make its comparison exact, since its escapes are tested."""


def same_value(value: Any, gold: Any) -> bool:
    """Compares an argument with the gold value: by value and type; texts without marks ignoring case and spaces."""
    if isinstance(gold, dict):
        is_same_object = isinstance(value, dict) and value.keys() == gold.keys()
        return is_same_object and all(same_value(value[key], gold[key]) for key in gold)
    if isinstance(gold, list):
        is_as_long = isinstance(value, list) and len(value) == len(gold)
        return is_as_long and all(map(same_value, value, gold))
    if isinstance(gold, str):
        return isinstance(value, str) and (value == gold or _plain(value) == _plain(gold) != '')
    if isinstance(gold, bool) or gold is None:
        return value is gold
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and (value == gold or (isinstance(gold, float) and math.isclose(value, gold, rel_tol=1e-9)))


def _plain(text: str) -> str:
    """Prepares a text for comparison; returns ``''`` for a text that must be compared exactly."""
    return '' if _EXACT & set(text) else ' '.join(unicodedata.normalize('NFKC', text).casefold().split())


def score_answer(record: Record, answer: Answer) -> SampleScore:
    """Scores the answer to one request.

    Returns:
        ``right_rate`` and the metric of the record's kind, both 1 if the answer is right: exactly the gold calls, in
        any order, with their arguments; or the gold result, without a call.
    """
    visible = visible_text(answer)
    reason = answer.reason or (_calls_fault if record.calls else _result_fault)(record, answer, visible)
    if reason == NO_CALL and is_refusal(visible.text):
        reason = REFUSED
    values = dict.fromkeys(metric.name for metric in METRICS)
    right = float(not reason)
    parsed: Any = [call.to_payload() for call in answer.calls]
    method = 'calls' if parsed else 'none'
    if not parsed and visible.text:
        parsed, method = find_result(visible.text), 'result'
    gold = [{'name': call.name, 'arguments': call.arguments} for call in record.calls] or record.result
    values_of_record = {**values, RIGHT_RATE: right, record.kind: right}
    return SampleScore(record.id, values_of_record, reason or OK, parsed, method, gold)


def _result_fault(record: Record, answer: Answer, visible: Answer) -> str:
    if answer.calls:
        return NEEDLESS_CALL
    if visible.reason or is_same(record.form, find_result(visible.text), record.result):
        return visible.reason or ''
    return REFUSED if is_refusal(visible.text) else OTHER_RESULT


def _calls_fault(record: Record, answer: Answer, visible: Answer) -> str:
    if not answer.calls:
        return why_no_call(answer)
    schemas = {tool.name: tool.parameters for tool in record.tools}
    if fault := next(filter(None, (call_fault(call, schemas) for call in answer.calls)), ''):
        return fault
    made, wanted = Counter(call.name for call in answer.calls), Counter(call.name for call in record.calls)
    if wanted - made:
        return WRONG_TOOL if len(record.calls) == 1 else MISSING_CALL
    if made - wanted:
        return SEVERAL_CALLS if len(record.calls) == 1 else EXTRA_CALL
    return _arguments_fault(answer.calls, record.calls)


def _arguments_fault(calls: Sequence[ToolCall], gold_calls: Sequence[GoldCall]) -> str:
    """Returns the error of the first call that equals no gold call; each gold call counts once."""
    left = list(gold_calls)
    others = []
    for call in calls:
        equal = (gold for gold in left if gold.name == call.name and same_value(call.arguments, gold.arguments))
        if (found := next(equal, None)) is None:
            others.append(call)
        else:
            left.remove(found)
    if not others:
        return ''
    gold = next(gold for gold in left if gold.name == others[0].name)
    return _fault_of(others[0].arguments, gold.arguments)


def _fault_of(arguments: Mapping[str, Any], gold: Mapping[str, Any]) -> str:
    if gold.keys() - arguments.keys():
        return MISSING_ARGUMENT
    return EXTRA_ARGUMENT if arguments.keys() - gold.keys() else WRONG_ARGUMENT


class ConformanceScorer(Scorer):
    """Scores the requests.

    Args:
        subset: ``requests``.
    """

    def __init__(self, subset: str) -> None:
        self.subset = find_subset(subset)

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {'benchmark': 'conformance', 'subset': self.subset.name, 'version': VERSION}

    read_record = staticmethod(parse_payload)

    def score_records(self, records: Sequence[Record], answers: Sequence[Answer]) -> list[SampleScore]:
        """Scores answers against records."""
        return [score_answer(record, answer) for record, answer in zip(records, answers, strict=True)]
