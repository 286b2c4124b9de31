"""llama.cpp's server on each request format: the same two rounds with calls, whole and streamed, and its findings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import CUT, Answer
from opencompass_tooleval.core.calls.messages import Message, tool_messages
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.extras.probe.probe import probe
from opencompass_tooleval.models.api.endpoint import Endpoint
from opencompass_tooleval.models.api.wires import WIRES
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tests.real.models import MODELS
from tests.real.serving import KEY, SLOTS, LlamaServer

SCHEMA = {'type': 'object', 'properties': {'city': {'type': 'string'}}, 'required': ['city']}
OFFERED = [ToolSchema('get_weather', 'The weather of a city.', SCHEMA)]
ENTRY = {'record_id': 'weather', 'source': '', 'idx': 0, 'gold_answer': ''}
QUESTION = [Message('system', 'You help travellers.'), Message('user', 'How is the weather in Paris?')]
RESULT = '{"degrees": 21}'


@pytest.fixture(scope='module')
def server(place: Path) -> Iterator[LlamaServer]:
    server = LlamaServer(MODELS['smollm2'], place / 'serving-wires')
    yield server
    server.stop()


def client(server: LlamaServer, wire: str, stream: bool, choice: str = 'auto') -> ToolEvalOpenAI:
    greedy: dict[str, Any] = {'top_k': 1}
    if wire == 'messages':
        greedy['thinking'] = None
    return ToolEvalOpenAI(
        path='smollm2',
        key=KEY,
        openai_api_base=f'{server.url}/v1',
        wire=wire,
        stream=stream,
        tool_choice=choice,
        openai_extra_kwargs=greedy,
        max_workers=SLOTS,
        retry=0,
    )


def ask(model: ToolEvalOpenAI, messages: list[Message], tokens: int, offered: bool = True) -> Answer:
    tools = ToolSet(OFFERED) if offered else None
    (answer,) = model.answers([Conversation.of(messages, ENTRY, tools)], tokens)
    return answer


@pytest.mark.parametrize('stream', [False, True])
@pytest.mark.parametrize('wire', WIRES)
def test_two_rounds(server: LlamaServer, wire: str, stream: bool) -> None:
    model = client(server, wire, stream)
    called = ask(client(server, wire, stream, 'required'), QUESTION, 80)
    assert not called.reason and [(call.name, call.arguments) for call in called.calls] == [
        ('get_weather', {'city': 'Paris'})
    ]
    rounds = [*QUESTION, *tool_messages(called, [RESULT])]
    answer = ask(model, rounds, 40)
    assert not answer.reason and '21' in answer.text
    assert answer.usage and called.usage and answer.usage.prompt > called.usage.prompt > 0
    cut = ask(model, [Message('user', 'Count to one hundred.')], 12, offered=False)
    assert cut.finish_reason == CUT and cut.usage and cut.usage.completion == 12
    made_up = tool_messages(Answer('I look.', calls=(ToolCall('get_weather', {'city': 'Rome'}, 'call0000a'),)), ['hot'])
    assert not ask(model, [*QUESTION[:1], Message('user', 'Rome?'), *made_up, *QUESTION[1:]], 20).reason


@pytest.mark.parametrize('wire', WIRES)
def test_doctor(server: LlamaServer, wire: str) -> None:
    with closing(Endpoint(f'{server.url}/v1', 'smollm2', KEY, wire=WIRES[wire])) as endpoint:
        findings = {finding.about: finding for finding in probe(endpoint, long_prompt=0)}
    assert not [finding for finding in findings.values() if finding.is_fault]
    assert {'answer', 'usage', 'forced call', 'tool calls', 'concurrency'} <= {
        what for what, finding in findings.items() if finding.is_fine
    }
    assert ('made-up calls' in findings) == (wire != 'chat')
