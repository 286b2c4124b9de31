"""Scores ToolBench's subsets: one record and one answer in, one score out (EasyTool, Section 5.1).

Choices of a tool (Figure 3) and calls (Figure 4): "Tool name error means models call non-existent tool functions that
are not in the tool inventory, and parameter error means models pass invalid parameters"; the rates are relative to the
number of all calls. In the paper, people annotate executed calls; here calls are not executed, but checked against the
documentation.

Stored runs without a judge, by their end, the validity of their calls, and errors in responses: name and parameter
errors are checked against the file's ``available_tools``; in the paper, people annotate 100 requests. If tools were
retrieved, the file does not list the tools to choose from, and neither error is scored.

The success rate (Appendix B.1): a judge decides if a final answer answers the request.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from opencompass_tooleval.benchmarks.toolbench import VERSION
from opencompass_tooleval.benchmarks.toolbench.data import (
    GIVE_ANSWER,
    Api,
    Choice,
    FinalAnswer,
    Request,
    Run,
    Signature,
    find_subset,
    member_rows,
    parse_choice,
    parse_final_answer,
    parse_request,
    request_names,
)
from opencompass_tooleval.benchmarks.toolbench.prompts import SUCCESS
from opencompass_tooleval.benchmarks.toolbench.reading import (
    chosen_tool,
    error_kind,
    named_tool,
    plain,
    read_value,
    unfit,
)
from opencompass_tooleval.core.calls.answer import Answer, clean, why_unread
from opencompass_tooleval.core.calls.messages import joined_text
from opencompass_tooleval.core.calls.one_call import NO_CALL, NOT_AN_OBJECT, UNKNOWN_TOOL, why_no_call
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.trajectory import GAVE_UP, NOT_FINISHED, AnsweredCall
from opencompass_tooleval.core.errors import Fault
from opencompass_tooleval.core.scoring.aggregate import Aggregate, over_steps
from opencompass_tooleval.core.scoring.refusal import with_refusal
from opencompass_tooleval.core.scoring.result import OK, SampleScore
from opencompass_tooleval.core.scoring.scorer import Scorer
from opencompass_tooleval.core.text.jsonable import answer_digest, bounded_text, to_jsonable
from opencompass_tooleval.judging.grading import GradedScorer, Item, ItemGrading, matched_items
from opencompass_tooleval.judging.judge_item import JudgeItem, fill
from opencompass_tooleval.judging.judgement import (
    FAILED,
    JUDGED,
    MISSING,
    UNJUDGED,
    Judgement,
    Opinion,
    Unjudged,
    Unread,
    read_judgement,
)
from opencompass_tooleval.judging.judgement_files import read_judgements
from opencompass_tooleval.judging.yes_no import NAME, NO, NOT_SUCCESSFUL, YES, points, read_reply
from opencompass_tooleval.tool_docs.instruction import Parameter

# Choices of a tool

WRONG_TOOL = 'name:wrong'


def score_choice(choice: Choice, answer: Any) -> SampleScore:
    """Scores one answer.

    Returns:
        ``accuracy``: 1 if the answer names the gold tool. ``tool_name_error_rate``: 1 if it names a tool that is not a
        candidate (lower is better). An unreadable answer scores 0 in both. If the choice has ``ids``, the answer is a
        number.
    """
    tool_named = {plain(candidate): candidate for candidate in choice.candidates}
    if choice.ids:
        name, parse_method, reason = chosen_tool(
            answer, dict(zip(map(str, choice.ids), choice.candidates, strict=True))
        )
    else:
        name, parse_method, reason = named_tool(answer, tool_named)
    tool = tool_named.get(plain(name)) if name is not None else None
    right, unknown = tool == choice.gold, name is not None and tool is None
    if not reason:
        reason = OK if right else UNKNOWN_TOOL if unknown else WRONG_TOOL
    score = SampleScore(
        id=choice.id,
        values={'accuracy': float(right), 'tool_name_error_rate': float(unknown)},
        reason=reason,
        parsed=tool or name,
        parse_method=parse_method,
        gold=choice.gold,
    )
    return with_refusal(score, answer) if isinstance(answer, (Answer, str)) else score


# Calls

TOO_MANY = 'parse:too_many_calls'
UNNAMED = 'name:missing'
UNKNOWN_API = 'name:unknown_api'
MISSING_PARAMETER = 'args:missing'
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
    codes = [MISSING_PARAMETER for parameter in signature.required if parameter.name not in given]
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
    return CallsScore(
        id=request.id,
        values={'error_free_rate': float(bool(calls) and not codes), **_means(calls, PER_CALL)},
        reason=reason or (codes[0] if codes else OK),
        parsed=[_pair(request, call.raw) for call in calls] if calls else None,
        parse_method=parse_method if calls else 'none',
        gold=[list(pair) for pair in request.relevant],
        calls=calls,
    )


def _means(calls: Sequence[Call | CheckedCall], metrics: Sequence[str]) -> dict[str, float | None]:
    """Returns the means of metrics over the calls with a known value; None without such calls."""
    known = {metric: [value for call in calls if (value := call.values[metric]) is not None] for metric in metrics}
    return {metric: math.fsum(values) / len(values) if values else None for metric, values in known.items()}


def _pair(request: Request, call: Any) -> list[Any]:
    """Returns tool and API of a call, spelled as in the gold answer if they occur there."""
    tool, api = (_first(call, keys) for keys in (_TOOL, _API)) if isinstance(call, dict) else (None, None)
    if isinstance(tool, str) and isinstance(api, str):
        for relevant in request.relevant:
            if tuple(map(plain, relevant)) == (plain(tool), plain(api)):
                return list(relevant)
    return [tool, api]


# Stored runs

RUN_METRICS = ('finish_rate', *PER_CALL, 'error_response_rate')

NO_ANSWER = 'answer:empty'

_MAX_RESPONSE = 300


@dataclass(frozen=True)
class CheckedCall:
    """One call, checked.

    Attributes:
        call: The call.
        values: Metric of ``PER_CALL`` -> 1 or 0; None if unknown.
        codes: Errors of name or parameters.
        response: The error in the response, a kind of :func:`~.reading.error_kind`; ``''`` without a known error.
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


def check_run_call(run: Run, call: AnsweredCall) -> CheckedCall:
    """Checks one call against the run's tools, if these are known, and classifies its response."""
    kind, signature = error_kind(call.observation), run.inventory.get(call.name)
    passed = call.arguments if isinstance(call.arguments, list) and call.arguments else [call.arguments]
    faults: Iterable[str] = (
        (code for given in passed for code in parameter_codes(signature, given)) if signature else [UNKNOWN_API]
    )
    codes = () if run.is_retrieved else tuple(dict.fromkeys(faults))
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
    answered = OK if run.final_answer.strip() else NO_ANSWER
    reason = NOT_FINISHED if not run.ending else GAVE_UP if run.ending != GIVE_ANSWER else answered
    calls = tuple(check_run_call(run, call) for call in run.calls)
    return RunScore(
        id=run.id,
        values={'finish_rate': float(reason == OK), **_means(calls, RUN_METRICS[1:])},
        reason=reason,
        parsed=run.final_answer,
        parse_method='value',
        calls=calls,
        total_steps=run.total_steps,
    )


# Final answers


def question_of(name: str, query: str, answer: str) -> JudgeItem:
    """Builds the question about a final answer; ``name`` is the question's id."""
    return JudgeItem(name, fill(SUCCESS, question=query, answer=answer), read_reply)


_NEEDS = "'success' must be true or false in judged rows, and absent in other rows"


def _read_row(row: Mapping[str, Any]) -> Opinion | Unread:
    """Parses the judge's opinion in a row of a file."""
    if 'reply' in row:
        try:
            return read_reply(str(joined_text(row['reply'])))
        except ValueError as error:
            raise Fault(str(error)) from error
    if not isinstance(row.get('success'), bool):
        raise Fault(_NEEDS)
    return Opinion(YES if row['success'] else NO, NAME, bounded_text(row.get('why')))


def _read_judgement(name: str, row: Mapping[str, Any]) -> Judgement[Opinion]:
    judgement: Judgement[Opinion] = read_judgement(name, row, _read_row)
    if judgement.status != JUDGED and isinstance(row.get('success'), bool):
        raise Fault(_NEEDS)
    return judgement


@dataclass(frozen=True)
class SuccessScore(SampleScore):
    """The score of one final answer, which is ``parsed``; no gold answer exists.

    Attributes:
        judgement: The judgement of the answer.
    """

    judgement: Judgement[Opinion] = field(default_factory=lambda: Judgement('', status=MISSING))

    def to_detail(self) -> dict[str, Any]:
        """Returns the detail of the sample."""
        found = self.judgement.found
        more = {'answer_digest': self.judgement.answer_digest, 'fault': self.judgement.fault}
        detail = {**super().to_detail(), 'why': to_jsonable(found.why if found else '')}
        return detail | {name: to_jsonable(text) for name, text in more.items() if text}


class SuccessGrading(ItemGrading[FinalAnswer, Opinion, SuccessScore]):
    """Grading of final answers, after postprocessing, to their requests."""

    def read(self, file: Path) -> list[Judgement[Opinion]]:
        """Reads a file of judgements: rows have ``{"success", "why"}``, as a run writes them, or ``{"reply"}``.

        Raises:
            DataError: The file is missing or damaged, or judges an answer twice.
        """
        return read_judgements(file, member_rows(file), _read_judgement)

    def members(self, found: Opinion) -> dict[str, Any]:
        """Converts an opinion to members of a row."""
        return {'success': found.value == YES, 'why': found.why}

    def items_of(self, record: FinalAnswer, answer: Answer) -> Iterator[Item[Opinion]]:
        """Yields the question about an answer."""
        if why_unread(answer):
            yield Judgement(record.id, status=MISSING), None
        else:
            judgement: Judgement[Opinion] = Judgement(
                record.id, status=FAILED, answer_digest=answer_digest(answer.text)
            )
            yield judgement, question_of(record.id, record.query, answer.text)

    def score_answer(
        self, record: FinalAnswer, answer: Answer, judgements: Sequence[Judgement[Opinion]]
    ) -> SuccessScore:
        """Scores a final answer.

        Returns:
            ``success_rate``: 1 or 0 as the judge decides, 0 without an answer, None without a judgement. A missing
            judgement is counted by its reason, never scored.
        """
        (judgement,) = matched_items(self.items_of(record, answer), judgements)
        value = 0.0 if judgement.status == MISSING else points(judgement.found)
        reason = why_unread(answer) or (UNJUDGED if value is None else OK if value else NOT_SUCCESSFUL)
        return SuccessScore(record.id, {'success_rate': value}, reason, answer.text, 'value', judgement=judgement)

    def opinions(self, score: SuccessScore) -> Iterator[Unjudged | None]:
        """Yields None for a judged answer, or why its judgement is missing; nothing without an answer."""
        if score.judgement.status != MISSING:
            yield Unjudged(f'record {score.id}', score.judgement.fault) if score.reason == UNJUDGED else None


# Scorers


class ToolBenchScorer(Scorer):
    """Scores choices or calls.

    Args:
        subset: Row of the table, such as ``selection_5`` or ``calls_g2``.
    """

    def __init__(self, subset: str) -> None:
        self.subset = find_subset(subset)

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {'benchmark': 'toolbench', 'subset': self.subset.name, 'version': VERSION}

    def total(self, scores: Sequence[Any]) -> Aggregate:
        """Aggregates samples; error rates are over all calls, and of written or native calls 0 if there are none.

        Calls in one answer are correlated, so errors are clustered by answer.
        """
        known = over_steps(
            super().total(scores),
            {'calls': PER_CALL, 'runs': RUN_METRICS[1:]}.get(self.subset.kind, ()),
            lambda metric: (
                (score.cluster, values)
                for score in scores
                if (values := [value for call in score.calls if (value := call.values[metric]) is not None])
            ),
        )
        # OpenCompass's summarizer stops if one model lacks a number that another has.
        means: dict[str, float | None] = {metric: mean or 0.0 for metric, mean in known.metrics.items()}
        return replace(known, metrics=means) if self.subset.kind == 'calls' else known

    def breakdown(self, scores: Sequence[Any]) -> dict[str, Any]:
        """Returns the result's parts other than its metrics, as JSON values.

        Returns:
            Of calls: ``calls`` (number of parsed calls), ``without_calls`` (answers without calls), ``codes`` (code ->
            calls), ``parse_methods`` (parse method -> answers), ``relevant_called`` (share of the relevant APIs that
            were called, %).
        """
        if self.subset.kind != 'calls':
            return {}
        pairs = [(score, tuple(pair)) for score in scores for pair in score.gold]
        called = sum(tuple(map(plain, pair)) in _named(score) for score, pair in pairs)
        return {
            'calls': sum(len(score.calls) for score in scores),
            'without_calls': sum(not score.calls for score in scores),
            'codes': dict(
                Counter(code for score in scores for call in score.calls for code in call.codes).most_common()
            ),
            'parse_methods': dict(Counter(score.parse_method for score in scores).most_common()),
            'relevant_called': 100 * called / len(pairs),
        }

    def read_record(self, payload: str) -> Any:
        """Parses a record from the data set's column ``record``."""
        return parse_choice(payload) if self.subset.kind == 'selection' else parse_request(payload)

    def query_of(self, record: Any) -> str:
        """Returns the ``query_id`` of a record, which is unique across ToolBench's groups."""
        return f'toolbench/{record.id}'

    def score_records(self, records: Sequence[Any], answers: Sequence[Answer]) -> Sequence[SampleScore]:
        """Scores answers against records."""
        score: Callable[[Any, Any], SampleScore] = score_choice if self.subset.kind == 'selection' else score_calls
        return [score(record, answer) for record, answer in zip(records, answers, strict=True)]


def _named(score: CallsScore) -> set[tuple[str, ...]]:
    """Returns tool and API of the calls whose API is in the inventory."""
    named = [call.raw for call in score.calls if not call.values['tool_name_error_rate']]
    return {tuple(plain(_first(call, keys)) for keys in (_TOOL, _API)) for call in named}


class NativeCallsScorer(ToolBenchScorer):
    """Scores native calls."""

    def score_records(self, records: Sequence[Any], answers: Sequence[Answer]) -> Sequence[SampleScore]:
        """Scores native calls against requests."""
        return [score_native_calls(request, answer) for request, answer in zip(records, answers, strict=True)]


class SuccessScorer(ToolBenchScorer, GradedScorer):
    """Scores final answers from judgements, by the rules of UltraTool's judge."""

    def __init__(self) -> None:
        super().__init__('success')

    read_record = staticmethod(parse_final_answer)

    def score_records(self, records: Sequence[FinalAnswer], answers: Sequence[Answer]) -> Sequence[SampleScore]:
        """Scores final answers."""
        finals = [
            clean(Answer('', stored.infra) if stored.infra and not answer.text else answer)
            for stored, answer in zip(records, answers, strict=True)
        ]
        return self.graded(SuccessGrading(records, finals), 'success')


TRAJECTORIES = 'trajectories'
"""Name for scores of stored runs without a judge; it is not an OpenCompass data set."""


class RunsScorer(ToolBenchScorer):
    """Scores stored runs without a judge; each is both record and answer."""

    def __init__(self) -> None:
        self.subset = replace(find_subset('success'), name=TRAJECTORIES, kind='runs', metrics=RUN_METRICS)

    def score_records(self, records: Sequence[Run], answers: Sequence[Any]) -> Sequence[SampleScore]:
        """Scores runs."""
        return [score_run(run) for run in records]

    def breakdown(self, scores: Sequence[RunScore]) -> dict[str, Any]:
        """Returns a result's parts other than its metrics, as JSON values.

        Returns:
            ``calls``, ``without_calls`` (runs), ``unscored_calls`` (with retrieved tools), ``mean_calls`` and
            ``mean_steps`` per run (steps as the file counts them), ``codes`` (code -> calls), ``error_responses`` (kind
            -> calls).
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
