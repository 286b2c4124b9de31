"""Spans with the messages and the tools of the examples in OpenTelemetry's conventions for generative AI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.extras.traces.conversation import Conversation
from opencompass_tooleval.extras.traces.otel import read_exports
from opencompass_tooleval.extras.traces.reading import Traces, read_traces
from tests.growth import in_linear_time

TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
CALL_ID = 'call_VSPygqKTWdrhaFErNvMV18Yl'
USER = {'role': 'user', 'parts': [{'type': 'text', 'content': 'Weather in Paris?'}]}
CALL = {'type': 'tool_call', 'id': CALL_ID, 'name': 'get_weather', 'arguments': {'location': 'Paris'}}
CALLS = {'role': 'assistant', 'parts': [CALL], 'finish_reason': 'tool_call'}
RESULT = {'role': 'tool', 'parts': [{'type': 'tool_call_response', 'id': CALL_ID, 'response': 'rainy, 57°F'}]}
ANSWER = {'role': 'assistant', 'parts': [{'type': 'reasoning', 'content': 'hm'}, {'type': 'text', 'content': 'Rain.'}]}
TOOLS = [
    {
        'type': 'function',
        'name': 'get_weather',
        'description': 'Get the weather in a given location',
        'parameters': {
            'type': 'object',
            'properties': {'location': {'type': 'string', 'description': 'The city and state'}},
            'required': ['location'],
        },
    }
]


def any_value(value: Any) -> dict[str, Any]:
    """Writes a value as OTLP does."""
    if isinstance(value, bool):
        return {'boolValue': value}
    if isinstance(value, int):
        return {'intValue': str(value)}
    if isinstance(value, dict):
        return {'kvlistValue': {'values': pairs(value)}}
    if isinstance(value, list):
        return {'arrayValue': {'values': [any_value(item) for item in value]}}
    return {'stringValue': value}


def pairs(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{'key': key, 'value': any_value(value)} for key, value in values.items()]


def span(number: int, values: dict[str, Any], trace: str = TRACE, **more: Any) -> dict[str, Any]:
    start = 1_700_000_000_000_000_000 + number * 10**9
    ids = {'traceId': trace, 'spanId': f'{number:016x}'}
    times = {'startTimeUnixNano': str(start), 'endTimeUnixNano': str(start + 5 * 10**8)}
    return {**ids, **times, 'name': 'a span', 'attributes': pairs(values), **more}


def chat(number: int, asked: Any, answered: Any, **more: Any) -> dict[str, Any]:
    values = {'gen_ai.operation.name': 'chat', 'gen_ai.request.model': 'gpt-4', 'gen_ai.response.model': 'gpt-4-0613'}
    tokens = {'gen_ai.usage.input_tokens': 40 + number, 'gen_ai.usage.output_tokens': 10 + number}
    messages = {'gen_ai.input.messages': asked, 'gen_ai.output.messages': answered}
    return span(number, {**values, **tokens, **{key: value for key, value in messages.items() if value}, **more})


def tool(number: int, **more: Any) -> dict[str, Any]:
    values = {'operation.name': 'execute_tool', 'tool.name': 'get_weather', 'tool.call.id': CALL_ID, **more}
    return span(number, {f'gen_ai.{key}' if '.' in key else key: value for key, value in values.items()})


def read(folder: Path, spans: list[Any], logs: list[Any] | None = None, lines: bool = False) -> Traces:
    export = {'resourceSpans': [{'resource': {}, 'scopeSpans': [{'scope': {}, 'spans': spans}]}]}
    if logs:
        export['resourceLogs'] = [{'resource': {}, 'scopeLogs': [{'logRecords': logs}]}]  # type: ignore[list-item]
    rows = [{key: value} for key, value in export.items()] if lines else [export]
    file = folder / 'otlp.jsonl'
    file.write_text('\n'.join(map(json.dumps, rows)))
    return read_traces([file])


def check(one: Conversation, result: str | None = 'rainy, 57°F') -> None:
    assert (one.query, one.final_answer) == ('Weather in Paris?', 'Rain.')
    assert [(call.name, call.arguments, got) for step in one.steps for call, got in step.calls] == [
        ('get_weather', {'location': 'Paris'}, result)
    ]


@pytest.mark.parametrize('as_text', [True, False])
def test_two_requests_of_a_trace_are_one_conversation(tmp_path: Path, as_text: bool) -> None:
    """Spans hold messages as JSON text, or structured."""
    form = json.dumps if as_text else (lambda value: value)
    first = chat(1, form([USER]), form([CALLS]), **{'gen_ai.tool.definitions': form(TOOLS)})
    second = chat(3, form([USER, CALLS, RESULT]), form([ANSWER]))
    (one,) = read(tmp_path, [second, first]).conversations
    check(one)
    assert one.location == f'otlp.jsonl, trace {TRACE}'
    assert one.tools is not None and one.tools[0].parameters['required'] == ['location']
    assert one.model == 'gpt-4-0613'
    assert one.usage is not None
    assert (one.usage.prompt, one.usage.completion, one.usage.seconds) == (84, 24, 1.0)
    assert one.errors is None


def test_a_request_with_only_the_new_messages_goes_on(tmp_path: Path) -> None:
    instructions = {'gen_ai.system_instructions': [{'type': 'text', 'content': 'Never joke.'}]}
    (one,) = read(tmp_path, [chat(1, [USER], [CALLS], **instructions), chat(2, [RESULT], [ANSWER])]).conversations
    check(one)
    assert (one.system, one.tools) == ('Never joke.', None)


def test_results_of_tool_spans_fill_gaps_and_mark_errors(tmp_path: Path) -> None:
    """The last request failed: the result is only where the tool was executed."""
    executed = tool(2, **{'tool.call.result': {'sky': 'rain'}, 'error.type': 'timeout'})
    executed['attributes'][-1]['key'] = 'error.type'
    (one,) = read(tmp_path, [chat(1, [USER], [CALLS]), executed]).conversations
    (step,) = one.steps
    assert step.calls[0][1] == '{\n  "sky": "rain"\n}'
    assert one.errors == {CALL_ID: 'timeout'}


def test_only_the_agent_and_its_tools_were_recorded(tmp_path: Path) -> None:
    values = {
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.input.messages': [USER],
        'gen_ai.output.messages': [ANSWER],
    }
    executed = tool(2, **{'tool.call.arguments': '{"location": "Paris"}', 'tool.call.result': 'rainy, 57°F'})
    (one,) = read(tmp_path, [span(1, values), executed]).conversations
    check(one)
    # With the requests the agent's own span adds nothing.
    traces = read(tmp_path, [span(1, values), chat(2, [USER, CALLS, RESULT], [ANSWER]), executed])
    (one,) = traces.conversations
    check(one)


ROME = {'role': 'user', 'parts': [{'type': 'text', 'content': 'And in Rome?'}]}


def agent(number: int, asked: Any) -> dict[str, Any]:
    messages = {'gen_ai.input.messages': asked, 'gen_ai.output.messages': [ANSWER]}
    return span(number, {'gen_ai.operation.name': 'invoke_agent', **messages})


@pytest.mark.parametrize('second', [[ROME], []], ids=['both have messages', 'one has messages'])
def test_of_several_agents_each_has_the_calls_of_its_children(tmp_path: Path, second: list[Any]) -> None:
    """A call that names neither agent as its parent is no agent's, and it is said."""
    agents = [agent(1, [USER]), agent(2, second)]
    if not second:
        agents[1]['attributes'] = agents[1]['attributes'][:1]
    made = [
        tool(3 + location, **{'tool.call.id': f'c{location}', 'tool.call.arguments': {'by': owner}})
        | {'parentSpanId': f'{owner:016x}'}
        for location, owner in enumerate((2, 1, 9))
    ]
    traces = read(tmp_path, [*agents, *made])
    owners = [[call.arguments for step in one.steps for call, _ in step.calls] for one in traces.conversations]
    assert owners == ([[{'by': 1}], [{'by': 2}]] if second else [[{'by': 1}]])
    assert traces.left_out == [
        f'otlp.jsonl, trace {TRACE}: {1 if second else 2} calls of tools name none of its agents as their parent'
    ]


def test_a_cycle_of_parents_ends(tmp_path: Path) -> None:
    first, second = (agent(n, [asked]) | {'parentSpanId': f'{3 - n:016x}'} for n, asked in ((1, USER), (2, ROME)))
    own = tool(3, **{'tool.call.arguments': '{}'}) | {'parentSpanId': f'{3:016x}'}  # its own parent
    assert [one.steps[0].calls for one in read(tmp_path, [first, second, own]).conversations] == [(), ()]


def test_a_trace_that_cannot_be_read_is_named_and_left_out(tmp_path: Path) -> None:
    good, no_role = chat(1, [USER], [ANSWER]), chat(2, [{'parts': []}], [ANSWER], **{'a': 1}) | {'traceId': 'b' * 32}
    body = json.dumps({'role': 5})
    wrong = {'events': [{'name': 'gen_ai.user.message', 'attributes': pairs({'gen_ai.event.content': body})}]}
    traces = read(tmp_path, [good, no_role, chat(3, None, None) | {'traceId': 'c' * 32} | wrong])
    assert [one.query for one in traces.conversations] == ['Weather in Paris?']
    assert traces.left_out == [f'otlp.jsonl, trace {name * 32}: a message has no role' for name in 'bc']


@pytest.mark.parametrize('number', ['1' * 20 + 'x', '1' * 5000, '-1', '\u0661', ''])
def test_a_number_that_is_none_has_no_effect(tmp_path: Path, number: str) -> None:
    good = chat(1, [USER], [ANSWER])
    good['attributes'].append({'key': 'other', 'value': {'intValue': number}})
    assert len(read(tmp_path, [good]).conversations) == 1


@pytest.mark.parametrize('are_agents', [True, False])
def test_a_long_trace_is_read_in_linear_time(tmp_path: Path, are_agents: bool) -> None:
    """Requests that have only the last results, all of one call; agents with as many tools."""

    def spans(count: int) -> list[Any]:
        if are_agents:
            others = [{**ROME, 'parts': [{'type': 'text', 'content': str(n)}]} for n in range(count)]
            return [agent(n, [asked]) for n, asked in enumerate(others)] + [
                tool(count + n, **{'tool.call.id': str(n)}) for n in range(count)
            ]
        return [chat(0, [USER], [CALLS]), *(chat(n, [RESULT], [CALLS]) for n in range(1, count))]

    def rows(of: list[Any]) -> list[Any]:
        return [*read_exports([{'resourceSpans': [{'scopeSpans': [{'spans': of}]}]}], 'f')]

    assert len(in_linear_time(rows, spans(1_600), spans(800))) == (1_601 if are_agents else 1)


def event(number: int, name: str, body: Any) -> dict[str, Any]:
    ids = {'traceId': TRACE, 'spanId': f'{number:016x}'}
    return {**ids, 'eventName': name, 'body': any_value(body), 'attributes': pairs({'gen_ai.system': 'openai'})}


OLDER_CALL = {'name': 'get_weather', 'arguments': '{"location":"Paris"}'}
OLDER: list[tuple[str, dict[str, Any]]] = [
    ('gen_ai.system.message', {'content': 'You are a helpful bot'}),
    ('gen_ai.user.message', {'content': 'Weather in Paris?'}),
    ('gen_ai.assistant.message', {'tool_calls': [{'id': CALL_ID, 'type': 'function', 'function': OLDER_CALL}]}),
    ('gen_ai.tool.message', {'content': 'rainy, 57°F', 'id': CALL_ID}),
    ('gen_ai.choice', {'index': 0, 'finish_reason': 'stop', 'message': {'content': 'Rain.'}}),
    ('gen_ai.choice', {'index': 1, 'finish_reason': 'stop', 'message': {'content': 'Another choice.'}}),
]


def test_events_of_older_conventions_in_logs(tmp_path: Path) -> None:
    logs = [event(1, name, body) for name, body in OLDER]
    traces = read(tmp_path, [chat(1, None, None)], logs, lines=True)
    check(traces.conversations[0])
    assert traces.formats == {'otel': 1}
    assert traces.conversations[0].system == 'You are a helpful bot'


def test_events_of_older_conventions_on_spans(tmp_path: Path) -> None:
    events = [{'name': name, 'attributes': pairs({'gen_ai.event.content': json.dumps(body)})} for name, body in OLDER]
    (one,) = read(tmp_path, [chat(1, None, None) | {'events': events}]).conversations
    check(one)


def test_messages_on_an_event(tmp_path: Path) -> None:
    name = 'gen_ai.client.inference.operation.details'
    attributes = {'gen_ai.input.messages': [USER, CALLS, RESULT], 'gen_ai.output.messages': [ANSWER]}
    log = event(1, name, {}) | {'attributes': pairs(attributes)}
    check(read(tmp_path, [chat(1, None, None)], [log]).conversations[0])


def test_agents_of_one_trace_stay_apart(tmp_path: Path) -> None:
    spans = [chat(1, [USER], [CALLS]), chat(2, [ROME], [ANSWER]), chat(3, [USER, CALLS, RESULT], [ANSWER])]
    first, second = read(tmp_path, spans).conversations
    check(first)
    assert (second.query, second.location) == ('And in Rome?', f'otlp.jsonl, trace {TRACE}, conversation 2')


def test_spans_without_messages_are_no_conversation(tmp_path: Path) -> None:
    with pytest.raises(DataError, match='no conversation can be read'):
        read(tmp_path, [chat(1, None, None), tool(2)])
    hostile = chat(1, '[' * 1000, {'a': 1}) | {'startTimeUnixNano': '9' * 5000, 'endTimeUnixNano': 'x', 'events': [1]}
    with pytest.raises(DataError, match='no conversation can be read'):
        read(tmp_path, [hostile, 'a', {'attributes': [{'key': {}, 'value': {'intValue': '1' * 100}}]}])


def test_ids_that_repeat_have_the_result_and_error_of_their_turn(tmp_path: Path) -> None:
    again = [USER, CALLS, {**RESULT, 'parts': [{'type': 'tool_call_response', 'id': CALL_ID, 'response': 'no answer'}]}]
    spans = [
        chat(1, [USER], [CALLS]),
        tool(2, **{'tool.call.result': 'no answer'}),
        chat(3, again, [CALLS]),
        tool(4, **{'tool.call.result': 'rainy, 57°F'}),
        chat(5, [*again, CALLS, RESULT], [ANSWER]),
    ]
    spans[1]['attributes'] += pairs({'error.type': 'timeout'})
    (one,) = read(tmp_path, spans).conversations
    calls = [(call.id, result) for step in one.steps for call, result in step.calls]
    assert [result for _, result in calls] == ['no answer', 'rainy, 57°F']
    assert one.errors == {calls[0][0]: 'timeout'} and len(dict(calls)) == 2


@pytest.mark.parametrize(
    ('values', 'program'),
    [
        ({'openinference.span.kind': 'LLM', 'llm.input_messages.0.message.role': 'user'}, 'OpenInference'),
        ({'gen_ai.system': 'openai', 'gen_ai.prompt.0.role': 'user', 'gen_ai.prompt.0.content': 'x'}, 'OpenLLMetry'),
        ({'llm.request.type': 'chat', 'gen_ai.request.model': 'gpt-4'}, 'OpenLLMetry'),
        ({'langfuse.observation.type': 'generation'}, 'Langfuse'),
        ({'langsmith.span.kind': 'llm'}, 'LangSmith'),
    ],
)
def test_spans_of_other_programs_are_refused_by_name(tmp_path: Path, values: dict[str, Any], program: str) -> None:
    asked = {'eventName': 'gen_ai.user.message', 'body': any_value({'content': 'x'})}
    answered = {'eventName': 'gen_ai.choice', 'body': any_value({'message': {'content': 'y'}})}
    ids = {'traceId': TRACE, 'spanId': f'{1:016x}'}
    with pytest.raises(DataError, match=f'in the form of {program}.*gen_ai.input.messages'):
        read(tmp_path, [span(1, values)], [{**asked, **ids}, {**answered, **ids}])


def test_spans_of_the_conventions_may_have_attributes_of_others(tmp_path: Path) -> None:
    (one,) = read(tmp_path, [chat(1, [USER, CALLS, RESULT], [ANSWER], **{'traceloop.entity.name': 'x'})]).conversations
    check(one)
