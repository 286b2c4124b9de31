"""Tools that are offered natively: over a real HTTP server, by the models that know the answer, and in the files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from opencompass_tooleval.core.calls.dialogue import Dialogue, ModelRequest
from opencompass_tooleval.core.calls.messages import Message, messages_text
from opencompass_tooleval.core.calls.tool_calls import ToolCall, calls_payload, write_answer
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.core.scoring.result import SampleScore
from opencompass_tooleval.evaluators.evaluator import ToolEvalCallsEvaluator
from opencompass_tooleval.models.conversation import Conversation, ToolEvalConversationTemplate
from opencompass_tooleval.models.dialogue_runner import DialogueRunner
from opencompass_tooleval.models.fixed_models import OracleModel, ReplayModel
from opencompass_tooleval.models.model_calls import ask
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tests.conftest import ModelServer, start_server
from tests.models.api.scripted_server import KEY, Script, serving
from tests.models.test_openai_model import make_model
from tests.stored import stored_in

SCRIPT = '''
import json

def tools(messages, request):
    """Calls the first tool with what it was sent, then repeats what the tool said."""
    if messages[-1]['role'] == 'tool':
        before = messages[-2]['tool_calls'][0]
        assert messages[-1]['tool_call_id'] == before['id'], messages
        return f"{messages[-1]['content']} by {before['function']['name']}"
    name = request['tools'][0]['function']['name']
    sent = {key: request[key] for key in ('tool_choice', 'parallel_tool_calls') if key in request}
    return {'content': 'I look', 'calls': [{'name': name, 'arguments': sent}, {'name': 'other', 'arguments': '{"a'}]}
'''
TOOLS = ToolSet([ToolSchema('Weather.of', 'the weather', {'type': 'object', 'properties': {}})], parallel=False)


@pytest.fixture(scope='module')
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    script = tmp_path_factory.mktemp('script') / 'calls.py'
    script.write_text(SCRIPT, encoding='utf-8')
    running = start_server('--script', f'{script}:tools')
    yield running
    running.stop()


def row(**columns: Any) -> dict[str, Any]:
    """A row of a data set that offers tools."""
    gold = write_answer('look', [ToolCall('Weather.of', {'city': 'Rome'})])
    messages = messages_text([Message('user', 'How is the weather?')])
    base = {'record_id': 'r', 'source': 'made_up', 'idx': 0, 'gold_answer': gold, 'messages': messages}
    return {**base, 'tools': TOOLS.to_text(), **columns}


def prompt() -> Conversation:
    return ToolEvalConversationTemplate().generate_item(row())


@pytest.mark.parametrize(('options', 'sent'), [
    ({}, {'tool_choice': 'auto', 'parallel_tool_calls': False}),
    ({'tool_choice': 'required', 'parallel_tool_calls': False}, {'tool_choice': 'required'}),
])  # fmt: skip
def test_a_server_is_offered_tools_and_its_calls_have_their_own_names(
    server: ModelServer, options: dict[str, Any], sent: dict[str, Any]
) -> None:
    (answer,) = ask(make_model(server, **options), [prompt()], 64)
    assert answer.text == 'I look'
    assert [(call.name, call.arguments) for call in answer.calls] == [('Weather.of', sent), ('other', '{"a')]
    assert answer.finish_reason == 'tool_calls'
    assert answer.usage is not None and answer.usage.completion and answer.usage.requests == 1 and answer.usage.seconds


def talk() -> Dialogue[str]:
    """Asks, answers the first call, and ends with what the model says then."""
    messages = (Message('user', 'How is the weather?'),)
    answer = yield ModelRequest(messages, row()['gold_answer'], TOOLS)
    call = answer.calls[0]
    told = (Message('assistant', answer.text, answer.calls), Message('tool', f'sunny, {call.name}', call_id=call.id))
    return (yield ModelRequest((*messages, *told), write_answer('sunny'), TOOLS)).text


def test_a_kept_answer_whose_calls_cannot_be_read_is_asked_for_again(server: ModelServer, tmp_path: Path) -> None:
    first = DialogueRunner(make_model(server), stored_in(tmp_path), 64).run({'r': talk()})['r']
    (file,) = tmp_path.glob('*.jsonl')
    rows = map(json.loads, file.read_text().splitlines())
    damaged = ({**row, 'calls': 'damaged'} if 'calls' in row else row for row in rows)
    file.write_text(''.join(f'{json.dumps(row)}\n' for row in damaged))
    assert DialogueRunner(make_model(server), stored_in(tmp_path), 64).run({'r': talk()})['r'].value == first.value


def test_the_oracle_calls_a_damaged_one_otherwise_and_recorded_calls_are_replayed(tmp_path: Path) -> None:
    (right,) = ask(OracleModel(), [prompt()], 64)
    assert (right.text, right.calls) == ('look', (ToolCall('Weather.of', {'city': 'Rome'}),))
    assert OracleModel().generate([prompt()], 64) == ['look']  # as OpenCompass's own inferencers ask
    (wrong,) = ask(OracleModel(noise=1.0), [prompt()], 64)
    assert [call.name for call in wrong.calls] == ['Weather.of'] and wrong.calls != right.calls
    calls = calls_payload([ToolCall('Weather.of', {'city': 'Rome'}, 'call_7')])
    recorded = {'id': 'r', 'prediction': 'I look', 'calls': calls}
    (tmp_path / 'made_up.jsonl').write_text(json.dumps(recorded) + '\n', encoding='utf-8')
    (answer,) = ask(ReplayModel(str(tmp_path / '{dataset}.jsonl')), [prompt()], 64)
    assert (answer.text, calls_payload(answer.calls)) == ('I look', calls)

    class Bare(OracleModel):
        takes_tools = False

    with pytest.raises(ValueError, match='Bare cannot offer tools natively'):
        ask(Bare(), [prompt()], 64)


def test_tools_are_part_of_what_was_asked_in_letters_of_any_script() -> None:
    template = ToolEvalConversationTemplate()
    rows = Dataset.from_list([row(), row(tools=ToolSet([]).to_text())])
    plain = rows.remove_columns('tools')
    assert template.asked_of(rows)[0] == prompt().asked
    assert len({*template.asked_of(rows), *template.asked_of(plain)}) == 3
    assert template.asked_of(plain)[0] == template.asked(row()['messages'])
    call = ToolCall('Weather.of', {'城市': '罗马', 'half': '\ud83d'}, '1')
    (sent,) = Conversation.of([Message('assistant', '', (call,))], row()).as_request()
    assert sent['tool_calls'][0]['function']['arguments'] == '{"城市": "罗马", "half": "?"}'


class _CountsCalls(ToolEvalCallsEvaluator):
    class subset:
        metrics = ('calls',)

    def provenance(self) -> dict[str, Any]:
        return {}

    def score_samples(self, references: Any, answers: Any) -> list[SampleScore]:
        both = zip(references, answers, strict=True)
        return [SampleScore(name, {'calls': float(len(answer.calls))}, answer.reason or 'ok') for name, answer in both]


def test_an_evaluator_gets_the_calls_also_for_what_is_the_same_in_trials() -> None:
    names, calls = ['0', '1', '2'], [calls_payload([ToolCall('a', {})]), [], None]
    scores = _CountsCalls().score(names, names, names, [None, None, 'infra:timeout'], calls)
    assert [(score.values['calls'], score.reason) for score in scores] == [(1, 'ok'), (0, 'ok'), (0, 'infra:timeout')]
    rows = Dataset.from_list([{'record_id': '0'}] * 2)
    columns = {'predictions': ['', ''], 'references': ['0', '0'], 'record_id': ['0', '0'], 'infra': [None, None]}
    for x in (1, 2):
        calls = [calls_payload([ToolCall('a', {'x': number}, f'id{number}')]) for number in (1, x)]
        result = _CountsCalls().evaluate(1, 2, rows, **columns, calls=calls)
        assert result['trials']['same_answers'] == (x == 1)


@pytest.mark.parametrize('tools', [None, TOOLS])
@pytest.mark.parametrize('extra', [{}, {'seed': 3, 'extra_body': {'top_k': 5}}])
def test_the_whole_request_arrives(echo_server: ModelServer, tools: ToolSet | None, extra: dict[str, Any]) -> None:
    messages = [Message('system', 'Act.'), Message('user', 'Wetter in 北京?')]
    if tools:
        call = ToolCall('Weather.of', {'place': ['北京', 1.5, None]}, 'c1')
        messages += [Message('assistant', '', (call,)), Message('tool', 'sunny', (), 'c1')]
    prompt = Conversation.of(messages, {'record_id': 'r', 'source': '', 'idx': 0, 'gold_answer': ''}, tools)
    arrived = json.loads(make_model(echo_server, openai_extra_kwargs=extra).generate([prompt], 33)[0])
    offered = {'tools': TOOLS.as_request(), 'tool_choice': 'auto', 'parallel_tool_calls': False} if tools else {}
    sent = {'model': 'tiny', 'messages': prompt.as_request(), 'max_tokens': 33, 'temperature': 0.0}
    assert arrived == {**sent, **offered, **({'seed': 3, 'top_k': 5} if extra else {})}


def test_a_system_prompt_reaches_every_request_once() -> None:
    """Answers and dialogues, with and without a system message of the data set, with tools and without."""
    script = Script()
    with serving(script) as server:
        model = ToolEvalOpenAI(path='tiny', key=KEY, openai_api_base=server, retry=0, system_prompt='Be brief.')
        of_data = messages_text([Message('system', 'You plan.'), Message('user', 'Go.')])
        template = ToolEvalConversationTemplate()
        prompts = [template.generate_item(row(**columns)) for columns in ({}, {'messages': of_data, 'tools': None})]
        ask(model, prompts, 20)

        def rounds() -> Dialogue[str]:
            yield ModelRequest((Message('user', 'One.'),))
            yield ModelRequest((Message('user', 'One.'), Message('assistant', 'a'), Message('user', 'Two.')))
            return 'done'

        DialogueRunner(model, None, 20).run({'d': rounds()})
    systems = [[one['content'] for one in request['messages'] if one['role'] == 'system'] for request in script.asked]
    assert sorted(systems) == [['Be brief.']] * 3 + [['Be brief.\n\nYou plan.']]
    assert {request['messages'][0]['role'] for request in script.asked} == {'system'}
    assert [prompt.messages()[0].content for prompt in prompts] == ['How is the weather?', 'You plan.'], 'as before'
