"""Scores tool usage: the arguments of the call of each step (UltraTool, section 3.4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rapidfuzz.distance import Levenshtein

from opencompass_tooleval.benchmarks.ultratool.data import GoldStep, Record
from opencompass_tooleval.benchmarks.ultratool.protocol import Protocol
from opencompass_tooleval.benchmarks.ultratool.score_selection import wrong_name
from opencompass_tooleval.benchmarks.ultratool.score_steps import (
    ARGS_EXTRA,
    ARGS_HALLUCINATED,
    ARGS_MISSING,
    ARGS_NO_GOLD,
    ARGS_WRONG,
    STEP_MISSING,
    UNREADABLE,
    ArgumentScore,
    SampleResult,
    StepScore,
    item_of,
    other_steps,
)
from opencompass_tooleval.core.calls.one_call import NOT_AN_OBJECT
from opencompass_tooleval.core.scoring.result import OK

LOCAL = 'local_levenshtein'
_EMPTY: tuple[Any, ...] = ('', [], {})


def similarity(predicted: Any, gold: Any) -> float:
    """Returns 1 - Levenshtein distance / longer length, of ``str()`` of both values.

    If the gold value is empty, returns 1 for an empty prediction, else 0.
    """
    if gold in _EMPTY:
        return float(predicted in _EMPTY)
    left, right = str(predicted), str(gold)
    return 1 - Levenshtein.distance(left, right) / max(len(left), len(right))


def _unescaped(value: Any) -> Any:
    """Replaces ``\\_``, Markdown's escaped underscore, by ``_`` in a text."""
    return value.replace('\\_', '_') if isinstance(value, str) else value


def _compared(param: Mapping[Any, Any], protocol: Protocol) -> Mapping[Any, Any]:
    """Returns the arguments as the published scorer compares them; of equal names, the first counts."""
    if protocol.strict:
        return param
    compared: dict[Any, Any] = {}
    for name, value in param.items():
        compared.setdefault(_unescaped(name), _unescaped(value))
    return compared


def _arguments(record: Record, step: GoldStep, param: Mapping[Any, Any]) -> Iterator[ArgumentScore]:
    gold = step.param or {}
    for name, value in gold.items():
        if name not in param:
            yield ArgumentScore(name, ARGS_MISSING, 0.0, None, value)
            continue
        alike = similarity(param[name], value)
        yield ArgumentScore(name, OK if alike == 1 else ARGS_WRONG, alike, param[name], value)
    documented = next((tool.properties for tool in record.toolset if tool.name == step.tool), None)
    for name, value in param.items():
        if name not in gold:
            extra = documented is None or name in documented
            yield ArgumentScore(str(name), ARGS_EXTRA if extra else ARGS_HALLUCINATED, None, value)


def _tool_codes(record: Record, step: GoldStep, item: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the code of a wrong tool, which is only counted: the question names the tool, so it costs no point."""
    tool = item.get('tool')
    return (wrong_name(record, tool),) if isinstance(tool, str) and tool != step.tool else ()


def _score_step(record: Record, step: GoldStep, items: Sequence[Any], protocol: Protocol) -> StepScore:
    item, seen = item_of(items, step, protocol, lambda item: protocol.strict or 'param' in item)
    if item is None:
        reason = UNREADABLE if seen else STEP_MISSING
        return StepScore(step.number, {LOCAL: 0.0}, reason, None, step.param, (reason,))
    param = item.get('param')
    codes = _tool_codes(record, step, item)
    if not isinstance(param, dict):
        return StepScore(step.number, {LOCAL: 0.0}, NOT_AN_OBJECT, param, step.param, (*codes, NOT_AN_OBJECT))
    arguments = tuple(_arguments(record, step, _compared(param, protocol)))
    codes += tuple(argument.reason for argument in arguments if argument.reason != OK)
    alike = [argument.value for argument in arguments if argument.value is not None]
    if not alike:
        value = float(protocol.strict and not param)
        reason = OK if value else ARGS_NO_GOLD
        return StepScore(step.number, {LOCAL: value}, reason, param, step.param, codes, arguments)
    value = sum(alike) / len(alike)
    reason = next((argument.reason for argument in arguments if argument.reason != OK), OK) if value < 1 else OK
    return StepScore(step.number, {LOCAL: value}, reason, param, step.param, codes, arguments)


def score(record: Record, items: Sequence[Any], protocol: Protocol) -> SampleResult:
    """Scores the items of an answer: the mean over gold arguments, then over steps.

    A step without gold arguments scores 0 in official scoring; in strict scoring 1 if the prediction has none too.
    """
    steps = tuple(_score_step(record, step, items, protocol) for step in record.reference)
    values = tuple(float(step.values[LOCAL] or 0) for step in steps)
    others = tuple(other_steps(record, items, protocol))
    return SampleResult({LOCAL: sum(values) / len(values)}, steps, others, {LOCAL: values})
