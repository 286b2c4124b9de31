"""Requests with native tools, and gold answers as a model would write them. T-Eval's prompts themselves are in its data.

The answers in two subsets are calls: ``instruct`` and ``reason_retrieve_understand_json``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from opencompass_tooleval.benchmarks.teval.data import (
    FINISH,
    FIX,
    TOOLS,
    CallGold,
    InstructGold,
    PlannedCall,
    Record,
    ReviewGold,
    Sample,
    native_record,
)
from opencompass_tooleval.core.calls.messages import TOOL, Message
from opencompass_tooleval.core.calls.tool_calls import ToolCall, write_answer
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet, describe_tool
from opencompass_tooleval.core.errors import Fault, naming_record
from opencompass_tooleval.core.text.reading import parse_enclosed
from opencompass_tooleval.tool_docs.api_list import find_api_list

INSTRUCT_SYSTEM = {
    'EN': 'Call the tool just as the user says, with exactly the arguments that the user gives.',
    'ZH': '请按照用户的要求调用工具，参数必须与用户给出的完全一致。',
}
NEXT_CALL_SYSTEM = {
    'EN': 'You fulfil a request by calling tools, one at a time. Each time, first write down in a sentence or two what '
    'you think and why you make the next call, then make exactly one call. Once the request is fulfilled, call '
    'FinishAction.',
    'ZH': '你通过调用工具来完成用户的请求，每次只调用一个工具。每次请先用一两句话写下你的思考以及为什么进行下一次调用，'
    '然后只进行一次调用。请求完成之后，请调用 FinishAction。',
}
FINISH_DESCRIPTION = {'EN': 'Ends the work: the request is fulfilled.', 'ZH': '请求已经完成，结束任务。'}
"""Description of the finish tool; the data's own system prompt would request written calls."""

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
HISTORY, AS_CALLS, AS_TEXT = 'history', 'calls', 'text'
"""Key for the form of the steps so far, and its values: native calls with observations, or the data's texts."""


def _instruct(record: Record) -> str:
    gold, template = cast(InstructGold, record.gold), record.template
    if record.format == 'json':
        return json.dumps({template['thought']: '', template['action']: gold.action, template['args']: gold.args})
    return (
        f'{template["thought_start"]}{template["thought_end"]}'
        f'{template["action_start"]}{gold.action}{template["action_end"]}'
        f'{template["args_start"]}{gold.args}{template["args_end"]}'
    )


def _plan(record: Record) -> str:
    steps = cast(tuple[PlannedCall, ...], record.gold)
    if record.format == 'json':
        return json.dumps([{'id': step.id, 'name': step.name, 'args': step.args} for step in steps])
    named = [step for step in steps if step.name in record.apis]
    lines = (f'Use {step.name} with {step.args}' for step in named)
    return '\n'.join(line.replace('. ', ', ').replace('\n', ' ') for line in lines)


def gold_answer(record: Record) -> str:
    """Returns the gold answer in the format that the prompt requests; the oracle model answers with it."""
    if record.subset.kind == 'instruct':
        return _instruct(record)
    if record.subset.kind == 'plan':
        return _plan(record)
    if record.subset.kind == 'review':
        return f'Answer: {cast(ReviewGold, record.gold).answer}'
    gold = cast(CallGold, record.gold)
    if record.subset.kind == 'call':
        return json.dumps({'thought': gold.thought, 'name': gold.name, 'args': gold.args})
    return {'reason': gold.thought, 'retrieve': gold.name, 'understand': str(gold.args)}[record.subset.kind]


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
    def record(self) -> Record:
        """The record for scoring."""
        return native_record(self.sample.record, self.tools)

    @property
    def payload(self) -> str:
        """The raw record and its tools as JSON text, from which ``parse_payload`` returns :attr:`record`."""
        return self.sample.payload_with({TOOLS: self.tools.to_text()})


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
        sample: A sample from :func:`~opencompass_tooleval.benchmarks.teval.data.load_samples`.
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
        _native_gold(sample.record),
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


def _native_gold(record: Record) -> str:
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
