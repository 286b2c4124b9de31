"""Scores stored runs without a judge, by their end, the validity of their calls, and errors in responses.

Name and parameter errors are those of Figure 4, checked against the file's ``available_tools``; in the paper, people
annotate 100 requests. If tools were retrieved, the file does not list the tools to choose from, and neither error is
scored.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.responses import error_kind
from opencompass_tooleval.benchmarks.toolbench.score_calls import UNKNOWN_API, parameter_codes
from opencompass_tooleval.benchmarks.toolbench.trajectories import GIVE_ANSWER, Run
from opencompass_tooleval.core.calls.trajectory import GAVE_UP, NOT_FINISHED, AnsweredCall
from opencompass_tooleval.core.scoring.aggregate import Aggregate, aggregate, over_steps
from opencompass_tooleval.core.scoring.result import OK, SampleScore
from opencompass_tooleval.core.text.jsonable import bounded_text, to_jsonable

METRICS = ('finish_rate', 'tool_name_error_rate', 'parameter_error_rate', 'error_response_rate')
PER_CALL = METRICS[1:]

NO_ANSWER = 'answer:empty'

_MAX_RESPONSE = 300


@dataclass(frozen=True)
class CheckedCall:
    """One call, checked.

    Attributes:
        call: The call.
        values: Metric of ``PER_CALL`` -> 1 or 0; None if unknown.
        codes: Errors of name or parameters.
        response: The error in the response, a kind of :mod:`~.responses`; ``''`` without a known error.
    """

    call: AnsweredCall
    values: dict[str, float | None]
    codes: tuple[str, ...]
    response: str


@dataclass(frozen=True)
class RunScore(SampleScore):
    """The score of one run; ``parsed`` is its final answer, and there is no gold.

    Attributes:
        calls: The calls of the run.
        total_steps: The number of steps in the file.
    """

    calls: tuple[CheckedCall, ...] = ()
    total_steps: int = 0

    def to_detail(self) -> dict[str, Any]:
        """Returns the detail of the sample; ``steps`` are the calls."""
        steps = [
            {
                'values': checked.values,
                'codes': list(checked.codes),
                'response': checked.response,
                'call': to_jsonable({'name': checked.call.name, 'arguments': checked.call.arguments}),
                'returned': bounded_text(checked.call.observation, _MAX_RESPONSE),
            }
            for checked in self.calls
        ]
        return {**super().to_detail(), 'total_steps': self.total_steps, 'steps': steps}


def _codes(run: Run, call: AnsweredCall) -> tuple[str, ...]:
    signature = run.inventory.get(call.name)
    if signature is None:
        return (UNKNOWN_API,)
    passed = call.arguments if isinstance(call.arguments, list) and call.arguments else [call.arguments]
    return tuple(dict.fromkeys(code for given in passed for code in parameter_codes(signature, given)))


def check_call(run: Run, call: AnsweredCall) -> CheckedCall:
    """Checks one call against the run's tools, if these are known, and classifies its response."""
    kind = error_kind(call.observation)
    codes = () if run.is_retrieved else _codes(run, call)
    named = UNKNOWN_API in codes
    values: dict[str, float | None] = {
        'tool_name_error_rate': None if run.is_retrieved else float(named),
        'parameter_error_rate': None if run.is_retrieved else float(bool(codes) and not named),
        'error_response_rate': float(bool(kind)),
    }
    return CheckedCall(call, values, codes, kind)


def score_run(run: Run) -> RunScore:
    """Scores one run.

    Returns:
        ``finish_rate``: 1 if the last step gives an answer that is not empty. The other metrics are shares of the calls
        (lower is better), None without calls.
    """
    if not run.ending:
        reason = NOT_FINISHED
    elif run.ending != GIVE_ANSWER:
        reason = GAVE_UP
    else:
        reason = OK if run.final_answer.strip() else NO_ANSWER
    calls = tuple(check_call(run, call) for call in run.calls)
    values: dict[str, float | None] = {'finish_rate': float(reason == OK)}
    for metric in PER_CALL:
        measured = [value for call in calls if (value := call.values[metric]) is not None]
        values[metric] = math.fsum(measured) / len(measured) if measured else None
    return RunScore(
        id=run.id,
        values=values,
        reason=reason,
        parsed=run.final_answer,
        parse_method='value',
        calls=calls,
        total_steps=run.total_steps,
    )


def total(scores: Sequence[RunScore]) -> Aggregate:
    """Aggregates runs: ``finish_rate`` over all runs, the other metrics over all calls with a known value."""

    def groups(metric: str) -> Iterator[tuple[str, list[float]]]:
        for score in scores:
            values = [value for call in score.calls if (value := call.values[metric]) is not None]
            if values:
                yield score.cluster, values

    return over_steps(aggregate(scores, METRICS), PER_CALL, groups)


def breakdown(scores: Sequence[RunScore]) -> dict[str, Any]:
    """Returns a result's parts other than its metrics, as JSON values.

    Returns:
        ``calls``, ``without_calls`` (runs), ``unscored_calls`` (with retrieved tools), ``mean_calls`` and
        ``mean_steps`` per run (steps as the file counts them), ``codes`` (code -> calls), ``error_responses`` (kind ->
        calls).
    """
    calls = [call for score in scores for call in score.calls]
    return {
        'calls': len(calls),
        'without_calls': sum(not score.calls for score in scores),
        'unscored_calls': sum(call.values['tool_name_error_rate'] is None for call in calls),
        'mean_calls': len(calls) / len(scores),
        'mean_steps': sum(score.total_steps for score in scores) / len(scores),
        'codes': dict(Counter(code for call in calls for code in call.codes).most_common()),
        'error_responses': dict(Counter(call.response for call in calls if call.response).most_common()),
    }
