"""The request formats Responses and Messages, on servers with the vendors' rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.steps import ask
from opencompass_tooleval.core.calls.answer import Answer, visible_text
from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message, tool_messages
from opencompass_tooleval.core.calls.sent import carried_out
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.scoring.prices import Prices
from opencompass_tooleval.core.scoring.sampling_settings import sampling_of
from opencompass_tooleval.models import ToolEvalOpenAI
from opencompass_tooleval.models.dialogue_runner import DialogueRunner, Outcome
from opencompass_tooleval.models.model_calls import AskingEndedError
from tests.models.api.scripted_server import KEY, serving
from tests.models.api.vendor_server import BOUND, MessagesVendor, ResponsesVendor, Vendor, refuse
from tests.stored import stored_in

TOOLS = ToolSet([ToolSchema('add', 'adds', {'type': 'object', 'properties': {'a': {'type': 'integer'}}})], True)
ASKED = (Message('system', 'You add.'), Message('user', 'How much?'))
VENDORS: dict[str, type[Vendor]] = {'responses': ResponsesVendor, 'messages': MessagesVendor}
BOTH = pytest.mark.parametrize('wire', list(VENDORS))
STREAMED = pytest.mark.parametrize('stream', [False, True], ids=['whole', 'streamed'])


def model_of(url: str, wire: str, **settings: Any) -> ToolEvalOpenAI:
    if wire == 'responses':  # at OpenAI's own address this is so for its reasoning models
        settings = {'openai_extra_kwargs': {'temperature': None}, **settings}
    return ToolEvalOpenAI('tiny', url, **{'wire': wire, 'key': KEY, 'retry': 0, 'max_workers': 2, **settings})


def adds(changes: Callable[[Answer], Answer] = lambda answer: answer) -> Dialogue[Answer]:
    """A loop as the package has them: each call's argument is its result."""
    messages = list(ASKED)
    while True:
        answer = changes((yield ModelRequest(tuple(messages), '', TOOLS)))
        if not answer.calls:
            return answer
        shown = replace(answer, text=visible_text(answer).text)
        messages.extend(tool_messages(shown, [str(call.arguments['a']) for call in answer.calls], messages))


def talk(url: str, wire: str, folder: Path | None = None, **settings: Any) -> Outcome[Answer]:
    store = stored_in(folder) if folder else None
    return DialogueRunner(model_of(url, wire, **settings), store, 64).run({'d': adds()})['d']


@BOTH
@STREAMED
def test_a_dialogue_with_calls_and_thoughts(wire: str, stream: bool) -> None:
    """The server refuses anything but its own items, thoughts included, with the results of all calls."""
    with serving(vendor := VENDORS[wire]()) as url:
        outcome = talk(url, wire, stream=stream)
    assert outcome.infra is None and outcome.value is not None
    assert outcome.value.text == '<think>thought 2</think>Answer: 5' and len(vendor.asked) == 3
    first, second, last = outcome.answers
    assert [call.arguments for call in first.calls] == [{'a': 2}, {'a': 2}] and first.finish_reason == 'tool_calls'
    assert first.text == '<think>thought 0</think>I add.' and len(second.calls) == 1 and last.finish_reason == 'stop'
    assert outcome.usage is not None and vars(outcome.usage)['seconds'] is not None
    usage = outcome.usage
    assert (usage.prompt, usage.completion, usage.reasoning, usage.cached, usage.cache_write) == (300, 90, 30, 120, 60)
    assert Prices(10, 0, 1, 20).cost_of(usage) == pytest.approx((120 * 10 + 120 * 1 + 60 * 20) / 1e6)
    back = (
        [item for item in vendor.asked[-1]['input'] if item.get('type') in ('reasoning', 'message', 'function_call')]
        if wire == 'responses'
        else [block for one in vendor.asked[-1]['messages'] if one['role'] == 'assistant' for block in one['content']]
    )
    assert back == [item for items in vendor.rounds[:-1] for item in items], 'with the ids of the server'


@BOTH
def test_a_stream_is_read_as_the_whole_reply(wire: str) -> None:
    answers = []
    for stream in (False, True):
        with serving(VENDORS[wire]()) as url:
            outcome = talk(url, wire, stream=stream)
        answers.append([(one.text, one.calls, one.sent, one.finish_reason, one.has_content) for one in outcome.answers])
    whole, streamed = answers
    assert whole == streamed and all(sent for _, calls, sent, _, _ in whole if calls)


@BOTH
def test_a_killed_dialogue_continues_with_what_was_sent(wire: str, tmp_path: Path) -> None:
    with serving(vendor := VENDORS[wire]()) as url:
        store = stored_in(tmp_path)
        dialogue = adds()
        runner = DialogueRunner(model_of(url, wire), store, 64)

        def ends(answer: Answer) -> Answer:
            if len(vendor.rounds) == 2:
                raise KeyboardInterrupt
            return answer

        dialogue = adds(ends)
        with pytest.raises(KeyboardInterrupt):
            runner.run({'d': dialogue})
        assert talk(url, wire, tmp_path).value is not None and len(vendor.asked) == 3


@BOTH
def test_calls_that_the_model_never_made_have_no_ids_and_thoughts_of_the_server(wire: str) -> None:
    """As in T-Eval's data: calls and results of others, one without an object as arguments."""
    calls = (ToolCall('add', {'a': 1}, 'call_0'), ToolCall('add', 'no JSON', 'call_1'))
    made_up = (Message('assistant', 'I look.', calls), Message('tool', '7', call_id='call_0'))
    history = (*ASKED, *made_up, Message('tool', '', call_id='call_1'), Message('user', 'And now?'))

    def asks() -> Dialogue[Answer]:
        return (yield ModelRequest(history, '', TOOLS))

    with serving(vendor := VENDORS[wire]()) as url:
        outcome = DialogueRunner(model_of(url, wire), None, 64).run({'d': asks()})['d']
    assert outcome.value is not None and outcome.value.calls
    (request,) = vendor.asked
    if wire == 'responses':
        assert request['instructions'] == 'You add.'
        kinds = [item.get('type', item.get('role')) for item in request['input']]
        outputs = ['function_call_output'] * 2
        assert kinds == ['user', 'message', 'function_call', 'function_call', *outputs, 'user']
        assert request['input'][3]['arguments'] == 'no JSON' and 'id' not in request['input'][2]
        assert request['parallel_tool_calls'] is True and request['tools'][0]['strict'] is False
    else:
        assert request['system'] == 'You add.' and [m['role'] for m in request['messages']] == [
            *('user', 'assistant', 'user', 'user')
        ]
        _, assistant, results, _ = request['messages']
        assert [block['type'] for block in assistant['content']] == ['text', 'tool_use', 'tool_use']
        assert isinstance(assistant['content'][2]['input'], dict)
        assert results['content'] == [
            {'type': 'tool_result', 'tool_use_id': 'call_0', 'content': '7'},
            {'type': 'tool_result', 'tool_use_id': 'call_1'},
        ]
        assert request['tool_choice'] == {'type': 'auto'}


@BOTH
@STREAMED
def test_thoughts_that_the_server_refuses_are_left_out(
    wire: str, stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """As after a change of earlier messages, which the loop made here."""

    class Bound(VENDORS[wire]):  # type: ignore[misc, valid-type]
        def check(self, request: Any) -> None:
            items = request['input'] if wire == 'responses' else [
                block for m in request['messages'] if isinstance(m['content'], list) for block in m['content']
            ]  # fmt: skip
            if any(item.get('type') in ('reasoning', 'thinking') for item in items):
                refuse(400, BOUND.format(1, 0), 'invalid_request_error')

    with serving(vendor := Bound()) as url:
        outcome = talk(url, wire, stream=stream)
    assert outcome.value is not None and outcome.value.text.endswith('Answer: 5')
    assert len(vendor.asked) == 4, 'the second request is sent again without thoughts, the third has none'
    back = json.dumps(vendor.asked[-1])
    assert 'secret' not in back and 'signature' not in back and 'I add.' in back and '"rs_' not in back


@BOTH
def test_thoughts_after_an_observation_that_is_left_out_do_not_go_back(wire: str) -> None:
    """The server would refuse them, since they are bound to all messages before them."""

    class Short(VENDORS[wire]):  # type: ignore[misc, valid-type]
        def check(self, request: Any) -> None:
            super().check(request)
            if len(self.rounds) == 2 and 'left out' not in json.dumps(request):
                refuse(400, 'prompt is too long: 300000 tokens > 200000 maximum', 'invalid_request_error')

    def loop() -> Dialogue[Answer]:
        messages, left_out = list(ASKED), 0
        while True:
            reply = yield from ask(ModelRequest(tuple(messages), '', TOOLS), left_out)
            answer, left_out = reply
            if not answer.calls:
                return answer
            back = carried_out(answer.sent, answer.calls)
            messages.append(Message('assistant', '', answer.calls, sent=back))
            messages.extend(Message('tool', str(call.arguments['a']), call_id=call.id) for call in answer.calls)

    with serving(vendor := Short()) as url:
        outcome = DialogueRunner(model_of(url, wire), None, 64).run({'d': loop()})['d']
    assert outcome.infra is None and outcome.value is not None and len(vendor.asked) == 4
    kept = json.dumps(vendor.asked[-1])
    assert kept.count('left out') == 1 and kept.count('thought 0') == 1 and 'thought 1' not in kept


ENDS: list[tuple[str, dict[str, Any], str | None, str]] = [
    ('responses', {'status': 'incomplete', 'incomplete_details': {'reason': 'max_output_tokens'}}, None, 'length'),
    ('responses', {'status': 'incomplete', 'incomplete_details': {'reason': 'content_filter'}}, 'infra:filter', ''),
    ('responses', {'status': 'failed', 'error': {'code': 'server_error', 'message': 'x'}}, 'infra:server', ''),
    ('responses', {'status': 'failed', 'error': {'code': 'bio_policy', 'message': 'no'}}, 'infra:filter', ''),
    ('responses', {'status': 'failed', 'error': {'code': 'invalid_prompt', 'message': 'no'}}, 'infra:bad_request', ''),
    ('responses', {'status': 'in_progress'}, 'infra:server', ''),
    ('responses', {'status': 'cancelled'}, 'infra:server', ''),
    ('messages', {'stop_reason': 'max_tokens'}, None, 'length'),
    ('messages', {'stop_reason': 'model_context_window_exceeded'}, None, 'length'),
    ('messages', {'stop_reason': 'stop_sequence'}, None, 'stop'),
    ('messages', {'stop_reason': 'refusal', 'stop_details': {'category': 'cyber'}}, 'infra:filter', ''),
    ('messages', {'stop_reason': 'pause_turn'}, 'infra:server', ''),
]


@STREAMED
@pytest.mark.parametrize(('wire', 'ends', 'reason', 'end'), ENDS, ids=str)
def test_how_answers_end(wire: str, ends: dict[str, Any], reason: str | None, end: str, stream: bool) -> None:
    """Only whole answers and those that a limit has cut count."""
    if stream and ends.get('status') in ('in_progress', 'cancelled'):
        pytest.skip('a stream does not end so')
    with serving(VENDORS[wire](**ends)) as url:
        (answer,) = model_of(url, wire, stream=stream).answers(['Hello'], 64)
    assert (answer.reason, answer.finish_reason or '') == (reason, end)
    if ends.get('stop_details'):
        assert 'cyber' in answer.server_words
    assert reason or answer.text


def test_an_answer_that_fills_its_limit_is_cut_whatever_the_server_says() -> None:
    """As llama.cpp's server does on Responses; the vendor counts 30 tokens."""
    with serving(ResponsesVendor()) as url:
        ends = [model_of(url, 'responses').answers(['Hello'], limit)[0].finish_reason for limit in (30, 31)]
    assert ends == ['length', 'stop']


def said(content: bytes, request: Any) -> bytes:
    return content


@pytest.mark.parametrize('wire', ['responses', 'messages'])
def test_a_stream_that_breaks_off_is_no_answer(wire: str) -> None:
    class BrokenOff(VENDORS[wire]):  # type: ignore[misc, valid-type]
        def complete(self, request: Any) -> Any:
            return super().complete(request)[: -len(self.last)]

        @property
        def last(self) -> bytes:
            content: bytes = super().complete({**self.asked[-1], 'stream': True})
            return content[content.rindex(b'event:') :]

    with serving(BrokenOff()) as url:
        (answer,) = model_of(url, wire, stream=True).answers(['Hello'], 64)
    assert answer.reason == 'infra:server' and 'broke the answer off' in answer.server_words


def test_errors_within_a_stream() -> None:
    def events(*values: Any) -> bytes:
        return b''.join(b'data: %s\n\n' % json.dumps(value).encode() for value in values)

    overloaded = {'type': 'error', 'error': {'type': 'overloaded_error', 'message': 'Overloaded'}}
    for wire, content, reason in (
        ('messages', events({'type': 'message_start', 'message': {}}, overloaded), 'infra:server'),
        ('responses', events({'type': 'error', 'code': 'rate_limit_exceeded', 'message': 'slow'}), 'infra:rate_limit'),
        ('responses', events({'error': {'code': 'server_error', 'message': 'x'}}), 'infra:server'),
        ('responses', events([1]), 'infra:bad_response'),
        ('messages', events(1), 'infra:bad_response'),
        ('messages', b'data: {}\n\n', 'infra:bad_response'),
    ):
        vendor = VENDORS[wire]()
        vendor.complete = partial(said, content)  # type: ignore[method-assign]
        with serving(vendor) as url:
            (answer,) = model_of(url, wire, stream=True).answers(['Hello'], 64)
        assert answer.reason == reason, (wire, content)


SPENT = {'type': 'error', 'error': {'type': 'rate_limit_error', 'message': 'no', 'details': {}}}


@pytest.mark.parametrize('wire', ['responses', 'messages'])
def test_a_spend_limit_ends_the_run(wire: str) -> None:
    codes = {'responses': 'project_spend_limit_exceeded', 'messages': 'enforced_spend_limit_reached'}
    vendor = VENDORS[wire]()
    page = {**SPENT, 'error': {**SPENT['error'], 'details': {'error_code': codes['messages']}}}  # type: ignore[dict-item]
    if wire == 'responses':
        page = {'error': {'code': codes['responses'], 'type': 'insufficient_quota', 'message': 'no'}}
    vendor.complete = lambda request: page  # type: ignore[method-assign]
    with serving(vendor) as url, pytest.raises(AskingEndedError):
        model_of(url, wire, stream=False).answers(['Hello'], 64)


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    def faults(**settings: Any) -> list[str]:
        return list(ToolEvalOpenAI.check_settings({'path': 'm', 'key': 'k', **settings}))

    assert not faults(wire='responses') and not faults(wire='messages', temperature=0)
    assert faults(wire='grpc') == ["wire is 'grpc'; it must be one of 'chat', 'responses', 'messages'"]
    assert (
        'temperature=0.7 is not sent, since the Messages API refuses it' in faults(wire='messages', temperature=0.7)[0]
    )
    assert 'chat completions only' in faults(wire='responses', attribution=True)[0]
    assert 'chat completions only' in faults(wire='messages', mode='mid', max_seq_len=9)[0]
    extra = {'max_output_tokens': 9}
    assert (
        'leave max_output_tokens out: requests get it from max_out_len'
        in faults(wire='responses', openai_extra_kwargs=extra)[0]
    )
    for wire, name in (('messages', 'system'), ('responses', 'instructions')):
        (fault,) = faults(wire=wire, openai_extra_kwargs={name: 'Be brief.'})
        words = 'requests get it from the system messages; set system_prompt instead'
        assert fault == f'leave {name} out: {words}'
    with pytest.raises(ValueError, match="wire is 'x'"):
        ToolEvalOpenAI('m', wire='x', key='k')
    assert sampling_of({'wire': 'chat'}, {}) == {} != sampling_of({'wire': 'messages', 'strict': True}, {})
    monkeypatch.setenv('ANTHROPIC_API_KEY', f'{KEY}\n')
    with serving(vendor := MessagesVendor()) as url:
        model = ToolEvalOpenAI('tiny', url, wire='messages', strict=True, openai_extra_kwargs={'output_config': {}})
        (answer,) = model.answers([[{'role': 'SYSTEM', 'prompt': 'S'}, {'role': 'HUMAN', 'prompt': 'Hello'}]], 64)
    assert answer.reason is None and answer.text.endswith('Answer: 0')
    assert vendor.asked[0]['system'] == 'S' and vendor.asked[0]['output_config'] == {}


def test_what_a_loop_repeats_of_an_answer() -> None:
    """Its own ids and arguments, no call that it has not made; all of an answer without calls."""
    text, call = (
        {'type': 'message', 'content': []},
        {'type': 'function_call', 'call_id': 'a', 'name': 'add', 'arguments': {'no': 'text'}},
    )
    made = ToolCall('add', {'a': 1}, 'b')
    repeated = carried_out({'items': [text, call, call]}, [made])
    assert repeated == {'items': [text, {**call, 'call_id': 'b', 'arguments': '{"a": 1}'}]}
    assert carried_out({'items': [text]}, []) == {'items': [text]}
    use = {'type': 'tool_use', 'id': 'a', 'name': 'add', 'input': 'cut'}
    assert carried_out({'items': [use, text]}, [made]) == {'items': [{**use, 'id': 'b', 'input': {'a': 1}}, text]}


def test_what_a_loop_changes_of_an_answer_reaches_its_items() -> None:
    """A new name, as for an unknown function; thoughts after a changed call, which are bound to it, do not go back."""
    call = {'type': 'function_call', 'id': 'fc_1', 'call_id': 'a', 'name': 'ad', 'arguments': '{}'}
    thought = {'type': 'reasoning', 'id': 'rs_1', 'encrypted_content': 'x'}
    calls = [ToolCall('invalid', {}, 'a'), ToolCall('ad', {}, 'b')]
    repeated = carried_out({'items': [thought, call, thought, {**call, 'call_id': 'b'}]}, calls)
    del call['id']  # of the server's item
    assert repeated == {'items': [thought, {**call, 'name': 'invalid'}, {**call, 'call_id': 'b'}]}
    use = {'type': 'tool_use', 'id': 'a', 'name': 'ad', 'input': {}}
    kept = {'items': [thought, use, thought, {**use, 'id': 'b'}]}
    assert carried_out(kept, [ToolCall('ad', {}, 'a'), calls[1]]) == kept


@BOTH
@STREAMED
def test_thoughts_that_the_server_withholds_are_in_the_provenance(wire: str, stream: bool) -> None:
    """Those that it only would have withheld, and changes of an unknown kind, are not."""
    changes = [
        {'type': 'reasoning', 'id': 'rs_0', 'action': 'removed', 'reason': 'prefix_mismatch'},
        {'type': 'thinking_dropped', 'reason': 'model_mismatch'},
        {'type': 'thinking_mismatch_allowed'},
        {'action': 'removed', 'reason': 'x' * 99},
        7,
    ]

    class Withholds(VENDORS[wire]):  # type: ignore[misc, valid-type]
        def events(self, page: dict[str, Any]) -> Any:
            if wire == 'messages':  # which says so at the end of a stream
                page = {name: part for name, part in page.items() if name != 'input_transformations'}
            for event in super().events(page):
                yield {**event, 'input_transformations': changes} if event['type'] == 'message_delta' else event

    with serving(Withholds(input_transformations=changes)) as url:
        model = model_of(url, wire, stream=stream)
        model.answers(['Hello'], 64)
    held = [f'those that the server withheld ({reason}_mismatch)' for reason in ('model', 'prefix')]
    assert model.returned_thoughts == f'as_sent without {", ".join(held)}'


def test_an_argument_that_is_no_number_is_the_models(tmp_path: Path) -> None:
    """JSON has no NaN: the block goes back without it, and the call keeps its text."""

    class NoNumber(MessagesVendor):
        def events(self, page: dict[str, Any]) -> Any:
            for event in super().events(page):
                if event.get('delta', {}).get('partial_json', '').startswith(('{"a', '": ')):
                    event['delta']['partial_json'] = event['delta']['partial_json'].replace('2', 'NaN')
                yield event

    ends = []

    def one_round() -> Dialogue[Answer]:
        answer = yield ModelRequest(ASKED, '', TOOLS)
        ends.append(answer)
        return answer

    with serving(NoNumber()) as url:
        DialogueRunner(model_of(url, 'messages'), stored_in(tmp_path), 64).run({'d': one_round()})
    assert ends[0].reason is None and [call.written for call in ends[0].calls] == ['{"a": NaN}'] * 2
    assert ends[0].sent is not None and ends[0].sent['items'][-1]['input'] == {}


@BOTH
def test_items_of_the_other_format_are_encoded_again(wire: str) -> None:
    """As after a run that was begun on it."""
    other = {'type': 'tool_use', 'id': 'c'} if wire == 'responses' else {'type': 'function_call', 'call_id': 'c'}
    calls = (ToolCall('add', {'a': 1}, 'c'),)
    history = (
        *ASKED,
        Message('assistant', 'I add.', calls, sent={'items': [other]}),
        Message('tool', '1', call_id='c'),
    )

    def asks() -> Dialogue[Answer]:
        return (yield ModelRequest(history, '', TOOLS))

    with serving(vendor := VENDORS[wire]()) as url:
        outcome = DialogueRunner(model_of(url, wire), None, 64).run({'d': asks()})['d']
    assert outcome.infra is None and 'I add.' in json.dumps(vendor.asked[0])


def test_system_messages_after_the_first_keep_their_place() -> None:
    for wire, role in (('responses', 'developer'), ('messages', 'user')):
        turns = [
            {'role': 'SYSTEM', 'prompt': 'S'},
            {'role': 'HUMAN', 'prompt': 'Q'},
            {'role': 'SYSTEM', 'prompt': 'later'},
        ]
        with serving(vendor := VENDORS[wire]()) as url:
            model_of(url, wire).answers([turns, [{'role': 'SYSTEM', 'prompt': 'alone'}]], 64)
        asked = {
            len(conversation): conversation
            for conversation in (one.get('input') or one['messages'] for one in vendor.asked)
        }
        assert asked[2][1] == {'role': role, 'content': 'later'} and asked[1][0]['content'] == 'alone'


def test_keys_go_to_their_vendor_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('OPENAI_API_KEY', 'of-openai,second')
    monkeypatch.delenv('ANTHROPIC_API_KEY', raising=False)
    with pytest.raises(ValueError, match='export ANTHROPIC_API_KEY'):
        ToolEvalOpenAI('m', wire='messages')
    assert ToolEvalOpenAI('m').keys == ['of-openai', 'second']
    monkeypatch.setenv('ANTHROPIC_API_KEY', 'of-anthropic')
    model = ToolEvalOpenAI('m', wire='messages')
    assert model.keys == ['of-anthropic'] and model._url == 'https://api.anthropic.com/v1/messages'
