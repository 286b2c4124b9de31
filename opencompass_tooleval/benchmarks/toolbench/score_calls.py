"""Scores calls: one request and one answer in, one :class:`CallsScore` out (EasyTool, Section 5.1, Figure 4).

"Tool name error means models call non-existent tool functions that are not in the tool inventory, and parameter error
means models pass invalid parameters"; the rates are relative to the number of all calls. In the paper, people annotate
executed calls; here calls are not executed, but checked against the documentation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opencompass_tooleval.benchmarks.toolbench.answers import read_value, unfit
from opencompass_tooleval.benchmarks.toolbench.records import Api
from opencompass_tooleval.benchmarks.toolbench.request import Request, Signature, request_names
from opencompass_tooleval.benchmarks.toolbench.score_selection import plain
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.one_call import NO_CALL, NOT_AN_OBJECT, UNKNOWN_TOOL, why_no_call
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.scoring.aggregate import Aggregate, aggregate, over_steps
from opencompass_tooleval.core.scoring.refusal import with_refusal
from opencompass_tooleval.core.scoring.result import OK, SampleScore
from opencompass_tooleval.core.text.jsonable import to_jsonable
from opencompass_tooleval.tool_docs.instruction import Parameter

TOO_MANY = 'parse:too_many_calls'
UNNAMED = 'name:missing'
UNKNOWN_API = 'name:unknown_api'
MISSING = 'args:missing'
UNKNOWN_PARAMETER = 'args:hallucinated_argument'
WRONG_TYPE = 'args:wrong_type'

PER_CALL = ('tool_name_error_rate', 'parameter_error_rate')

_AREAS = ('name:', 'args:')
"""The area of the error codes that each metric of ``PER_CALL`` counts."""

MAX_CALLS = 100
"""Maximum number of calls of an answer; a request needs at most six."""

_TOOL, _API, _PARAMETERS = ('tool', 'tool_name'), ('api', 'api_name'), ('parameters', 'arguments')


@dataclass(frozen=True)
class Call:
    """One call, checked.

    Attributes:
        raw: The call in the answer.
        codes: Codes of its errors, in the order of the checks; empty for a valid call.
    """

    raw: Any
    codes: tuple[str, ...] = ()

    @property
    def values(self) -> dict[str, float]:
        """Metric of ``PER_CALL`` -> 1 if the call has such an error, else 0."""
        return {
            metric: float(any(code.startswith(area) for code in self.codes))
            for metric, area in zip(PER_CALL, _AREAS, strict=True)
        }


@dataclass(frozen=True)
class CallsScore(SampleScore):
    """The score of one answer; ``values`` are means over its calls, None without calls.

    ``parsed`` lists tool and API of each call, ``gold`` those of the relevant APIs; parameters have no gold.
    """

    calls: tuple[Call, ...] = ()

    def to_detail(self) -> dict[str, Any]:
        """Returns the detail of the sample; ``steps`` are the calls."""
        steps = [
            {'values': call.values, 'codes': list(call.codes), 'call': to_jsonable(call.raw)} for call in self.calls
        ]
        return {**super().to_detail(), 'steps': steps}


def _first(call: Mapping[str, Any], keys: Sequence[str], default: Any = None) -> Any:
    return next((call[key] for key in keys if key in call), default)


def _is_calls(value: Any) -> bool:
    """Tests for an object that names an API or a tool, or a list with such an object, or an empty list."""
    items = value if isinstance(value, list) else [value]
    named = (isinstance(item, dict) and _first(item, (*_API, *_TOOL)) is not None for item in items)
    return value == [] or any(named)


def parameter_codes(signature: Signature, given: Any) -> list[str]:
    """Returns the errors in a call's parameters, one code per parameter.

    Args:
        signature: Signature of the API.
        given: The parameters of the call.
    """
    if not isinstance(given, dict):
        return [NOT_AN_OBJECT]
    documented = {parameter.name: parameter for parameter in (*signature.required, *signature.optional)}
    codes = [MISSING for parameter in signature.required if parameter.name not in given]
    codes += [UNKNOWN_PARAMETER for name in given if name not in documented]
    for name, value in given.items():
        parameter = documented.get(name)
        if parameter and not _is_default(parameter, value) and (unfit(parameter, value) or not _is_finite(value)):
            codes.append(WRONG_TYPE)
    return codes


def _is_default(parameter: Parameter, value: Any) -> bool:
    """Tests if a value is ToolBench's default, which is accepted even with another type than documented."""
    return type(value) is type(parameter.default) and value == parameter.default


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def check_call(request: Request, call: Any) -> Call:
    """Checks one call against the request's APIs: its name, and if this is known, its parameters.

    Args:
        request: The request.
        call: ``{"tool": ..., "api": ..., "parameters": {...}}`` from the answer; missing ``parameters`` count as empty.
    """
    tool, api = (_first(call, keys) for keys in (_TOOL, _API)) if isinstance(call, dict) else (None, None)
    if not isinstance(tool, str) or not isinstance(api, str):
        return Call(call, (UNNAMED,))
    documented = {(plain(entry.tool), plain(entry.api)): entry for entry in request.inventory}
    signature = documented.get((plain(tool), plain(api)))
    if signature is None:
        return Call(call, (UNKNOWN_API if plain(tool) in {name for name, _ in documented} else UNKNOWN_TOOL,))
    return Call(call, tuple(dict.fromkeys(parameter_codes(signature, _first(call, _PARAMETERS, {})))))


def score_calls(request: Request, answer: Any) -> CallsScore:
    """Scores one answer.

    Returns:
        ``tool_name_error_rate`` and ``parameter_error_rate``: shares of the answer's calls (lower is better), None
        without calls. ``error_free_rate``: 1 if there are calls and all are valid. It is not in the paper, but shows
        unreadable answers, which have no calls and so no errors in calls.
    """
    read = read_value(answer, _is_calls, NO_CALL)
    items = read.value if isinstance(read.value, list) else [read.value] if read.ok else []
    if len(items) > MAX_CALLS:
        return _score(request, (), 'none', TOO_MANY)
    reason = read.reason or ('' if items else NO_CALL)
    score = _score(request, [check_call(request, item) for item in items], read.parse_method, reason)
    return with_refusal(score, answer) if isinstance(answer, (Answer, str)) else score


def score_native_calls(request: Request, answer: Answer) -> CallsScore:
    """Scores the native calls of an answer like written calls in :func:`score_calls`; the text is ignored."""
    if len(answer.calls) > MAX_CALLS:
        return _score(request, (), 'none', TOO_MANY)
    names = request_names(request)
    calls = [check_native_call(request, call, names) for call in answer.calls]
    return with_refusal(_score(request, calls, 'calls', '' if calls else why_no_call(answer)), answer)


def check_native_call(request: Request, call: ToolCall, names: Mapping[str, Api]) -> Call:
    """Checks one native call against the request's APIs.

    Args:
        request: The request.
        call: The call.
        names: Names of the request's APIs as tools.

    Returns:
        The result of :func:`check_call`. A name that is not offered cannot be split into tool and API; it has the code
        ``name:unknown_tool``.
    """
    if call.name not in names:
        return Call({'tool': call.name, 'parameters': call.arguments}, (UNKNOWN_TOOL,))
    tool, api = names[call.name]
    return check_call(request, {'tool': tool, 'api': api, 'parameters': call.arguments})


def _score(request: Request, checked: Sequence[Call], parse_method: str, reason: str) -> CallsScore:
    """Returns the score of an answer from its checked calls."""
    calls = tuple(checked)
    codes = [code for call in calls for code in call.codes]
    values: dict[str, float | None] = {'error_free_rate': float(bool(calls) and not codes)}
    for metric in PER_CALL:
        values[metric] = math.fsum(call.values[metric] for call in calls) / len(calls) if calls else None
    return CallsScore(
        id=request.id,
        values=values,
        reason=reason or (codes[0] if codes else OK),
        parsed=[_pair(request, call.raw) for call in calls] if calls else None,
        parse_method=parse_method if calls else 'none',
        gold=[list(pair) for pair in request.relevant],
        calls=calls,
    )


def _pair(request: Request, call: Any) -> list[Any]:
    """Returns tool and API of a call, spelled as in the gold answer if they occur there."""
    tool, api = (_first(call, keys) for keys in (_TOOL, _API)) if isinstance(call, dict) else (None, None)
    if isinstance(tool, str) and isinstance(api, str):
        for relevant in request.relevant:
            if tuple(map(plain, relevant)) == (plain(tool), plain(api)):
                return list(relevant)
    return [tool, api]


def score_requests(requests: Sequence[Request], answers: Sequence[Any]) -> list[CallsScore]:
    """Scores a subset: one score per request, in the same order.

    Raises:
        ValueError: The numbers of requests and answers differ.
    """
    return [score_calls(request, answer) for request, answer in zip(requests, answers, strict=True)]


def score_native_requests(requests: Sequence[Request], answers: Sequence[Answer]) -> list[CallsScore]:
    """Scores the native calls of a subset: one score per request, in the same order.

    Raises:
        ValueError: The numbers of requests and answers differ.
    """
    return [score_native_calls(request, answer) for request, answer in zip(requests, answers, strict=True)]


def total(scores: Sequence[CallsScore], metrics: Sequence[str]) -> Aggregate:
    """Aggregates answers: error rates over all calls, ``error_free_rate`` over all answers.

    Calls in one answer are correlated, so errors are clustered by answer. Without any calls a rate is 0, since
    OpenCompass's summarizer stops if one model lacks a number that another has.
    """
    whole = over_steps(
        aggregate(scores, metrics),
        [metric for metric in metrics if metric in PER_CALL],
        lambda metric: (
            (score.cluster, [call.values[metric] for call in score.calls]) for score in scores if score.calls
        ),
    )
    return replace(whole, metrics={metric: mean or 0.0 for metric, mean in whole.metrics.items()})


def breakdown(scores: Sequence[CallsScore]) -> dict[str, Any]:
    """Returns a result's parts other than its metrics, as JSON values.

    Returns:
        ``calls`` (number of parsed calls), ``without_calls`` (answers without calls), ``codes`` (code -> calls),
        ``parse_methods`` (parse method -> answers), ``relevant_called`` (share of the relevant APIs that were called,
        %).
    """
    codes: Counter[str] = Counter(code for score in scores for call in score.calls for code in call.codes)
    pairs = [(score, tuple(pair)) for score in scores for pair in score.gold]
    called = sum(tuple(map(plain, pair)) in _named(score) for score, pair in pairs)
    return {
        'calls': sum(len(score.calls) for score in scores),
        'without_calls': sum(not score.calls for score in scores),
        'codes': dict(codes.most_common()),
        'parse_methods': dict(Counter(score.parse_method for score in scores).most_common()),
        'relevant_called': 100 * called / len(pairs),
    }


def _named(score: CallsScore) -> set[tuple[str, ...]]:
    """Returns tool and API of the calls whose API is in the inventory."""
    named = [call.raw for call in score.calls if not call.values['tool_name_error_rate']]
    return {tuple(plain(_first(call, keys)) for keys in (_TOOL, _API)) for call in named}
