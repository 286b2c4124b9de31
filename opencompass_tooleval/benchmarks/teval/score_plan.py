"""Scores plans: matches predicted with gold steps, and counts the matches in order (T-Eval, App. C.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from opencompass_tooleval.benchmarks.teval.protocol import Protocol
from opencompass_tooleval.benchmarks.teval.records import FINISH, PlannedCall, Record, parse_steps
from opencompass_tooleval.core.scoring.match import best_matching, f1, is_ambiguous, longest_increasing_run
from opencompass_tooleval.core.scoring.result import OK
from opencompass_tooleval.core.scoring.similarity import Similarity
from opencompass_tooleval.core.text.reading import Parsed, parse_enclosed

NAME_WEIGHT = 0.75
ARGS_WEIGHT = 0.25

MAX_STEPS = 100
"""Maximum number of predicted steps to match; the longest gold plan has 20. Precision counts all steps."""

Plan = tuple[PlannedCall, ...]
Values = dict[str, float | None]


def _first_api(text: str, apis: Sequence[str], strict: bool) -> str | None:
    """Returns the API of ``apis`` that occurs first in ``text``.

    If two begin at the same place, the official code takes the one listed first, even if it is a prefix of the other
    (``Map.get`` in ``Map.get_route``); strict scoring takes the longer one.
    """
    occurrences = [
        (position, -len(name) if strict else 0, order)
        for order, name in enumerate(apis)
        if (position := text.find(name)) >= 0
    ]
    return apis[min(occurrences)[2]] if occurrences else None


def _read_lines(record: Record, text: str, protocol: Protocol) -> Parsed:
    steps: list[PlannedCall] = []
    for line in text.replace('. ', '\n').split('\n'):
        name = _first_api(line, record.apis, protocol.strict)
        if name:
            steps.append(PlannedCall(len(steps), name, line))
    return Parsed(tuple(steps), 'lines') if steps else Parsed(None, 'none', 'parse:no_api')


def read(record: Record, text: str, protocol: Protocol) -> Parsed:
    """Parses a plan: a list of ``{id, name, args}``, or one API per line or sentence.

    Returns:
        The value is a tuple of :class:`PlannedCall`, never empty.
    """
    if record.format == 'str':
        return _read_lines(record, text, protocol)
    parsed = protocol.parse(text, lambda part: parse_enclosed(part, '[', ']'))
    if not parsed.ok:
        return parsed
    steps = parse_steps(parsed.value)
    if not steps:
        return Parsed(None, 'none', 'parse:not_steps' if steps is None else 'parse:no_steps')
    return Parsed(steps, parsed.parse_method)


def _ordered(plan: Plan) -> Plan:
    """Returns a plan sorted by id, without a final ``FinishAction``."""
    plan = tuple(sorted(plan, key=lambda step: step.id))
    return plan[:-1] if plan and plan[-1].name == FINISH else plan


def _sides(record: Record, parsed: Parsed) -> tuple[Plan, Plan, int]:
    """Returns the predicted steps to match, the gold steps, and the number of all predicted steps."""
    predicted, gold = _ordered(parsed.value), _ordered(cast(Plan, record.gold))
    return predicted[:MAX_STEPS], gold, len(predicted)


def lists(record: Record, parsed: Parsed) -> tuple[list[str], list[str], list[str], list[str]] | None:
    """Returns predicted names, gold names, predicted args and gold args; None if there is nothing to match."""
    if not parsed.ok:
        return None
    predicted, gold, _ = _sides(record, parsed)
    if not predicted:
        return None
    names = [step.name for step in predicted], [step.name for step in gold]
    args = [step.args for step in predicted], [step.args for step in gold]
    return *names, *args


def texts(record: Record, parsed: Parsed, protocol: Protocol) -> Iterator[str]:
    """Yields the texts that :func:`score` compares."""
    for strings in lists(record, parsed) or ():
        yield from strings


def _weights(strings: Sequence[list[str]], similarity: Similarity) -> NDArray[np.float64]:
    names, gold_names, args, gold_args = strings
    return NAME_WEIGHT * similarity.matrix(names, gold_names) + ARGS_WEIGHT * similarity.matrix(args, gold_args)


def is_tied(record: Record, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> bool:
    """Tests if the result depends on rounding, so that :func:`score` must compute like the reference.

    The official code encodes the names and the arguments of each plan as one batch each. The vectors of two equal steps
    then differ in their last bits, which decide the first match. Only the same batches reproduce this.
    """
    strings = None if protocol.strict else lists(record, parsed)
    return strings is not None and is_ambiguous(_weights(strings, similarity), protocol.plan_threshold)


def _reason(matched: int, in_order: int, predicted: int, gold: int) -> str:
    if in_order == predicted == gold:
        return OK
    if not matched:
        return 'plan:nothing_matched'
    if in_order < matched:
        return 'plan:wrong_order'
    if matched == predicted:
        return 'plan:missing_steps'
    return 'plan:extra_steps' if matched == gold else 'plan:wrong_steps'


def score(record: Record, parsed: Parsed, protocol: Protocol, similarity: Similarity) -> tuple[Values, str]:
    """Computes precision, recall, F1 and parse rate of one plan, 0-1, and the reason.

    A plan with only ``FinishAction`` scores 0; the official code fails on it. If :func:`is_tied` is true,
    ``similarity`` must be a :class:`~opencompass_tooleval.core.scoring.similarity.Batchwise`.
    """
    if not parsed.ok:
        return {'precision': 0.0, 'recall': 0.0, 'f1_score': 0.0, 'parse_rate': 0.0}, parsed.reason
    strings = lists(record, parsed)
    if strings is None:
        return {'precision': 0.0, 'recall': 0.0, 'f1_score': 0.0, 'parse_rate': 1.0}, 'plan:only_finish'
    _, gold, count = _sides(record, parsed)
    weights = _weights(strings, similarity)
    matching = best_matching(weights, protocol.plan_threshold, order=1 if protocol.strict else 0)
    in_order = longest_increasing_run(matching)
    correct = in_order if protocol.strict else max(in_order, 1)  # officially at least one step counts
    precision, recall = correct / count, correct / len(gold)
    values: Values = {'precision': precision, 'recall': recall, 'f1_score': f1(precision, recall), 'parse_rate': 1.0}
    return values, _reason(len(matching), in_order, count, len(gold))


def show(record: Record, plan: Any) -> tuple[Any, list[dict[str, str]]]:
    """Returns the scored steps in order, predicted and gold, without ids, which only give the order."""
    plans: tuple[Plan, Plan] = plan or (), cast(Plan, record.gold)
    shown, gold = ([{'name': step.name, 'args': step.args} for step in _ordered(steps)] for steps in plans)
    return shown if plan else None, gold
