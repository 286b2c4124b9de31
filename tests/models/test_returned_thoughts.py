"""What servers send with their calls goes back to them unchanged: read off the requests that they get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.loops.function_calling import FunctionCalling
from opencompass_tooleval.agents.loops.steps import answered_call
from opencompass_tooleval.benchmarks.teval.adapter import ToolEvalTEvalFunctionCallingDataset
from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.dialogue import ModelRequest
from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.observation import Observation
from opencompass_tooleval.core.calls.sent import thoughts_of_rows
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.calls.trajectory import Trajectory, parse_trajectory, without_sent
from opencompass_tooleval.instructions.planned_calls import plan_calls
from opencompass_tooleval.models.conversation import ToolEvalConversationTemplate
from opencompass_tooleval.models.dataset import SHOWN
from opencompass_tooleval.models.dialogue_runner import DialogueRunner, Outcome
from opencompass_tooleval.models.model_calls import ask
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from opencompass_tooleval.report.trajectories import bounded
from opencompass_tooleval.work_dir.journal import Journal
from tests.benchmarks.funcqa.support import begin
from tests.models.api.scripted_server import KEY, Refused, Request, Script, serving

TOOLS = ToolSet([ToolSchema('add', 'adds', {'type': 'object', 'properties': {'a': {'type': 'integer'}}})])
ASKED = ModelRequest((Message('user', 'How much?'),), '', TOOLS)
SIGNED = {'extra_content': {'google': {'thought_signature': 'c2ln'}}}
SHAPES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    'deepseek, moonshot': ({'reasoning_content': 'Adding\n'}, {}),
    'vllm': ({'reasoning': 'Adding', 'reasoning_content': None}, {'id': 'functions.add:0'}),
    'gemini': ({'unknown': 1}, SIGNED),
    'openrouter': ({'reasoning_details': [{'type': 'reasoning.encrypted', 'data': 'c2ln', 'index': 0}]}, {}),
    'both names': ({'reasoning': 'A', 'reasoning_details': [{'type': 'reasoning.text', 'text': 'A'}]}, SIGNED),
    'minimax in content': ({'content': '<think>\nAdding\n</think>\nI add.'}, {}),
    'parts': ({'content': [{'type': 'thinking', 'thinking': [{'text': 'A'}]}, {'type': 'text', 'text': 'B'}]}, {}),
    'signature in the id': ({'content': ''}, {'id': 'call__thought__' + 5000 * 'A'}),
}


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
        known = {name: value for name, value in self.sent.items() if value and name != 'unknown'}
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
    return ToolEvalOpenAI('tiny', url, key=KEY, retry=0, max_workers=1, **settings)


def run(model: Any, journal: Path | None = None, dialogues: int = 1) -> dict[str, Outcome[Answer]]:
    runner = DialogueRunner(model, Journal(journal) if journal else None, 64)
    return runner.run({str(number): plan_calls(ASKED, 3) for number in range(dialogues)})


@pytest.mark.parametrize('shape', SHAPES)
def test_a_strict_server_gets_its_message_back(shape: str) -> None:
    script = Strict(*SHAPES[shape])
    with serving(script) as url:
        (outcome,) = run(model_of(url)).values()
    assert outcome.infra is None and outcome.value and outcome.value.text == 'Answer: 1'
    assert [request['messages'][1] for request in script.asked[1:]] == [script.back]
    assert not script.sent.get('reasoning_details') or '<think>' in outcome.answers[0].text


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
        pytest.param('as_sent', True, [1, 2], id='a journal of an earlier version'),
    ],
)
def test_a_killed_run_continues_with_what_was_sent(
    thoughts: str, is_old: bool, rounds: list[int], tmp_path: Path
) -> None:
    script, file = Strict(*SHAPES['both names']), tmp_path / 'journal.jsonl'
    script.down = True
    with serving(script) as url:
        run(model_of(url), file)
        if is_old:
            rows = Journal(file).restore()
            Journal(file).remove()
            Journal(file).append({index: {**row, 'sent': 0} for index, row in rows.items()})
            file.write_text(file.read_text().replace('"sent": 0', '"old": 0'))
        script.asked, script.down = [], False
        (outcome,) = run(model_of(url, thoughts=thoughts), file).values()
    assert [len(request['messages']) // 2 + 1 for request in script.asked] == rounds
    assert bool(outcome.value) == (thoughts == 'as_sent')
    assert ('reasoning' in script.asked[-1]['messages'][1]) == (thoughts == 'as_sent')


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
    message, result = FunctionCalling(parallel=False)._continuation(answer, [made], 0)
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
