"""T-Eval with native function calling: offers native tools, and scores calls like written calls.

The answers in two subsets are calls: ``instruct`` and ``reason_retrieve_understand_json``. Name and arguments come from
the call, the thought is the text beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from opencompass_tooleval.benchmarks.teval.prompts import FINISH_DESCRIPTION, INSTRUCT_SYSTEM, NEXT_CALL_SYSTEM
from opencompass_tooleval.benchmarks.teval.protocol import Protocol
from opencompass_tooleval.benchmarks.teval.records import (
    FINISH,
    FIX,
    CallGold,
    InstructGold,
    Record,
    Sample,
    native_subset,
    parse_payload_with,
)
from opencompass_tooleval.benchmarks.teval.scoring import TEvalScorer, score_readings
from opencompass_tooleval.core.calls.answer import TRUNCATED_REASONING, Answer, clean, why_unread
from opencompass_tooleval.core.calls.messages import TOOL, Message
from opencompass_tooleval.core.calls.one_call import BREAKS_SCHEMA, METHOD, OneCall, one_call
from opencompass_tooleval.core.calls.tool_calls import ToolCall, write_answer
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet, describe_tool
from opencompass_tooleval.core.errors import Fault, naming_record
from opencompass_tooleval.core.scoring.refusal import with_refusal
from opencompass_tooleval.core.scoring.result import INFRA, SampleScore
from opencompass_tooleval.core.scoring.similarity import Similarity
from opencompass_tooleval.core.text.reading import Parsed, parse_enclosed, unread
from opencompass_tooleval.tool_docs.api_list import find_api_list

_JSON_TYPES = {
    'STRING': 'string',
    'NUMBER': 'number',
    'FLOAT': 'number',
    'INTEGER': 'integer',
    'BOOLEAN': 'boolean',
    'LIST': 'array',
    'ARRAY': 'array',
    'DICT': 'object',
    'OBJECT': 'object',
}
_NO_PARAMETERS = {'type': 'object', 'properties': {}}
_TOOLS = 'tools'
"""Key in the payload."""
HISTORY, AS_CALLS, AS_TEXT = 'history', 'calls', 'text'
"""Key for the form of the steps so far, and its values: native calls with observations, or the data's texts."""
_FORMAT_METRICS = ('json_format_metric', 'parse_rate')
"""Metrics that are 1 if the answer has exactly one call, of an offered tool, whose arguments are an object."""


@dataclass(frozen=True)
class NativeRecord:
    """The data that scoring needs from one sample.

    Attributes:
        record: The record of the sample with prompts; it has the metrics of native calls.
        schemas: The offered tools: name -> JSON Schema of the arguments.
    """

    record: Record
    schemas: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class NativeSample:
    """A record with its request.

    Attributes:
        messages: The request and the steps so far.
        tools: The offered tools.
        gold_answer: The oracle's answer, from :func:`~opencompass_tooleval.core.calls.tool_calls.write_answer`.
        sample: The sample in the data file.
    """

    messages: tuple[Message, ...]
    tools: ToolSet
    gold_answer: str
    sample: Sample

    @property
    def record(self) -> NativeRecord:
        """The record for scoring."""
        return _native_record(self.sample.record, self.tools)

    @property
    def payload(self) -> str:
        """The raw record and its tools as JSON text, from which :func:`parse_native_payload` returns :attr:`record`."""
        return self.sample.payload_with({_TOOLS: self.tools.to_text()})


def tool_schema(api: Mapping[str, Any]) -> ToolSchema:
    """Converts an API in a prompt to a tool: parameters to JSON Schema, return values to a part of the description."""
    required = [parameter['name'] for parameter in api.get('required_parameters', [])]
    parameters = [*api.get('required_parameters', []), *api.get('optional_parameters', [])]
    properties = {parameter['name']: _parameter_schema(parameter) for parameter in parameters}
    schema = {'type': 'object', 'properties': properties, 'required': required}
    name = str(api['name'])
    return ToolSchema(name, describe_tool(name, str(api.get('description', '')), api.get('return_data')), schema)


def _parameter_schema(parameter: Mapping[str, Any]) -> dict[str, str]:
    json_type = _JSON_TYPES.get(str(parameter.get('type', '')).upper())
    described = {'description': str(parameter.get('description', ''))}
    return {'type': json_type, **described} if json_type else described


def native_sample(sample: Sample, language: str, history: str = AS_CALLS) -> NativeSample:
    """Converts a sample of a data file for native calls.

    Args:
        sample: A sample from :func:`~opencompass_tooleval.benchmarks.teval.records.load_samples`.
        language: ``EN`` or ``ZH``.
        history: Form of the steps so far: :data:`AS_CALLS` or :data:`AS_TEXT`.

    Raises:
        Fault: No system message describes APIs, or two APIs share a name.
    """
    system = (message.content for message in sample.messages if message.role == 'system')
    apis = next((span.apis for text in system if (span := find_api_list(text))), None)
    if apis is None:
        raise Fault('no system message describes APIs')
    tools = {str(api['name']): tool_schema(api) for api in apis}
    is_step = sample.record.subset.kind != 'instruct'
    if is_step:
        tools.setdefault(FINISH, ToolSchema(FINISH, FINISH_DESCRIPTION[language], _NO_PARAMETERS))
    offered = ToolSet(list(tools.values()), parallel=False)
    asked = Message('system', (NEXT_CALL_SYSTEM if is_step else INSTRUCT_SYSTEM)[language])
    steps = [message for message in sample.messages if message.role != 'system']
    return NativeSample(
        (asked, *(_as_calls(steps) if history == AS_CALLS else steps)),
        offered,
        _gold_answer(sample.record),
        sample,
    )


def _as_calls(messages: Sequence[Message]) -> Iterator[Message]:
    """Yields the steps so far as native calls; other messages stay text."""
    number = 0
    pending = ''
    for message, following in zip(messages, [*messages[1:], None], strict=True):
        if pending:
            yield Message(TOOL, message.content, call_id=pending)
            pending = ''
            continue
        step = parse_enclosed(message.content, '{', '}').value if message.role == 'assistant' else None
        is_answered = following is not None and following.role in ('function', TOOL)
        if isinstance(step, dict) and isinstance(step.get('name'), str) and is_answered:
            pending, number = f'call_{number}', number + 1
            arguments = step.get('args')
            call = ToolCall(step['name'], arguments if isinstance(arguments, dict) else {}, pending)
            yield Message('assistant', str(step.get('thought') or ''), (call,))
        else:
            yield message


def _gold_answer(record: Record) -> str:
    if record.subset.kind == 'instruct':
        call = cast(InstructGold, record.gold)
        return write_answer('', [ToolCall(str(call.action), dict(call.args))])
    step = cast(CallGold, record.gold)
    return write_answer(step.thought, [ToolCall(step.name, step.args)])


def native_samples(
    samples: Iterable[Sample], language: str, file: Any, history: str = AS_CALLS
) -> Iterator[NativeSample]:
    """Yields all samples of a data file for native calls; see :func:`native_sample`.

    Raises:
        DataError: A sample cannot be converted.
    """
    for sample in samples:
        with naming_record(file, sample.record.id, FIX):
            native = native_sample(sample, language, history)
        yield native


def parse_native_payload(payload: str, subset: str) -> NativeRecord:
    """Parses the record from the text of :attr:`NativeSample.payload`."""
    record, raw = parse_payload_with(payload, subset)
    return _native_record(record, ToolSet.of_text(raw[_TOOLS]))


def _native_record(record: Record, tools: ToolSet) -> NativeRecord:
    # A native call is JSON, whatever format the prompt requests.
    native = replace(record, format='json', subset=native_subset(record.subset.name))
    return NativeRecord(native, {tool.name: tool.parameters for tool in tools.tools})


def _read(record: Record, answer: Answer, one: OneCall) -> Parsed:
    """Returns the first call in the scorers' format, or the reason why there is none."""
    visible = clean(answer)
    if one.call is None:
        reason = why_unread(visible)
        return unread(reason if reason.startswith(INFRA) or reason == TRUNCATED_REASONING else one.reason)
    arguments = one.call.arguments if isinstance(one.call.arguments, dict) else {}
    thought = visible.text.strip()
    if record.subset.kind == 'instruct':
        return Parsed({'thought': thought, 'action': one.call.name, 'args': arguments}, 'call')
    return Parsed({'thought': thought, 'name': one.call.name, 'args': arguments}, 'call')


def score_native_answers(
    records: Sequence[NativeRecord],
    answers: Sequence[Answer],
    protocol: Protocol,
    similarity: Similarity | None = None,
    progress: Callable[[Sequence[Parsed]], Iterable[Parsed]] = iter,
) -> list[SampleScore]:
    """Scores native calls.

    Args:
        records: The records, all of one subset.
        answers: Their answers with ``calls``, in the same order.
        protocol: The rules.
        similarity: The encoder, for :func:`~opencompass_tooleval.benchmarks.teval.scoring.score_answers`.
        progress: Wraps the loop over the samples, for a progress bar.

    Returns:
        One score per record, in the same order. If an answer has several calls, the first is scored; the format metric
        (``json_format_metric``, ``parse_rate``) is 1 only for exactly one call, of an offered tool, with an object.
    """
    ones = [one_call(answer.calls, record.schemas) for record, answer in zip(records, answers, strict=True)]
    plain = [record.record for record in records]
    readings = [_read(record, answer, one) for record, answer, one in zip(plain, answers, ones, strict=True)]
    scores = score_readings(plain, [''] * len(plain), readings, protocol, similarity, progress)
    return [
        with_refusal(_with_fault(score, one), answer) for score, one, answer in zip(scores, ones, answers, strict=True)
    ]


def _with_fault(score: SampleScore, one: OneCall) -> SampleScore:
    """Adds an error of the answer that the parts of its first call do not show."""
    if one.call is None or not one.reason:
        return score
    if one.reason == BREAKS_SCHEMA:  # some gold calls violate their schemas, so this alone costs no point
        return replace(score, reason=one.reason) if score.reason.startswith('args:') else score
    is_unread = not isinstance(one.call.arguments, dict)
    values = {
        metric: 0.0 if metric in _FORMAT_METRICS or (is_unread and metric == 'args') else value
        for metric, value in score.values.items()
    }
    return replace(score, values=values, reason=one.reason)


class TEvalCallsScorer(TEvalScorer):
    """Scores native calls in a subset whose answers are calls."""

    find_subset = staticmethod(native_subset)

    def provenance(self) -> dict[str, Any]:
        """Settings that the scores depend on."""
        return {**super().provenance(), 'method': METHOD}

    def read_record(self, payload: str) -> Any:
        """Parses a record from the data set's column ``record``."""
        return parse_native_payload(payload, self.subset.name)

    def query_of(self, record: Any) -> str:
        """Returns the query of a record, which its steps share."""
        return super().query_of(record.record)

    def score_records(self, records: Sequence[Any], answers: Sequence[Answer]) -> list[SampleScore]:
        """Scores native calls against records."""
        return score_native_answers(records, answers, self.rules, self._similarity(), self.progress)
