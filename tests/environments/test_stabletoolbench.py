"""StableToolBench's server: its published replies and messages, its checks, and hostile replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.agents.tasks.records import load_data
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.core.calls.observation import Observation
from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from opencompass_tooleval.environments.bank import RecordedCall
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.environments.recordings import find_sources, read_sources
from opencompass_tooleval.environments.simulator import Simulator
from opencompass_tooleval.environments.stabletoolbench import (
    MAX_EXAMPLE_CHARS,
    NO_RESPONSE,
    mirrorapi_message,
    read_mirrorapi,
    read_simulated,
    simulator_message,
)
from tests.agents.support import bank_of
from tests.instructions.shared_data import DEMO, expected
from tests.official import Recorder
from tests.run_alone import run_alone

PUBLISHED = ('stabletoolbench', 'mirrorapi', 'mirrorapi_cot')
DOCUMENT = {
    'category_name': 'News, Media',
    'tool_name': 'Film Index',
    'api_name': 'Find It',
    'api_description': 'Finds films.',
    'required_parameters': [{'name': 'q', 'type': 'STRING', 'description': '', 'default': 'Dune'}],
    'optional_parameters': [],
    'method': 'GET',
}


@pytest.fixture
def published() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(expected('stabletoolbench/simulator.json').read_text(encoding='utf-8'))
    return content


def recorded(arguments: Any, response: Any, name: str = 'find_it_for_film_index') -> RecordedCall:
    return RecordedCall('cache', '', name, arguments, response if isinstance(response, str) else json.dumps(response))


# What the published code did


@pytest.mark.official('StableToolBench', 'replies of a simulator as they are read')
def test_the_published_replies_are_read_as_published(published: dict[str, Any], record_property: Recorder) -> None:
    cases = published['mirrorapi_replies']
    assert len(cases) == 23
    record_property('cases', len(cases))
    for case in cases:
        raises = case['published'].startswith('raises ')
        assert (read_mirrorapi(case['reply']) or NO_RESPONSE) == (NO_RESPONSE if raises else case['published']), case


@pytest.mark.official('StableToolBench', 'messages to simulators')
def test_the_published_messages_to_mirrorapi_are_sent(published: dict[str, Any], record_property: Recorder) -> None:
    messages = published['mirrorapi_user_messages']
    assert len(messages) == 4
    record_property('cases', len(messages))
    for message in messages:
        documented = message['doc']
        document = {**documented, 'category_name': documented['tool_category'], 'method': 'GET'}
        for system in ('mirrorapi', 'mirrorapi_cot'):
            request = next(Simulator('m', system).simulate('find_it_for_imdb', message['request'], document))
            assert request.messages[1].content == message['user_message']


@pytest.mark.official(
    'StableToolBench', 'messages to simulators', 'three tools with _for_ in their names are documented'
)
def test_the_published_message_to_a_general_model_is_sent(published: dict[str, Any], tmp_path: Path) -> None:
    case = published['stabletoolbench_user_message']
    (api,) = case['api_doc']['api_info']
    described = {'api_description': api['description'], 'tool_description': case['api_doc']['tool_description']}
    document = {'api_name': api['name'], **described, 'required_parameters': []}
    file = tmp_path / 'cache' / 'Data' / 'imdb_for_Data' / 'find_it.json'
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(case['cached']), encoding='utf-8')
    bank = bank_of(tmp_path, read_sources(find_sources([tmp_path / 'cache'])))
    environment = Environment(bank, simulator=Simulator('m', 'stabletoolbench'))
    session = environment.begin('1', {'find_it_for_imdb': {}}, {'find_it_for_imdb': document})
    request = next(session.ask('find_it_for_imdb', json.dumps(case['input'])))
    assert request.messages[1].content == case['message']


# Replies


@pytest.mark.parametrize(
    ('reply', 'response'),
    [
        ('{"error": "", "response": "{"a": "b"}"}', {'error': '', 'response': '{"a": "b"}"}'}),
        ('Sure. {"error": "",\n "response": "a', {'error': '', 'response': 'a'}),
        ('{"mechanism_of_the_api": "a "b"", "error": "c "d"", "response": "e', {'error': 'c "d"', 'response': 'e'}),
        ('{"error": "", "response": "\ud800"}', {'error': '', 'response': '\\ud800'}),
        ('[' * 100_000, None),
        ('{"error": "", "response": "' + 'é' * 100_000, None),
        ('{"error": "", "response": "a' + ' ' * MAX_CHARS + '"}', None),
    ],
)
def test_replies_of_mirrorapi(reply: str, response: dict[str, str] | None) -> None:
    assert read_mirrorapi(reply) == (None if response is None else json.dumps(response))


@pytest.mark.parametrize(
    ('reply', 'response'),
    [
        ('```json\n{"error": "", "response": "é"}\n```', '{"error": "", "response": "\\u00e9"}'),
        ('{"response": {"a": [1]}, "error": "", "more": 1}', '{"response": {"a": [1]}, "error": "", "more": 1}'),
        ('<think>{"error": 1}</think>{"error": "", "response": "a"}', '{"error": "", "response": "a"}'),
        ('Here it is: {"error": "", "response": "a"}', None),
        ("{'error': '', 'response': 'a'}", None),
        ('{"error": "", "response": "{"a": 1}"}', None),
        ('["error"]', None),
    ],
)
def test_replies_of_a_general_model(reply: str, response: str | None) -> None:
    assert read_simulated(reply) == response


# Messages


def test_the_last_examples_are_left_out_until_the_others_fit() -> None:
    calls = [recorded({'q': f'{place}'}, {'error': '', 'response': 'x' * 600}) for place in range(7)]

    def examples(shown: list[RecordedCall]) -> str:
        return simulator_message(DOCUMENT, shown, 'n', {}).split('\n')[1].removeprefix('API Examples:')

    few = examples(calls)
    assert few == str([(f"{{'q': '{place}'}}", {'error': '', 'response': 'x' * 600}) for place in range(3)])
    one = examples([recorded({'q': 'a'}, {'error': '', 'response': 'é' * 3_000}), *calls])
    assert len(one) == MAX_EXAMPLE_CHARS and one.endswith('éé') and one.startswith("[(\"{'q': 'a'}\", {'error")
    assert examples([recorded('no dict', 'text')]) == "[('no dict', 'text')]"
    assert examples([]) == '[]'
    assert examples(calls[:1] * 5).count("'q'") == 3


def test_inputs_are_shown_as_python_has_them_and_mirrorapi_takes_objects_only() -> None:
    assert simulator_message(DOCUMENT, [], 'n', [1, None]).endswith('\nAPI Input:[1, None]\n')
    message = mirrorapi_message(DOCUMENT, [], 'n', {'toolbench_key': 'k', 'b': 1.0, 'a': 'it\'s "x"\n'})
    assert message is not None and "'tool_name': 'film_index', 'tool_category': 'News_Media'}\n\n" in message
    assert message.endswith("Request:\n{'b': 1.0, 'a': 'it\\'s \"x\"\\n'}")
    long = {'q': '\ud800' + 'x' * 1_000_000}
    for message in (simulator_message(DOCUMENT, [], 'n', long), mirrorapi_message(DOCUMENT, [], 'n', long)):
        assert message is not None and len(message) <= 2 * MAX_CHARS and message.encode()
    assert mirrorapi_message(DOCUMENT, [], 'n', [1]) is None
    session = Environment(simulator=Simulator('m', 'mirrorapi')).begin('1', {'find': {}})
    assert run_alone(session.ask('find', '[1]'), []) == Observation(NO_RESPONSE, 'error', 'unanswered')


def test_documentation_of_other_benchmarks_is_shown_whole() -> None:
    properties = {'q': {'type': 'string', 'description': 'words'}, 'n': {'type': 'integer'}, 'x': 1}
    schema = {'type': 'object', 'properties': properties, 'required': ['q']}
    document = {'name': 'films', 'description': 'Finds.', 'arguments': schema, 'results': {'type': 'object'}}
    general = simulator_message(document, [], 'films', {}).split('\n')[0]
    assert general == f'API Documentation:{ {"tool_description": "", "api_info": [document]} }'
    required = "[{'name': 'q', 'type': 'STRING', 'description': 'words', 'default': ''}]"
    optional = "[{'name': 'n', 'type': 'INTEGER', 'description': '', 'default': ''}]"
    asked = mirrorapi_message(document, [], 'films', {})
    assert asked is not None
    assert f"'required_parameters': {required}, 'optional_parameters': {optional}" in asked
    only_schema = mirrorapi_message({'name': 'Films.find', 'parameters': schema}, [], 'Films.find', {})
    assert only_schema is not None and "'tool_name': 'films'" in only_schema and "{'name': 'q'" in only_schema
    for odd in (None, [], {'parameters': []}, {'arguments': {'properties': [1], 'required': 'q'}}):
        assert mirrorapi_message(odd, [], 'n', {}) and simulator_message(odd, [], 'n', {})


# What is checked before a simulator is asked


@pytest.fixture
def task() -> Task:
    """Its second API has no required parameter, so that its optional one, ``country``, is not shown."""
    return load_data(DEMO / 'toolbench' / 'G1_instruction.json', 'toolbench_g1').tasks[0]


def test_all_that_is_json_goes_to_a_published_simulator(task: Task) -> None:
    hidden, shown = (name for name in sorted(task.schemas, key=lambda name: len(task.schemas[name]['properties'])))
    assert task.schemas[hidden]['properties'] == {} and task.documents[hidden]['optional_parameters']
    reply = '{"error": "", "response": "a"}'
    for system in PUBLISHED:
        session = Environment(simulator=Simulator('m', system)).begin(task.id, task.schemas, task.documents)
        for name, passed in ((hidden, {'country': 'gb'}), (shown, {}), (shown, '{"unknown": 1}')):
            assert run_alone(session.ask(name, passed), [reply]) == Observation(reply, 'simulated')
        refused = run_alone(session.ask(shown, '{"harbour": '), [])
        said = json.dumps({'error': 'Tool input parse error...\n', 'response': ''})
        assert refused == Observation(said, 'error', 'wrong_arguments')
        assert run_alone(session.ask('nothing', {}), []).fault == 'unknown_tool'
    empty = Environment(simulator=Simulator('m', 'stabletoolbench')).begin(task.id, task.schemas, task.documents)
    assert next(empty.ask(hidden, '')).messages[1].content.endswith('API Input:{}\n')


def test_the_checks_are_a_named_parameter(task: Task) -> None:
    hidden = next(name for name in task.schemas if not task.schemas[name]['properties'])
    for system, checks in (('stabletoolbench', 'schema'), ('tooleval', None), ('Be an API.', None)):
        environment = Environment(simulator=Simulator('m', system), argument_checks=checks)
        session = environment.begin(task.id, task.schemas, task.documents)
        assert run_alone(session.ask(hidden, {'country': 'gb'}), []).fault == 'wrong_arguments'
    environment = Environment(simulator=Simulator('m', 'tooleval'), argument_checks='json')
    session = environment.begin(task.id, task.schemas, task.documents)
    assert next(session.ask(hidden, {'country': 'gb'})).model == 'simulator'
    with pytest.raises(ValueError, match="argument_checks is 'none'; it is one of schema, json"):
        Environment(argument_checks='none')


def test_the_only_recorded_call_answers_no_call_that_breaks_the_schema(task: Task, tmp_path: Path) -> None:
    shown = next(name for name in task.schemas if task.schemas[name]['properties'])
    passed = {'harbour': 'Hull', 'date': '2024-01-01'}
    bank = bank_of(tmp_path, [RecordedCall('runs', task.id, shown, passed, 'recorded')])
    environment = Environment(bank, simulator=Simulator('m', 'stabletoolbench'))
    session = environment.begin(task.id, task.schemas, task.documents)
    assert run_alone(session.ask(shown, {**passed, 'date': '2024-01-02'}), []).source == 'nearest'
    assert next(session.ask(shown, {'harbour': 'Hull'})).model == 'simulator'


def test_of_equal_arguments_those_that_are_written_the_same_answer(tmp_path: Path) -> None:
    calls = [
        recorded({'a': 1, 'b': 2}, 'first'),
        recorded({'b': 2, 'a': 1}, 'second'),
        RecordedCall('cache', '', 'find_it_for_film_index', {'a': 1.0, 'b': 2}, 'third', 'server'),
    ]
    bank = bank_of(tmp_path, calls)
    environment = Environment(bank, simulator=Simulator('m', 'stabletoolbench'))
    for passed, response in (
        ('{"b": 2, "a": 1}', 'second'),
        ('{"a": 1.0, "b": 2}', 'third'),
        ('{"a": 1, "b": 2.0}', 'first'),
    ):
        observed = environment.begin('1').call('find_it_for_film_index', passed)
        assert (observed.text, observed.source) == (response, 'other_task')
    assert Environment(bank).begin('1').call('find_it_for_film_index', '{"b": 2, "a": 1}').text == 'first'


def test_the_servers_own_key_is_an_argument_like_any_other_but_for_mirrorapi(tmp_path: Path) -> None:
    bank = bank_of(tmp_path, [recorded({'a': 1}, 'first')])
    for system, shown in (('stabletoolbench', "{'a': 1, 'toolbench_key': 'k'}"), ('mirrorapi', "{'a': 1}")):
        session = Environment(bank, simulator=Simulator('m', system)).begin('1')
        asked = next(session.ask('find_it_for_film_index', {'a': 1, 'toolbench_key': 'k'}))
        assert asked.messages[-1].content.rstrip().endswith(shown)


def test_examples_are_in_the_caches_order_errors_too(tmp_path: Path) -> None:
    calls = [
        RecordedCall('runs', '7', 'find', {'q': 'run'}, '{"error": "", "response": "r"}'),
        RecordedCall('cache', '', 'find', {'q': 'bad'}, '{"error": "no", "response": ""}', 'server'),
        RecordedCall('cache', '', 'find', {'q': 'good'}, '{"error": "", "response": "g"}'),
    ]
    bank = bank_of(tmp_path, calls)
    for system, order in (('stabletoolbench', ['bad', 'good', 'run']), ('tooleval', ['run', 'good', 'bad'])):
        environment = Environment(bank, simulator=Simulator('m', system))
        message = next(environment.begin('1').ask('find', {'q': 'new'})).messages[1].content
        assert sorted(order, key=message.index) == order
