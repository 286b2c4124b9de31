"""A model in the place of an API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.answer import Answer
from opencompass_tooleval.core.calls.observation import Observation
from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from opencompass_tooleval.environments.bank import Bank, RecordedCall
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.simulator import MAX_REQUESTS, Simulator, read_simulated, simulator_message
from opencompass_tooleval.environments.simulator_prompts import SYSTEM_PROMPTS
from opencompass_tooleval.environments.stabletoolbench import MAX_EXAMPLE_CHARS
from tests.agents.support import bank_of
from tests.instructions.shared_data import expected
from tests.run_alone import run_alone

REPLY = '```json\n{"error": "", "response": {"films": ["Dune"]}}\n```'
SAID = '{"error": "", "response": {"films": ["Dune"]}}'
CALLS = [RecordedCall('f', str(place), 'films', {'year': place}, f'{place}' * 300) for place in range(8)]


DOCUMENT = {'name': 'films', 'description': 'Lists films.'}


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return bank_of(tmp_path, CALLS)


def test_the_message_has_documentation_examples_and_input() -> None:
    message = simulator_message(DOCUMENT, CALLS[:2], 'films', {'year': 1999})
    lines = message.split('\n')
    assert lines[0] == 'API Documentation:{"name": "films", "description": "Lists films."}'
    assert json.loads(lines[1].removeprefix('API Examples:'))[1] == {'input': {'year': 1}, 'output': '1' * 300}
    assert lines[2] == 'API Input:{"api_name": "films", "tool_input": {"year": 1999}}'


def test_examples_are_cut_together() -> None:
    line = simulator_message({}, CALLS, 'films', {}).split('\n')[1].removeprefix('API Examples:')
    assert '"year": 4' in line and '"year": 5' not in line and len(line) <= MAX_EXAMPLE_CHARS
    long = [RecordedCall('f', '1', 'films', {}, 'x' * 1_000_000)] * 5
    assert len(simulator_message({}, long, 'films', {'a': 'x' * 1_000_000})) < 30_000
    assert '\nAPI Examples:\n' in simulator_message({}, [], 'films', {})


def test_only_what_nothing_answers_is_simulated_and_only_once(bank: Bank) -> None:
    cache: dict[str, str] = {}
    environment = Environment(bank, simulator=Simulator('m', cache=cache))
    session = environment.begin('9')
    assert run_alone(session.ask('films', {'year': 3}), []).source == 'other_task'
    assert run_alone(session.ask('nothing', {}), []).fault == 'unknown_tool'
    assert run_alone(Environment(bank).begin('9').ask('films', {'year': 1999}), []).fault == 'unanswered'
    assert run_alone(session.ask('films', {'year': 1999}), [REPLY]) == Observation(SAID, 'simulated')
    assert list(cache.values()) == [SAID]
    again = Environment(bank, simulator=Simulator('m', cache=cache)).begin('10')
    assert run_alone(again.ask('films', '{"year": 1999.0}'), []) == Observation(SAID, 'simulated')


def test_a_reply_that_came_meanwhile_stands(bank: Bank) -> None:
    simulator = Simulator('m')
    unread, last, other = (simulator.simulate('films', {'year': 1999}, DOCUMENT) for _ in range(3))
    next(unread), next(last), next(other)
    for _ in range(MAX_REQUESTS - 1):
        last.send(Answer('no JSON'))
    assert run_alone(simulator.simulate('films', {'year': 1999}, DOCUMENT), [REPLY]) == SAID
    for dialogue, reply in ((unread, 'no JSON'), (last, 'no JSON'), (other, '{"error": "", "response": "other"}')):
        with pytest.raises(StopIteration) as end:
            dialogue.send(Answer(reply))
        assert end.value.value == SAID


def test_what_is_too_long_for_a_simulator_is_the_tools_error_and_is_not_kept(bank: Bank) -> None:
    simulator = Simulator('m')
    session = Environment(bank, simulator=simulator).begin('9')
    answers = [Answer('', reason='infra:truncated')]
    assert run_alone(session.ask('films', {'year': 'x' * 100_000}), answers).fault == 'unanswered'
    assert not simulator.cache


def test_documentation_is_the_tasks_or_else_the_schema() -> None:
    schemas: dict[str, dict[str, Any]] = {
        'films': {'type': 'object', 'properties': {'year': {}}},
        'other': {'type': 'object'},
    }
    session = Environment(None, simulator=Simulator('m')).begin('9', schemas, {'films': DOCUMENT})
    for name, shown in (('films', DOCUMENT), ('other', {'name': 'other', 'parameters': schemas['other']})):
        message = next(session.ask(name, {})).messages[1].content
        assert message.split('\n')[0] == f'API Documentation:{json.dumps(shown)}'


def test_the_digest_stands_for_call_documentation_prompt_and_model() -> None:
    simulator = Simulator('m')
    same = simulator.digest('films', {'a': 1, 'b': ' x'}, DOCUMENT)
    assert simulator.digest('films', '{"b": "x", "a": 1.0}', DOCUMENT) == same
    published = ('stabletoolbench', 'mirrorapi', 'mirrorapi_cot')
    as_text = Simulator('m', 'stabletoolbench').prompt
    others = [
        simulator.digest('films', {'a': '1', 'b': 'x'}, DOCUMENT),
        simulator.digest('other', {'a': 1, 'b': 'x'}, DOCUMENT),
        simulator.digest('films', {'a': 1, 'b': 'x'}, DOCUMENT, CALLS[:1]),
        Simulator('n').digest('films', {'a': 1, 'b': 'x'}, DOCUMENT),
        # The prompt of a published form, given as a text, is asked in our form.
        *(Simulator('m', prompt).digest('films', {'a': 1, 'b': 'x'}, DOCUMENT) for prompt in (*published, as_text)),
        simulator.digest('films', {'a': 1, 'b': 'x'}, {}),
    ]
    assert len({same, *others}) == 10


@pytest.mark.parametrize(
    ('reply', 'message'),
    [
        (REPLY, SAID),
        ('<think>{"error": 1}</think>{"error": "", "response": "a"}', '{"error": "", "response": "a"}'),
        ("{'error': None, 'response': [1]}", '{"error": "", "response": [1]}'),
        ('{"error": "Not found"}', None),
        ('[]', None),
        ('{"response": ' * 50_000, None),
        ('{"response": "' + 'x' * 1_000_000 + '"}', None),
        ('{"response": ' + '9' * 5_000 + '}', None),
    ],
)
def test_replies(reply: str, message: str | None) -> None:
    assert read_simulated(reply) == message


def test_no_reply_is_longer_than_what_is_read() -> None:
    said = read_simulated('{"error": "' + 'é' * 60_000 + '", "response": "' + '\\u00e9' * 20_000 + '"}')
    assert said is not None and len(said) <= MAX_CHARS


# Prompts


def test_prompts_have_names() -> None:
    assert {Simulator('m', name).prompt for name in SYSTEM_PROMPTS} == set(SYSTEM_PROMPTS.values())
    assert Simulator('m', 'mirrorapi').settings == {'simulator': 'm', 'simulator_prompt': 'mirrorapi'}
    given = [Simulator('m', text).settings['simulator_prompt'] for text in ('Be an API.', 'Be another API.')]
    assert len(set(given)) == 2 and all(name.startswith('given ') for name in given)
    with pytest.raises(ValueError, match="prompt 'stabletoolbnch'; choose one of tooleval, stabletool"):
        Simulator('m', 'stabletoolbnch')


def test_published_prompts_are_those_of_the_source_code() -> None:
    published = json.loads(expected('toolbench/prompts.json').read_text(encoding='utf-8'))
    as_sent = {
        'stabletoolbench': published['simulator'][0],
        'mirrorapi': published['mirrorapi']['SFT_SYSTEM'],
        'mirrorapi_cot': published['mirrorapi']['COT_SYSTEM'],
    }
    for name, source in as_sent.items():
        assert source.replace('\\n', '\n').replace('\\"', '"') == SYSTEM_PROMPTS[name]
