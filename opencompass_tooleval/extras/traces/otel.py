"""Spans of OpenTelemetry's conventions for generative AI, as OTLP/JSON.

Messages are the attributes ``gen_ai.input.messages`` and ``gen_ai.output.messages`` of spans or of the event
``gen_ai.client.inference.operation.details``, or events named ``gen_ai.user.message``, ``gen_ai.choice`` and so on, as
before version 1.37 of the conventions, of logs or of spans. A span holds one request with all earlier messages: the
requests of a trace that continue each other are one conversation. Results of tools are also read from ``execute_tool``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.core.calls.messages import TOOL, Message
from opencompass_tooleval.core.calls.other_formats import text_of, tool_schemas
from opencompass_tooleval.core.calls.tool_calls import MAX_NAME_CHARS, make_call, written_arguments
from opencompass_tooleval.core.scoring.usage import Usage, total_usage, whole_number
from opencompass_tooleval.core.text.json_object import load_json
from opencompass_tooleval.extras.traces.conversation import Conversation, distinct_ids, make_message, running_hashes
from opencompass_tooleval.extras.traces.openai_chat import read_message
from opencompass_tooleval.extras.traces.other_forms import other_spans

EXPORTS = ('resourceSpans', 'resourceLogs')
"""Keys of an export: spans, and logs with the events of spans."""

_SCOPES = {'resourceSpans': ('scopeSpans', 'spans'), 'resourceLogs': ('scopeLogs', 'logRecords')}
_EXECUTE = 'execute_tool'
_INVOKE = 'invoke_agent'
_NO_REQUEST = (_EXECUTE, _INVOKE, 'create_agent', 'invoke_workflow')
_ROLE_OF_EVENT = {
    **{f'gen_ai.{role}.message': role for role in ('system', 'user', 'assistant', 'tool')},
    'gen_ai.choice': 'assistant',
}
_MESSAGES = ('gen_ai.input.messages', 'gen_ai.output.messages')
_MAX_DEPTH = 40


@dataclass
class _Span:
    """A span with its events, as messages of a chat that are not read yet."""

    trace: str
    id: str
    parent: str
    start: int
    seconds: float | None
    attributes: dict[str, Any]
    asked: list[dict[str, Any]] = field(default_factory=list)
    answered: list[dict[str, Any]] = field(default_factory=list)

    @property
    def operation(self) -> str:
        return str(self.attributes.get('gen_ai.operation.name'))

    @property
    def call_id(self) -> str:
        return str(self.attributes.get('gen_ai.tool.call.id') or '')

    @property
    def usage(self) -> Usage:
        prompt, completion = (
            whole_number(self.attributes.get(f'gen_ai.usage.{name}')) for name in ('input_tokens', 'output_tokens')
        )
        return Usage(prompt, completion, seconds=self.seconds)


def is_export(value: Any) -> bool:
    """Tests if a JSON value is an export of spans or logs."""
    return isinstance(value, dict) and any(isinstance(value.get(key), list) for key in EXPORTS)


def read_exports(exports: Iterable[Mapping[str, Any]], file: str) -> Iterator[Conversation | str]:
    """Yields the conversations of exports, trace by trace, or what was left out and why.

    Args:
        exports: JSON values of a file, or of its lines.
        file: Name of the file.
    """
    rows = list(exports)
    spans = {_ids(raw): _span(raw) for raw in _records(rows, 'resourceSpans')}
    for raw in _records(rows, 'resourceLogs'):
        span = spans.get(_ids(raw))
        if span:
            name = raw.get('eventName') or _attributes(raw).get('event.name')
            _add_event(span, name, {**_attributes(raw), 'body': _value(raw.get('body'))})
    traces: dict[str, list[_Span]] = {}
    for span in sorted(spans.values(), key=lambda span: span.start):
        traces.setdefault(span.trace, []).append(span)
    for trace, of_trace in traces.items():
        location = f'{file}, trace {trace[:MAX_NAME_CHARS]}'
        try:
            yield from _conversations(of_trace, location)
        except ValueError as error:
            yield f'{location}: {error}'


def _records(rows: Iterable[Mapping[str, Any]], kind: str) -> Iterator[dict[str, Any]]:
    groups, records = _SCOPES[kind]
    for row in rows:
        for resource in _objects(row.get(kind)):
            for scope in _objects(resource.get(groups)):
                yield from _objects(scope.get(records))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _ids(raw: Mapping[str, Any]) -> tuple[str, str]:
    return str(raw.get('traceId') or ''), str(raw.get('spanId') or '')


def _value(raw: Any, depth: int = 0) -> Any:
    """Reads a value of OTLP, ``{"stringValue": ...}``."""
    if not isinstance(raw, dict) or depth == _MAX_DEPTH:
        return None
    if 'arrayValue' in raw:
        inner = raw['arrayValue']
        return [_value(item, depth + 1) for item in _objects(inner.get('values') if isinstance(inner, dict) else None)]
    if 'kvlistValue' in raw:
        inner = raw['kvlistValue']
        return _named(inner.get('values') if isinstance(inner, dict) else None, depth + 1)
    if 'intValue' in raw:
        number = raw['intValue']
        return int(number[:20]) if isinstance(number, str) and number.isascii() and number.isdecimal() else number
    return next((raw[key] for key in ('stringValue', 'boolValue', 'doubleValue', 'bytesValue') if key in raw), None)


def _named(pairs: Any, depth: int = 0) -> dict[str, Any]:
    return {str(pair.get('key')): _value(pair.get('value'), depth) for pair in _objects(pairs)}


def _attributes(raw: Mapping[str, Any]) -> dict[str, Any]:
    return _named(raw.get('attributes'))


def _json(value: Any) -> Any:
    """Reads JSON text, as spans hold structured values; other values are returned unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return load_json(value, bounded=True)
    except ValueError:
        return value


def _nanoseconds(value: Any) -> int:
    text = str(value)[:20]
    return int(text) if text.isascii() and text.isdecimal() else 0


def _span(raw: Mapping[str, Any]) -> _Span:
    start, end = (_nanoseconds(raw.get(f'{name}TimeUnixNano')) for name in ('start', 'end'))
    seconds = (end - start) / 1e9 if 0 < start <= end else None
    span = _Span(*_ids(raw), str(raw.get('parentSpanId') or ''), start, seconds, _attributes(raw))
    for event in _objects(raw.get('events')):
        attributes = _attributes(event)
        _add_event(span, event.get('name'), {**attributes, 'body': attributes.get('gen_ai.event.content', attributes)})
    return span


def _add_event(span: _Span, name: Any, event: Mapping[str, Any]) -> None:
    if name == 'gen_ai.client.inference.operation.details':
        span.attributes = {**event, **span.attributes}
    body, role = _json(event.get('body')), _ROLE_OF_EVENT.get(str(name))
    if role is None or not isinstance(body, dict) or body.get('index'):  # the first of several choices
        return
    message = body.get('message')
    raw = {'role': role, 'tool_call_id': body.get('id'), **(message if isinstance(message, dict) else body)}
    (span.answered if name == 'gen_ai.choice' else span.asked).append(raw)


def _messages(value: Any) -> list[Message]:
    found = []
    for raw in _objects(_json(value)):
        parts = _objects(raw.get('parts'))
        calls = [
            make_call(part.get('name'), part.get('arguments'), part.get('id'))
            for part in parts
            if part.get('type') == 'tool_call'
        ]
        responses = [part for part in parts if part.get('type') == 'tool_call_response']
        rest = [part for part in parts if part.get('type') not in ('tool_call', 'tool_call_response')]
        if rest or calls or not responses:
            found.append(make_message(raw.get('role'), text_of(rest), calls))
        for part in responses:
            response = part.get('response', part.get('result'))
            found.append(make_message(TOOL, _result_text(response), call_id=part.get('id')))
    return found


def _result_text(value: Any) -> str:
    return text_of(value if isinstance(value, str) else written_arguments(value))


def _asked_and_answered(span: _Span) -> tuple[list[Message], list[Message]]:
    instructions = text_of(_json(span.attributes.get('gen_ai.system_instructions')))
    system = [make_message('system', instructions)] if instructions else []
    asked = _messages(span.attributes.get('gen_ai.input.messages')) or [*map(read_message, span.asked)]
    answered = _messages(span.attributes.get('gen_ai.output.messages'))[:1] or [*map(read_message, span.answered[:1])]
    return [*system, *asked], answered


def _other_form(spans: Iterable[_Span]) -> str:
    """Returns why a trace in the form of another program is not read; ``''`` if it has messages of the conventions."""
    names = [name for span in spans for name in span.attributes]
    return '' if any(name in _MESSAGES for name in names) else other_spans(names)


@dataclass
class _Chain:
    """Requests that continue each other; ``end`` stands for all messages, as of :func:`running_hashes`."""

    messages: list[Message] = field(default_factory=list)
    end: int = 0
    spans: list[_Span] = field(default_factory=list)


def _conversations(spans: list[_Span], location: str) -> Iterator[Conversation | str]:
    if form := _other_form(spans):
        raise ValueError(form)
    executed = [span for span in spans if span.operation == _EXECUTE]
    answered = [
        (span, *both) for span in spans if span.operation != _EXECUTE and any(both := _asked_and_answered(span))
    ]
    requests = [one for one in answered if one[0].operation not in _NO_REQUEST]
    chains = _chains(requests or answered)
    if not requests and chains:  # only the agents' spans have messages
        are_several = len(chains) > 1 or sum(span.operation == _INVOKE for span in spans) > 1
        unclaimed = _add_calls(chains, executed, are_several)
        if unclaimed:
            yield f'{location}: {unclaimed} calls of tools name none of its agents as their parent'
    made = _Executed(executed)
    for number, chain in enumerate(chains, start=1):
        yield _conversation(chain, made, f'{location}, conversation {number}' if len(chains) > 1 else location)


def _add_calls(chains: list[_Chain], executed: list[_Span], are_several: bool) -> int:
    """Adds the calls of ``execute_tool`` spans to the agent that made them; of several agents, to their parent.

    Returns:
        The number of calls of no agent.
    """
    answered_ids = {call.id for chain in chains for message in chain.messages for call in message.calls if call.id}
    of_agent: dict[str, list[_Span]] = {}
    for span in executed:
        if span.call_id not in answered_ids:
            of_agent.setdefault(span.parent if are_several else '', []).append(span)
    for chain in chains:
        agents = [span.id for span in chain.spans] if are_several else ['']
        calls = [call for agent in agents for call in of_agent.pop(agent, ())]
        if not any(message.calls for message in chain.messages):
            chain.messages[-1:-1] = _calls_of(calls)
    return sum(map(len, of_agent.values()))


def _chains(requests: list[tuple[_Span, list[Message], list[Message]]]) -> list[_Chain]:
    """Joins requests: one repeats all messages of an earlier one, or has only the results of its calls."""
    chains: list[_Chain] = []
    at_end: dict[int, _Chain] = {}
    of_call: dict[str, _Chain] = {}
    for span, asked, answered in requests:
        chain = next((at_end[one] for one in reversed(list(running_hashes(asked))) if one in at_end), None)
        if chain is None:
            is_rest = bool(asked) and asked[0].role == TOOL
            chain = (of_call.get(asked[0].call_id) if is_rest else None) or _Chain()
        else:
            chain.messages, chain.end = [], 0
        chain.messages += [*asked, *answered]
        *_, chain.end = running_hashes([*asked, *answered], chain.end)
        if not chain.spans:
            chains.append(chain)
        chain.spans.append(span)
        at_end[chain.end] = chain
        of_call.update({call.id: chain for message in answered for call in message.calls if call.id})
    return chains


class _Executed:
    """The ``execute_tool`` spans of a trace by the id of their call, in the order of their start."""

    def __init__(self, spans: Iterable[_Span]) -> None:
        self._of_id: dict[str, deque[Mapping[str, Any]]] = {}
        for span in spans:
            if span.call_id:
                self._of_id.setdefault(span.call_id, deque()).append(span.attributes)

    def of_calls(self, messages: Sequence[Message], renamed: Sequence[Message]) -> dict[str, Mapping[str, Any]]:
        """Returns the attributes of the span of each call, by its id in ``renamed``; an id may be used repeatedly."""
        found = {}
        for message, other in zip(messages, renamed, strict=True):
            for call, named in zip(message.calls, other.calls, strict=True):
                spans = self._of_id.get(call.id)
                if spans:
                    found[named.id] = spans.popleft() if len(spans) > 1 else spans[0]
        return found


def _conversation(chain: _Chain, made: _Executed, location: str) -> Conversation:
    definitions = [_json(span.attributes.get('gen_ai.tool.definitions')) for span in chain.spans]
    tool_lists = [tools for tools in definitions if isinstance(tools, list)]
    last = chain.spans[-1].attributes
    model = next((last[name] for name in ('gen_ai.response.model', 'gen_ai.request.model') if last.get(name)), '')
    messages = distinct_ids(chain.messages)
    executed = made.of_calls(chain.messages, messages)
    errors = {call: str(found.get('error.type') or '')[:MAX_NAME_CHARS] for call, found in executed.items()}
    return Conversation(
        location,
        tuple(_with_results(messages, executed)),
        tool_schemas([tool for tools in tool_lists for tool in tools]) if tool_lists else None,
        model if isinstance(model, str) else '',
        total_usage(span.usage for span in chain.spans),
        {call: error for call, error in errors.items() if error} if executed else None,
    )


def _calls_of(executed: Iterable[_Span]) -> list[Message]:
    """Returns the calls of ``execute_tool`` spans as answers."""
    calls = [
        make_call(
            span.attributes.get('gen_ai.tool.name'),
            _json(span.attributes.get('gen_ai.tool.call.arguments')),
            span.call_id,
        )
        for span in executed
    ]
    return [make_message('assistant', '', [call]) for call in calls]


def _with_results(messages: list[Message], made: Mapping[str, Mapping[str, Any]]) -> Iterator[Message]:
    """Yields messages, with the results of ``execute_tool`` spans for calls without one."""
    answered = {message.call_id for message in messages if message.role == TOOL}
    for message in messages:
        yield message
        for call in message.calls:
            result = made.get(call.id, {}).get('gen_ai.tool.call.result')
            if result is not None and call.id not in answered:
                yield make_message(TOOL, _result_text(result), call_id=call.id)
