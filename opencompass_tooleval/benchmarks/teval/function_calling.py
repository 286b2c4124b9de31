"""T-Eval with native function calling: tools beside the prompt, and calls that are scored as the written ones are.

Two subsets ask for calls: ``instruct`` and ``reason_retrieve_understand_json``. Name and arguments are those of the
call, the thought is the text beside it.
"""

from __future__ import annotations

import json
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
    find_subset,
    native_subset,
    parse_record,
)
from opencompass_tooleval.benchmarks.teval.scoring import score_readings
from opencompass_tooleval.core.answer import TRUNCATED_REASONING, Answer, clean, why_unread
from opencompass_tooleval.core.errors import Fault, naming_record
from opencompass_tooleval.core.function_calling import BREAKS_SCHEMA, OneCall, one_call
from opencompass_tooleval.core.messages import TOOL, Message
from opencompass_tooleval.core.reading import Parsed, parse_enclosed, unread
from opencompass_tooleval.core.result import INFRA, SampleScore
from opencompass_tooleval.core.similarity import Similarity
from opencompass_tooleval.core.tool_calls import ToolCall, write_answer
from opencompass_tooleval.core.tool_set import ToolSchema, ToolSet, describe_tool
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
"""Key of a payload."""
_FORMAT_METRICS = ('json_format_metric', 'parse_rate')
"""Full for exactly one call of an offered tool, whose arguments are an object."""


@dataclass(frozen=True)
class NativeRecord:
    """What scoring needs to know of one sample.

    Attributes:
        record: As with prompts; its metrics are those that native calls have.
        schemas: The tools that were offered: name -> JSON Schema of the arguments.
    """

    record: Record
    schemas: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class NativeSample:
    """A record with what a model is asked.

    Attributes:
        messages: The request and the steps so far, as native calls and their answers.
        tools: What is offered.
        gold_answer: What a perfect model answers, as :func:`~opencompass_tooleval.core.tool_calls.write_answer` has it.
        sample: The sample of the data file.
    """

    messages: tuple[Message, ...]
    tools: ToolSet
    gold_answer: str
    sample: Sample

    @property
    def record(self) -> NativeRecord:
        """What scoring needs."""
        return _native_record(self.sample.record, self.tools)

    @property
    def payload(self) -> str:
        """The raw record and its tools as JSON text; :func:`parse_native_payload` gives :attr:`record` back."""
        return json.dumps([self.sample.record.id, {**self.sample.raw, _TOOLS: self.tools.to_text()}])


def tool_schema(api: Mapping[str, Any]) -> ToolSchema:
    """An API as a prompt describes it: parameters as JSON Schema, and what it returns as part of the description."""
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


def native_sample(sample: Sample, language: str) -> NativeSample:
    """A sample of a data file, to be asked with native calls.

    Args:
        sample: As :func:`~opencompass_tooleval.benchmarks.teval.records.load_samples` reads it.
        language: ``EN`` or ``ZH``.

    Raises:
        Fault: No system message describes APIs, or two have one name.
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
    return NativeSample(
        (asked, *_as_calls([message for message in sample.messages if message.role != 'system'])),
        offered,
        _gold_answer(sample.record),
        sample,
    )


def _as_calls(messages: Sequence[Message]) -> Iterator[Message]:
    """The steps so far as native calls; what is no call that was answered stays text."""
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


def native_samples(samples: Iterable[Sample], language: str, file: Any) -> Iterator[NativeSample]:
    """All samples of a data file; see :func:`native_sample`.

    Raises:
        DataError: One cannot be asked so.
    """
    for sample in samples:
        with naming_record(file, sample.record.id, FIX):
            native = native_sample(sample, language)
        yield native


def parse_native_payload(payload: str, subset: str) -> NativeRecord:
    """Gives back the record that :class:`NativeSample` carries as text."""
    record_id, raw = json.loads(payload)
    return _native_record(parse_record(record_id, raw, find_subset(subset)), ToolSet.of_text(raw[_TOOLS]))


def _native_record(record: Record, tools: ToolSet) -> NativeRecord:
    # A native call is JSON, whatever format the prompt asks for in its place.
    native = replace(record, format='json', subset=native_subset(record.subset.name))
    return NativeRecord(native, {tool.name: tool.parameters for tool in tools.tools})


def _read(record: Record, answer: Answer, one: OneCall) -> Parsed:
    """The first call in the shape that the scorers take; of nothing but text, why there is none."""
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
        answers: Theirs, with ``calls``, in the same order.
        protocol: The rules.
        similarity: As :func:`~opencompass_tooleval.benchmarks.teval.scoring.score_answers`.
        progress: As there.

    Returns:
        One score per record, in the same order. Of several calls the first is scored; the metric of the format
        (``json_format_metric``, ``parse_rate``) is full for exactly one call of an offered tool, with an object.
    """
    ones = [one_call(answer.calls, record.schemas) for record, answer in zip(records, answers, strict=True)]
    plain = [record.record for record in records]
    readings = [_read(record, answer, one) for record, answer, one in zip(plain, answers, ones, strict=True)]
    scores = score_readings(plain, [''] * len(plain), readings, protocol, similarity, progress)
    return [_with_fault(score, one) for score, one in zip(scores, ones, strict=True)]


def _with_fault(score: SampleScore, one: OneCall) -> SampleScore:
    """The score of the first call, where more is wrong with the answer than its parts."""
    if one.call is None or not one.reason:
        return score
    if one.reason == BREAKS_SCHEMA:  # the data's own gold breaks some: no point is lost by that alone
        return replace(score, reason=one.reason) if score.reason.startswith('args:') else score
    is_unread = not isinstance(one.call.arguments, dict)
    values = {
        metric: 0.0 if metric in _FORMAT_METRICS or (is_unread and metric == 'args') else value
        for metric, value in score.values.items()
    }
    return replace(score, values=values, reason=one.reason)
