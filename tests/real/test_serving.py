"""Whose fault answers of llama.cpp's server are: as it is, without its parser, with templates without a part."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import pytest

from opencompass_tooleval.core.calls.messages import Message
from opencompass_tooleval.core.calls.tool_calls import ToolCall
from opencompass_tooleval.core.calls.tool_set import ToolSchema, ToolSet
from opencompass_tooleval.extras.attribution.causes import LIMIT, NONE, PARSER, TEMPLATE, Attribution
from opencompass_tooleval.models.api.raw_text import VERBOSE
from opencompass_tooleval.models.conversation import Conversation
from opencompass_tooleval.models.model_calls import ask
from opencompass_tooleval.models.openai_model import ToolEvalOpenAI
from tests.extras.attribution.script import attributed
from tests.real.models import MODELS
from tests.real.serving import KEY, SLOTS, LlamaServer

TOOLS = [
    ToolSchema(name, description, {'type': 'object', 'properties': {key: {'type': kind} for key, kind in keys.items()}})
    for name, description, keys in (
        ('get_weather', 'The weather of a city.', {'city': 'string', 'days': 'integer'}),
        ('find_hotel', 'Finds a hotel.', {'city': 'string', 'price': 'number', 'near': 'string'}),
        ('play_music', 'Plays music.', {'genre': 'string', 'loud': 'boolean'}),
        ('translate', 'Translates a text.', {'text': 'string', 'language': 'string'}),
        ('add_numbers', 'Adds numbers.', {'numbers': 'array'}),
    )
]
CITIES = ('Rome', '北京', "L'Aquila")
QUESTIONS = (
    'How is the weather in {city}?',
    'Find a hotel in {city} for 80.5 euros, near the "Old Market".',
    'Play some jazz, loud, as they do in {city}.',
    'Translate "Where is {city}?\nI am lost." to French.',
    'How is the weather in {city} and in Oslo in the next 3 days?',
    'Who are you? Write two sentences about {city}.',
)
THINKING = "{{- '<think>\\n' }}"


def conversation(question: str, tools: bool, earlier: bool) -> Conversation:
    messages = [Message('system', 'You help travellers. Use a function where one fits.'), Message('user', question)]
    if earlier:
        call = ToolCall('find_hotel', {'city': 'Turku', 'near': 'the "blue" bridge'}, 'call12345')
        messages[1:1] = [
            Message('user', 'A hotel in Turku?'),
            Message('assistant', '', (call,)),
            Message('tool', '{"hotel": "Park", "price": 91}', call_id='call12345'),
            Message('assistant', 'The Park costs 91 euros.'),
        ]
    entry = {'record_id': question, 'source': '', 'idx': 0, 'gold_answer': ''}
    return Conversation.of(messages, entry, ToolSet(TOOLS) if tools else None)


REQUESTS = [
    conversation(question.format(city=city), tools, earlier)
    for question in QUESTIONS
    for city in CITIES
    for tools, earlier in ((True, False), (True, True), (False, False))
]
"""54 of them, two in three with tools."""


@contextmanager
def served(
    place: Path,
    name: str,
    model: str = 'smollm2',
    changes: dict[str, str] | None = None,
    options: Sequence[str] = (),
) -> Iterator[ToolEvalOpenAI]:
    """A model behind a server whose chat template has changes; the tokenizer's own template has none."""
    text = MODELS[model].template_file.read_text(encoding='utf-8')
    for old, new in (changes or {}).items():
        assert old in text
        text = text.replace(old, new)
    folder = place / f'serving-{name}'
    template = place / f'{name}.jinja'
    template.write_text(text, encoding='utf-8')
    server = LlamaServer(MODELS[model], folder, template, options)
    try:
        yield ToolEvalOpenAI(
            path=model,
            key=KEY,
            openai_api_base=f'{server.url}/v1',
            tokenizer_path=str(MODELS[model].folder),
            max_workers=SLOTS,
            temperature=0,
            retry=0,
            attribution=True,
        )
    finally:
        server.stop()


class Attributed(NamedTuple):
    """The calls of an answer, and its attribution."""

    calls: tuple[ToolCall, ...]
    serving: Attribution | None


def answers(
    place: Path, name: str, client: ToolEvalOpenAI, requests: list[Conversation], tokens: int
) -> list[Attributed]:
    """The answers, which are also written to a file to be read."""
    asked = list(zip(ask(client, requests, tokens), requests, strict=True))
    given = [Attributed(answer.calls, attributed(answer, request.tools)) for answer, request in asked]
    with (place / f'serving-{name}.jsonl').open('a', encoding='utf-8') as stream:
        for (answer, request), found in zip(asked, given, strict=True):
            assert found.serving is not None
            calls = [[call.name, call.arguments] for call in answer.calls]
            row = {'question': request.record_id, 'tools': request.tools is not None, 'calls': calls}
            told = {'text': answer.text, 'reason': answer.reason, 'finish': answer.finish_reason}
            stream.write(json.dumps({**row, **told, **asdict(found.serving)}, ensure_ascii=False) + '\n')
    return given


def causes(given: list[Attributed]) -> Counter[str]:
    return Counter(answer.serving.cause for answer in given if answer.serving)


@pytest.mark.parametrize('model', MODELS)
def test_the_server_as_it_is_has_no_fault(place: Path, model: str) -> None:
    with served(place, f'right-{model}', model) as client:
        given = answers(place, f'right-{model}', client, REQUESTS if model == 'smollm2' else REQUESTS[::2], 64)
        cut = answers(place, f'right-{model}', client, REQUESTS[::3], 9)
    print(model, causes(given), causes(cut))
    assert causes([*given, *cut]).keys() <= {NONE, LIMIT}
    assert causes(cut)[LIMIT] > len(cut) / 2
    assert {answer.serving.source for answer in given if answer.serving} == {VERBOSE}
    assert sum(bool(answer.calls) for answer in given) > (10 if model == 'smollm2' else 0)


def test_thoughts_are_no_fault(place: Path) -> None:
    text = "<|im_start|>assistant\\n' }}\n{%- endif %}"
    changes = {text: text.replace('{%- endif', THINKING + '\n{%- endif')}
    with served(place, 'thoughts', changes=changes) as client:
        given = answers(place, 'thoughts', client, REQUESTS[::2], 64)
    print(causes(given))
    assert causes(given).keys() <= {NONE, LIMIT}


def test_without_a_parser_each_call_is_its_fault(place: Path) -> None:
    changes = {
        'How far is it from Oslo to Bergen?': 'How is the weather in Bergen?',
        '{"name": "distance", "arguments": {"start": "Oslo", "end": "Bergen"}}': (
            '{"name": "get_weather", "arguments": {"city": "Bergen"}}'
        ),
    }
    with served(place, 'no-parser', changes=changes, options=['--pure-content']) as client:
        given = answers(place, 'no-parser', client, REQUESTS, 64)
    print(causes(given))
    names = '|'.join(tool.name for tool in TOOLS)
    call = re.compile(rf'<tool_call>\n{{"name": "({names})".*</tool_call>', re.DOTALL)
    for request, answer in zip(REQUESTS, given, strict=True):
        assert answer.serving is not None and not answer.calls
        is_lost = request.tools is not None and bool(call.search(answer.serving.raw))
        assert (answer.serving.cause == PARSER) == is_lost, answer
    assert causes(given)[PARSER] > 5


def test_a_template_without_tools_is_named(place: Path) -> None:
    changes = {'{%- if tools %}': '{%- if false %}', 'message.tool_calls or []': '[]'}
    with served(place, 'no-tools', changes=changes) as client:
        given = answers(place, 'no-tools', client, REQUESTS, 32)
    for request, answer in zip(REQUESTS, given, strict=True):
        assert answer.serving is not None
        if request.tools is None:
            assert answer.serving.cause in (NONE, LIMIT)
        else:
            earlier = ', earlier calls' if len(request) > 2 else ''
            assert (answer.serving.cause, answer.serving.note) == (TEMPLATE, f'the prompt lacks tools{earlier}')
    print(causes(given))


def test_a_lost_generation_prompt_is_named(place: Path) -> None:
    with served(place, 'no-generation', changes={'{%- if add_generation_prompt %}': '{%- if false %}'}) as client:
        given = answers(place, 'no-generation', client, REQUESTS[::9], 16)
    assert all(answer.serving and 'the generation prompt' in answer.serving.note for answer in given)
    print(causes(given))
