"""What servers send with their calls goes back to them unchanged: read off the requests that they get."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.agents.loops.steps import answered_call
from opencompass_tooleval.benchmarks.teval.task import ToolEvalTEvalFunctionCallingDataset
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.observation import Observation
from opencompass_tooleval.core.calls.sent import MEMBERS, sent_of, thoughts_of_rows
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory, without_sent
from opencompass_tooleval.instructions.planned_calls import plan_calls
from opencompass_tooleval.models.conversation import Conversation, ToolEvalConversationTemplate
from opencompass_tooleval.models.dataset import SHOWN
from opencompass_tooleval.models.dialogue_runner import DialogueRunner, Outcome
from opencompass_tooleval.models.model_calls import AskingEndedError, ask, texts_of
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.report.trajectories import bounded
from opencompass_tooleval.work_dir.prompt_tokens import estimate_tokens
from tests.benchmarks.funcqa.support import begin
from tests.models.api.scripted_server import KEY, Refused, Request, Script, serving
from tests.stored import stored_in

TOOLS = ToolSet([ToolSchema('add', 'adds', {'type': 'object', 'properties': {'a': {'type': 'integer'}}})])
ASKED = ModelRequest((Message('user', 'How much?'),), '', TOOLS)
SIGNED = {'extra_content': {'google': {'thought_signature': 'c2ln'}}}
SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    'deepseek, moonshot': ({'reasoning_content': 'Adding\n'}, {}),
    'vllm': ({'reasoning': 'Adding', 'reasoning_content': None}, {'id': 'functions.add:0'}),
    'gemini': ({}, SIGNED),
    'moonshot, deepseek: no thoughts in a round': ({'reasoning_content': '', 'content': ''}, {}),
    'litellm': (
        {
            'reasoning_content': 'Adding',
            'thinking_blocks': [{'type': 'thinking', 'thinking': 'Adding', 'signature': 'EqQB=='}],
            'provider_specific_fields': {'citations': '', 'blocks': []},
        },
        {'provider_specific_fields': {'thought_signature': 'c2ln'}},
    ),
    'copilot': ({'reasoning_text': 'Adding', 'reasoning_opaque': 'b3BhcXVl', 'x-2027.member': [0, '', False]}, {}),
    'ollama': ({'thinking': 'Adding'}, {}),
    'openrouter': ({'reasoning_details': [{'type': 'reasoning.encrypted', 'data': 'c2ln', 'index': 0}]}, {}),
    'both names': ({'reasoning': 'A', 'reasoning_details': [{'type': 'reasoning.text', 'text': 'A'}]}, SIGNED),
    'minimax in content': ({'content': '<think>\nAdding\n</think>\nI add.'}, {}),
    'parts': ({'content': [{'type': 'thinking', 'thinking': [{'text': 'A'}]}, {'type': 'text', 'text': 'B'}]}, {}),
    'signature in the id': ({'content': ''}, {'id': 'call__thought__' + 5000 * 'A'}),
}


NEVER: dict[str, Any] = {
    'refusal': None,
    'annotations': [],
    'audio': {},
    'images': [],
    'parsed': {},
    'logprobs': [],
    'name': 'f',
}
NEVER |= {'a name with blanks': 1, 65 * 'a': 1}
"""Members that servers refuse in requests, or that have no name."""


def streamed(message: dict[str, Any], finish: str) -> bytes:
    """The message as an event stream: texts in pieces after an empty one, and calls whose arguments come in two."""

    def pieces() -> Iterator[dict[str, Any]]:
        for name, value in message.items():
            if name == 'tool_calls':
                for index, call in enumerate(value):
                    arguments = call['function']['arguments']
                    begun = {**call['function'], 'arguments': arguments[:3]}
                    yield {name: [{'index': index, **call, 'function': begun}]}
                    yield {name: [{'index': index, 'id': '', 'function': {'name': '', 'arguments': arguments[3:]}}]}
            elif name == 'content' and isinstance(value, list):  # Mistral: after an empty text
                yield from ({name: part} for part in ('', [value[0]], value[1]['text']))
            elif name == 'thinking_blocks':
                for block in value:
                    yield {name: [{'type': 'thinking', 'thinking': block['thinking'], 'signature': ''}]}
                    yield {name: [{'type': 'thinking', 'thinking': '', 'signature': block['signature']}]}
            elif isinstance(value, str) and name != 'reasoning_opaque':
                yield from ({name: part} for part in ('', value[:3], value[3:]))
            else:
                yield {name: value}

    deltas = [{'delta': piece, 'finish_reason': None} for piece in pieces()] + [{'delta': {}, 'finish_reason': finish}]
    events = [{'choices': [{'index': 0, **delta}]} for delta in deltas]
    return b''.join(b'data: %s\n\n' % json.dumps(event).encode() for event in events) + b'data: [DONE]\n\n'


class Strict(Script):
    """Calls a tool once, and refuses a request unless its message with calls is the one that it sent."""

    refusal = 'The reasoning_content in the thinking mode must be passed back to the API.'
    down = False

    def __init__(self, message: dict[str, Any], call: dict[str, Any]) -> None:
        super().__init__()
        self.sent = message
        self.call = {'id': 'call_1', 'type': 'function', **call, 'function': {'name': 'add', 'arguments': '{"a":1 }'}}

    @property
    def back(self) -> dict[str, Any]:
        """The message as it has to come back."""
        known = {name: value for name, value in self.sent.items() if value is not None and name not in NEVER}
        return {'role': 'assistant', 'content': None, 'tool_calls': [self.call], **known}

    def check(self, request: Request) -> None:
        if any(message.get('tool_calls') and message != self.back for message in request['messages']):
            raise Refused(400, self.refusal)
        if self.down and len(request['messages']) > 1:
            raise Refused(400, 'no round after the first')

    def message(self, request: Request) -> dict[str, Any]:
        if request['messages'][-1]['role'] == 'tool':
            return {'content': 'Answer: 1'}
        return {'content': None, **self.sent, 'tool_calls': [self.call]}

    def cut(self, message: dict[str, Any], limit: int) -> tuple[dict[str, Any], bool]:
        return message, False

    def usage(self, request: Request, message: dict[str, Any]) -> Any:
        return None

    def complete(self, request: Request) -> Any:
        page = super().complete(request)
        (choice,) = page['choices']
        return streamed(choice['message'], choice['finish_reason']) if request.get('stream') else page


class Forgetful(Strict):
    """Refuses what it sent, by its name, as Groq and Mistral do."""

    refusal = "property 'reasoning_content' is unsupported"

    def check(self, request: Request) -> None:
        if any(message.get('reasoning_content') for message in request['messages']):
            raise Refused(400, self.refusal)


class Always(Strict):
    """Refuses every second round, and names thoughts that other messages lack."""

    def check(self, request: Request) -> None:
        if len(request['messages']) > 1:
            raise Refused(400, self.refusal)


def model_of(url: str, **settings: Any) -> ToolEvalOpenAI:
    return ToolEvalOpenAI('tiny', url, **{'key': KEY, 'retry': 0, 'max_workers': 1, **settings})


def run(model: Any, folder: Path | None = None, dialogues: int = 1) -> dict[str, Outcome[Answer]]:
    runner = DialogueRunner(model, stored_in(folder) if folder else None, 64)
    return runner.run({str(number): plan_calls(ASKED, 3) for number in range(dialogues)})


@pytest.mark.parametrize('stream', [False, True], ids=['whole', 'streamed'])
@pytest.mark.parametrize('shape', SHAPES)
def test_a_strict_server_gets_its_message_back(shape: str, stream: bool) -> None:
    message, call = SHAPES[shape]
    script = Strict({**message, **NEVER}, call)
    with serving(script) as url:
        (outcome,) = run(model_of(url, stream=stream)).values()
    assert outcome.infra is None and outcome.value and outcome.value.text == 'Answer: 1'
    assert [request['messages'][1] for request in script.asked[1:]] == [script.back]
    names = {name for name, value in message.items() if value} & set(MEMBERS)
    assert bool(names) == outcome.answers[0].text.startswith('<think>') or 'content' in message


@pytest.mark.parametrize('part', ['thoughts', 'arguments', 'tools'])
def test_everything_that_a_round_sends_counts_for_max_seq_len(part: str) -> None:
    """The limit of tokens is lowered by it, and a dialogue that no longer fits ends; no part of it is sent."""
    words = 'word ' * 300
    script = Strict({'reasoning_content': words} if part == 'thoughts' else {}, {})
    if part == 'arguments':
        script.call['function']['arguments'] = json.dumps({'a': words})
    tools = ToolSet([ToolSchema('add', words if part == 'tools' else 'adds', {'type': 'object'})])
    with serving(script) as url:
        request = ModelRequest(ASKED.messages, '', tools)
        for room in (10_000, 470):
            outcome = DialogueRunner(model_of(url, max_seq_len=room), None, 64).run({'0': plan_calls(request, 3)})['0']
            assert outcome.infra is None
            assert [len(script.asked), script.asked[-1]['max_tokens'] < 64] == [2, room == 470]
            script.asked.clear()
        outcome = DialogueRunner(model_of(url, max_seq_len=390), None, 64).run({'0': plan_calls(request, 3)})['0']
        assert outcome.infra == 'infra:truncated'
        assert len(script.asked) == (part != 'tools')


def test_none_sends_no_thoughts_and_names_the_setting_where_they_are_required(logged: list[str]) -> None:
    script = Strict(*SHAPES['deepseek, moonshot'])
    with serving(script) as url:
        (outcome,) = run(model_of(url, thoughts='none')).values()
    back = script.asked[1]['messages'][1]
    assert set(back) == {'role', 'content', 'tool_calls'}
    assert back['tool_calls'][0]['function']['arguments'] == '{"a": 1}'
    assert outcome.infra == 'infra:bad_request' and "thoughts='as_sent'" in ''.join(logged)
    with serving(Always({'reasoning_content': 'Adding'}, {})) as url:  # names thoughts that other messages lack
        model = model_of(url)
        (outcome,) = run(model).values()
    assert outcome.infra == 'infra:bad_request' and model.returned_thoughts == 'as_sent'


def test_members_that_a_server_refuses_are_left_out_for_the_whole_task(logged: list[str]) -> None:
    script = Forgetful({'reasoning_content': 'Adding', 'reasoning': 'A'}, SIGNED)
    with serving(script) as url:
        model = model_of(url)
        outcomes = run(model, dialogues=5).values()
    seconds = [request['messages'][1] for request in script.asked if len(request['messages']) > 1]
    assert all(outcome.value for outcome in outcomes) and len(seconds) == 5 + 1
    assert [message.get('reasoning_content') for message in seconds] == ['Adding', *[None] * 5]
    assert all(message['reasoning'] and message['tool_calls'][0]['extra_content'] for message in seconds)
    assert ''.join(logged).count('no longer returns') == 1
    assert model.returned_thoughts == 'as_sent without reasoning_content'


@pytest.mark.parametrize(
    ('thoughts', 'is_old', 'rounds'),
    [
        pytest.param('as_sent', False, [2], id='as_sent'),
        pytest.param('none', False, [2], id='none'),
        pytest.param('as_sent', True, [1, 2], id='a store of an earlier version'),
    ],
)
def test_a_killed_run_continues_with_what_was_sent(
    thoughts: str, is_old: bool, rounds: list[int], tmp_path: Path
) -> None:
    script, folder = Strict(*SHAPES['both names']), tmp_path
    script.down = True
    with serving(script) as url:
        run(model_of(url), folder)
        if is_old:
            (stored,) = folder.glob('*.jsonl')
            rows = map(json.loads, stored.read_text().splitlines())
            stored.write_text(''.join(f'{json.dumps({**row, "sent": 0})}\n' for row in rows).replace('"sent"', '"old"'))
        script.asked, script.down = [], False
        (outcome,) = run(model_of(url, thoughts=thoughts), folder).values()
    assert [len(request['messages']) // 2 + 1 for request in script.asked] == rounds
    assert bool(outcome.value) == (thoughts == 'as_sent')
    assert ('reasoning' in script.asked[-1]['messages'][1]) == (thoughts == 'as_sent')


def test_dialogues_in_flight_learn_what_is_refused_and_members_are_left_out_one_after_another(
    logged: list[str],
) -> None:
    """Groq names one member at a time; gpt-oss on llama.cpp has a template's error, with status 500."""

    class OneByOne(Strict):
        waiting = threading.Barrier(4)

        def check(self, request: Request) -> None:
            for message in request['messages']:
                for name in sorted(message.keys() - {'role', 'content', 'tool_calls', 'tool_call_id'}):
                    if len(script.asked) <= 8:
                        self.waiting.wait(30)  # all four second rounds are in flight before the first is refused
                    raise Refused(400, f"'messages.1' : property '{name}' is unsupported")

    script = OneByOne({'reasoning': 'A', 'zeta': [], 'alpha': {'b': 1}}, {})
    with serving(script) as url:
        model = ToolEvalOpenAI('tiny', url, key=KEY, retry=0, max_workers=4)
        outcomes = run(model, dialogues=4).values()
        assert all(outcome.value for outcome in outcomes)
        seconds = [len(request['messages'][1]) for request in script.asked if len(request['messages']) > 1]
        assert seconds.count(6) == 4 and len(seconds) <= 16
        script.asked.clear()
        (again,) = run(model).values()
    assert again.value and len(script.asked) == 2
    assert model.returned_thoughts == 'as_sent without alpha, reasoning, zeta'

    class Template(Strict):
        def check(self, request: Request) -> None:
            for message in request['messages']:
                if message.get('tool_calls') and message['content'] and 'reasoning_content' in message:
                    raise Refused(500, 'Cannot pass both content and thinking in an assistant message with tool calls!')

    with serving(Template({'content': 'I look.', 'reasoning_content': 'A tool.', 'more': 1}, {})) as url:
        model = model_of(url, retry=1, backoff=0)
        outcomes = run(model, dialogues=3).values()
    assert all(outcome.value for outcome in outcomes) and model.returned_thoughts == 'as_sent without reasoning_content'
    assert 'property' in ''.join(logged) and 'Cannot pass both' in ''.join(logged)


def test_a_server_that_sends_but_refuses_an_empty_text_gets_null() -> None:
    class NoEmpty(Strict):
        def check(self, request: Request) -> None:
            if any(message['content'] == '' for message in request['messages']):
                raise Refused(400, 'messages: text content blocks must be non-empty')

    with serving(script := NoEmpty({'content': '', 'reasoning_content': 'A'}, {})) as url:
        model = model_of(url)
        assert [bool(outcome.value) for outcome in run(model, dialogues=2).values()] == [True, True]
    rounds = [request['messages'][1] for request in script.asked if len(request['messages']) > 1]
    assert [message['content'] for message in rounds] == ['', None, None]
    assert all(message['reasoning_content'] for message in rounds) and model.returned_thoughts == 'as_sent'


@pytest.mark.parametrize('status', [422, 500])
def test_a_server_that_refuses_null_content_gets_an_empty_text(status: int) -> None:
    class NoNull(Strict):
        def check(self, request: Request) -> None:
            if any(message['content'] is None for message in request['messages']):
                raise Refused(status, 'messages.1.content: Input should be a valid string')

    with serving(script := NoNull({}, {})) as url:
        model = model_of(url, retry=1, backoff=0)
        assert all(outcome.value for outcome in run(model, dialogues=3).values())
    contents = [request['messages'][1]['content'] for request in script.asked if len(request['messages']) > 1]
    assert contents == ([None, '', '', ''] if status == 422 else [None, None, '', None, None, '', ''])
    assert model.returned_thoughts == 'as_sent'


def test_a_refusal_that_names_nothing_leaves_unknown_members_out() -> None:
    class Vague(Strict):
        def check(self, request: Request) -> None:
            if any('x_request' in message for message in request['messages']):
                raise Refused(422, 'Unprocessable entity: request body is invalid')

    sent = {'executed_tools': [], 'x_request': {'id': 1}, 'reasoning': 'A'}
    call = {'function': {'name': 'add', 'arguments': '{}', 'provider_specific_fields': {'thought_signature': 'S'}}}
    with serving(script := Vague(sent, {})) as url:
        script.call |= call
        model = model_of(url)
        (outcome,) = run(model).values()
    assert outcome.value and model.returned_thoughts.startswith('as_sent without executed_tools, ')
    first, last = (request['messages'][1] for request in script.asked[1:])
    assert first['tool_calls'] == [script.call] and last['reasoning'] == 'A' and 'x_request' not in last


@pytest.mark.parametrize('words', ['Kimi-K2-Thinking: internal error', 'failed to generate content', 'the type'])
def test_a_failure_of_the_server_leaves_no_member_out(words: str) -> None:
    class Failing(Strict):
        def check(self, request: Request) -> None:
            if len(request['messages']) > 1 and (self.down or len(self.asked) == 2):
                raise Refused(500, words)

    with serving(script := Failing({'content': None, 'reasoning_content': 'A', 'type': 'message'}, {})) as url:
        model = model_of(url, retry=3, backoff=0)
        (outcome,) = run(model).values()
        assert outcome.value and model.returned_thoughts == 'as_sent'
        assert all(request['messages'][1].get('reasoning_content') for request in script.asked[1:])
        script.down = True
        script.asked.clear()
        (outcome,) = run(model).values()
        assert outcome.infra == 'infra:server' and model.returned_thoughts == 'as_sent'
        assert len(script.asked) == 8  # the first round, four tries, and three of these again without a member


def test_if_nothing_helps_the_message_names_a_setting_that_does(logged: list[str]) -> None:
    class NoBlanks(Strict):
        def check(self, request: Request) -> None:
            for message in request['messages']:
                for made in message.get('tool_calls', ()):
                    if made['function']['arguments'] != '{"a": 1}':
                        raise Refused(400, 'the call does not follow from its thinking')

    script = NoBlanks({'reasoning_content': 'A', 'more': 'B'}, {})
    with serving(script) as url:
        (outcome,) = run(model_of(url)).values()
        assert outcome.infra == 'infra:bad_request' and "set thoughts='none'" in ''.join(logged)
        assert [len(request['messages'][1]) for request in script.asked[1:]] == [5, 4, 3]
        (outcome,) = run(model_of(url, thoughts='none')).values()
    assert outcome.value


def test_other_failures_leave_nothing_out(logged: list[str]) -> None:
    class Busy(Strict):
        status = 0

        def check(self, request: Request) -> None:
            if len(request['messages']) > 1 and len(self.asked) < 4:
                raise Refused(self.status, 'Rate limit for reasoning models: reasoning_content tokens per minute')

    for Busy.status in (429, 503):
        script = Busy({'reasoning_content': 'A'}, {})
        with serving(script) as url:
            model = ToolEvalOpenAI('tiny', url, key=KEY, retry=3, backoff=0.001, max_workers=1)
            assert [bool(outcome.value) for outcome in run(model).values()] == [True]
        assert model.returned_thoughts == 'as_sent' and 'reasoning_content' in script.asked[-1]['messages'][1]


def test_ids_of_calls_are_unique_in_a_dialogue(tmp_path: Path) -> None:
    """Servers that count the calls of each answer from 0: the same requests, also if the run is resumed."""

    class Counts(Strict):
        def check(self, request: Request) -> None:
            made = [made['id'] for message in request['messages'] for made in message.get('tool_calls', ())]
            results = [message['tool_call_id'] for message in request['messages'] if message['role'] == 'tool']
            if made != results or len(set(made)) < len(made):
                raise Refused(400, f'tool call ids {made}, results {results}')
            if self.down and len(results) == 2:
                raise Refused(401, 'down')

        def message(self, request: Request) -> dict[str, Any]:
            rounds = sum(message['role'] == 'tool' for message in request['messages'])
            return {'content': 'Answer: 1'} if rounds == 3 else {'content': None, 'tool_calls': [self.call]}

    script = Counts({}, {'id': 'call_0'})
    for script.down in (True, False):
        with serving(script) as url:
            runner = DialogueRunner(model_of(url), stored_in(tmp_path), 64)
            with nullcontext() if not script.down else pytest.raises(AskingEndedError):
                (outcome,) = runner.run({'r': plan_calls(ASKED, 5)}).values()
    assert outcome.value and outcome.value.text == 'Answer: 1'
    ids = [[m['tool_call_id'] for m in one['messages'] if m['role'] == 'tool'] for one in script.asked]
    assert ids == [[], ['call_0'], ['call_0', 'call_1'], ['call_0', 'call_1'], ['call_0', 'call_1', 'call_2']]


def test_repeated_thoughts_count_once_and_members_that_are_too_long_stay_here(logged: list[str]) -> None:
    words = 'word ' * 300
    details = [{'type': 'reasoning.text', 'text': words}, {'type': 'reasoning.encrypted', 'data': 'c2ln'}]
    repeated = {'reasoning': words, 'reasoning_content': words, 'reasoning_details': details}
    lengths, estimates = [], []
    for message in ({'reasoning': words}, repeated):
        with serving(script := Strict(message, {})) as url:
            DialogueRunner(model_of(url, max_seq_len=470), None, 64).run({'0': plan_calls(ASKED, 3)})
        assert script.asked[1]['messages'][1] == script.back
        lengths.append(script.asked[1]['max_tokens'])
        row = {'record_id': 'r', 'source': 's', 'idx': 0, 'gold_answer': ''}
        sent = sent_of(message, [])
        shown = [Message('user', 'a'), Message('assistant', '', (ToolCall('add', {}, 'x'),), sent=sent)]
        estimates.append(sum(estimate_tokens(texts_of(Conversation.of(shown, row, TOOLS)))))
    assert 300 < estimates[0] < estimates[1] < estimates[0] + 60
    assert lengths[0] - 60 < lengths[1] < lengths[0] < 64 + 64
    huge = {'reasoning_content': 'A', 'opaque': 2_000_001 * 'a', 'nan': 1, 'more': []}
    with serving(script := Strict(huge, SIGNED)) as url:
        model = model_of(url)
        (outcome,) = run(model, dialogues=1).values()
    assert outcome.infra == 'infra:bad_request'  # this server demands what is left out
    assert set(script.asked[1]['messages'][1]) == {'role', 'content', 'tool_calls', 'reasoning_content'}
    assert [line for line in logged if 'too long to return: more, nan, opaque' in line]
    assert model.returned_thoughts == 'as_sent without members that are too long'


def test_more_thoughts_than_any_context_are_no_answer() -> None:
    with serving(Strict({'reasoning_content': 2_000_001 * 'a'}, {})) as url:
        assert [one.infra for one in run(model_of(url)).values()] == ['infra:bad_response']


def test_a_trajectory_has_them_and_what_is_shown_or_exported_has_not() -> None:
    script = Strict(*SHAPES['gemini'])
    with serving(script) as url:
        (outcome,) = DialogueRunner(model_of(url), None, 64).run({'r': begin('function_calling')}).values()
    end = parse_trajectory(outcome.value.to_json()) if outcome.value else Trajectory('')
    assert end == outcome.value and end.steps[0].sent == {'tool_calls': [{**SIGNED, 'arguments': '{"a":1 }'}]}
    assert script.asked[1]['messages'][-2] == script.back
    assert 'c2ln' not in without_sent(end.to_json()) + bounded(end).to_json()


def test_a_loop_that_makes_one_call_returns_the_thoughts_and_that_call() -> None:
    sent = {'reasoning': 'both', 'tool_calls': [{**SIGNED, 'arguments': '{"a":1}'}, SIGNED]}
    answer = Answer('', calls=(ToolCall('add', {'a': 1}, 'x'), ToolCall('add', {'a': 2}, 'y')), sent=sent)
    made = answered_call('add', {'a': 1}, Observation('1', 'function'))
    message, result = FunctionCalling(parallel=False)._continuation(answer, [made], ())
    assert message.sent == {'reasoning': 'both', 'tool_calls': [{**SIGNED, 'arguments': '{"a":1}'}]}
    assert (len(message.calls), result.call_id) == (1, 'x')
    rows = [{'thoughts': 'as_sent'}, {'thoughts': 'as_sent without reasoning'}, {}]
    assert thoughts_of_rows(rows) == 'as_sent without reasoning' and thoughts_of_rows([{}, {'thoughts': 1}]) is None
    assert thoughts_of_rows([{'thoughts': 'none'}, {'thoughts': 'as_sent'}]) == 'as_sent, none'


def test_gold_calls_that_no_server_sent_can_be_text(logged: list[str]) -> None:
    script, name = Always({'reasoning_content': 'A'}, {}), 'reason_retrieve_understand_json_v2'

    def asked(history: str) -> list[dict[str, Any]]:
        rows = ToolEvalTEvalFunctionCallingDataset.load(
            'tooleval:demo/teval/EN', name, check_encoder=False, history=history
        )
        row = next(row for row in rows if len(json.loads(row['messages'])) > 3)
        assert json.loads(row.get(SHOWN) or '{}') == ({'history': 'text'} if history == 'text' else {})
        ask(model_of(url), [ToolEvalConversationTemplate().generate_item({**row, 'idx': 0})], 64)
        messages: list[dict[str, Any]] = script.asked[-1]['messages']
        return messages

    with serving(script) as url:
        natively, as_text = asked('calls'), asked('text')
    assert ["history='text'" in line for line in logged if 'status 400' in line] == [True, False]
    results = [message['content'] for message in natively if message['role'] == 'tool']
    assert results and all(message.keys() == {'role', 'content'} for message in as_text)
    assert all(any(result in message['content'] for message in as_text) for result in results)
