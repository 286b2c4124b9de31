"""Sources of answers to calls, and their order."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.benchmarks.toolbench.reading import error_kind
from opencompass_tooleval.core.calls.observation import Observation
from opencompass_tooleval.core.text.jsonable import MAX_CHARS
from opencompass_tooleval.environments.bank import Bank, RecordedCall
from opencompass_tooleval.environments.environment import TEVAL_ERRORS, Environment
from opencompass_tooleval.environments.teval_tools import teval_functions
from tests.agents.support import bank_of, funcqa_functions

RESERVE = {'room_id': '103', 'start_time': '14:00', 'end_time': '16:00'}
BOOKED = "{'state': 'Book this room successfully.'}"
TAKEN = "{'text': 'This room is not available in booked time.'}"
CALLS = [
    RecordedCall('one', '1', 'search', {'q': 'a'}, 'one 1'),
    RecordedCall('one', '1', 'search', {'q': 'a'}, 'one 2'),
    RecordedCall('two', '1', 'search', {'q': 'a'}, 'two 1'),
    RecordedCall('two', '1', 'search', {'q': 'b'}, 'two b'),
    RecordedCall('one', '1', 'only', {'q': 'a'}, 'the only one'),
    RecordedCall('one', '2', 'search', {'q': 'c'}, 'broken', 'server'),
    RecordedCall('one', '3', 'search', {'q': 'c'}, 'whole'),
    RecordedCall('one', '1', 'ReserveMeeting.reserve', RESERVE, BOOKED),
    RecordedCall('one', '2', 'ReserveMeeting.reserve', {**RESERVE, 'room_id': '101'}, BOOKED),
    RecordedCall('one', '1', 'TimeTool.get_curr_time', {}, "{'time': '2023-10-20 16:34'}"),
    RecordedCall('one', '3', 'FileOperation.read_file', {'file_path': 'data/movies.txt'}, "{'text': 'Dune'}"),
    RecordedCall('one', '3', 'PPT.get_image', {'keywords': 'sea'}, "{'picture_url': 'outputs/1.5.jpg'}"),
]
SCHEMAS: Mapping[str, Mapping[str, Any]] = {
    'search': {'type': 'object', 'properties': {'q': {}, 'n': {}}, 'required': ['q']},
    'only': {'type': 'object', 'properties': {'q': {}}, 'required': ['q']},
    'silent': {'type': 'object', 'properties': {}},
}


@pytest.fixture
def bank(tmp_path: Path) -> Bank:
    return bank_of(tmp_path, CALLS)


def test_recorded_order_and_then_the_last_again(bank: Bank) -> None:
    environment = Environment(bank)
    session = environment.begin('1')
    answers = [session.call('search', '{"q": " a "}') for _ in range(3)]
    assert answers == [Observation(text, 'exact', error='') for text in ('one 1', 'one 2', 'one 2')]
    assert environment.begin('1').call('search', {'q': 'a'}).text == 'one 1'


def test_what_the_recording_says_of_an_error_goes_with_the_observation(bank: Bank, tmp_path: Path) -> None:
    environment = Environment(bank, teval_functions, TEVAL_ERRORS)
    assert environment.begin('2').call('search', {'q': 'c'}) == Observation('broken', 'exact', error='server')
    assert environment.begin('1').call('TimeTool.get_weekday', {}).error is None
    assert environment.begin('1', SCHEMAS).call('silent', {}).error is None
    alone = Environment(bank_of(tmp_path, [RecordedCall('one', '2', 'search', {'q': 'c'}, 'broken', 'unable')]))
    assert alone.begin('1').call('search', {'q': 'c'}) == Observation('broken', 'other_task', error='unable')
    assert alone.begin('2').call('search', {'q': 'd'}) == Observation('broken', 'nearest', error='unable')


def test_the_file_that_is_preferred_comes_first_and_others_are_exact_too(bank: Bank) -> None:
    two = Environment(bank, preferred_source='two').begin('1')
    assert [two.call('search', {'q': 'a'}).text for _ in range(2)] == ['two 1', 'two 1']
    assert two.call('only', {'q': 'a'}) == Observation('the only one', 'exact', error='')


def test_elsewhere_prefers_what_went_well_and_nearest_is_the_only_recorded_call(bank: Bank) -> None:
    session = Environment(bank).begin('9')
    assert session.call('search', {'q': 'c'}) == Observation('whole', 'other_task', error='')
    assert session.call('search', {'q': 'a'}) == Observation('one 1', 'other_task', error='')
    session = Environment(bank).begin('1')
    assert session.call('only', {'q': 'z'}) == Observation('the only one', 'nearest', error='')
    assert session.call('search', {'q': 'z'}).fault == 'unanswered'  # two recorded: neither is it
    schemas = {'search': {'type': 'object', 'properties': {'x': {}}, 'required': ['x']}}
    assert Environment(bank).begin('1', schemas).call('search', {'q': 'a'}).source == 'exact'  # whatever they say


def test_an_error_in_other_input_is_no_nearest_answer(tmp_path: Path) -> None:
    """A small real model named three adults and a bicycle, and was asked how many bicycles it brings."""
    refused = RecordedCall('one', '1', 'get_fare', {'adults': 3}, 'how many bicycles?', 'input')
    call = {'adults': 3, 'bicycles': 1}
    session = Environment(bank_of(tmp_path, [refused])).begin('1')
    assert session.call('get_fare', call).fault == 'unanswered'
    assert session.call('get_fare', {'adults': 3}).error == 'input'
    two = bank_of(tmp_path, [refused, RecordedCall('one', '1', 'get_fare', {'adults': 2}, '96')])
    assert Environment(two).begin('1').call('get_fare', call) == Observation('96', 'nearest', error='')


def test_errors_are_the_tools(bank: Bank) -> None:
    session = Environment(bank).begin('1', SCHEMAS)
    unknown = session.call('nothing', {})
    assert json.loads(unknown.text) == {'error': 'No such function name: nothing', 'response': ''}
    assert (unknown.source, unknown.fault, error_kind(unknown.text)) == ('error', 'unknown_tool', 'unknown_function')
    silent = session.call('silent', {})
    assert (silent.source, silent.fault, error_kind(silent.text)) == ('error', 'unanswered', 'server')
    for arguments, said in (
        ({}, "missing 1 required positional argument: 'q'"),
        ({'q': 1, 'x': 1}, "unexpected keyword argument 'x'"),
        ([1], 'Tool input parse error'),
        ('{"q": ', 'Tool input parse error'),
    ):
        wrong = session.call('only', arguments)
        assert (wrong.source, wrong.fault) == ('error', 'wrong_arguments') and said in wrong.text
    name = '{name.__class__}{parameter}'  # is no field of a format
    assert Environment(errors=TEVAL_ERRORS).begin('1').call(name, {}).text.endswith(f'check the action name: {name}')


def test_a_function_comes_before_what_was_recorded_elsewhere(bank: Bank) -> None:
    session = Environment(bank, teval_functions, TEVAL_ERRORS).begin('3')
    booked_by_others = {**RESERVE, 'room_id': '101'}  # booked by others in our world, recorded as free for task 2
    assert session.call('ReserveMeeting.reserve', booked_by_others) == Observation(TAKEN, 'function')


def test_an_exact_recording_changes_the_state_and_answers_as_often_as_it_was_made(bank: Bank) -> None:
    session = Environment(bank, teval_functions, TEVAL_ERRORS).begin('1')
    times = {'start_time': '14:00', 'end_time': '16:00'}
    assert session.call('ReserveMeeting.get_empty_room_with_time', times).text == "{'rooms': [103]}"
    assert session.call('ReserveMeeting.reserve', RESERVE) == Observation(BOOKED, 'exact', error='')
    assert session.call('ReserveMeeting.get_empty_room_with_time', times).text == "{'rooms': []}"
    assert session.call('ReserveMeeting.reserve', RESERVE) == Observation(TAKEN, 'function')


def test_the_clock_stands_at_the_recorded_time(bank: Bank) -> None:
    environment = Environment(bank, teval_functions, TEVAL_ERRORS)
    first, second = environment.begin('1'), environment.begin('2')
    assert first.call('TimeTool.get_weekday', {}).text == "{'weekday': 'Friday'}"
    assert first.call('TimeTool.get_curr_time', {}) == Observation("{'time': '2023-10-20 16:34'}", 'exact', error='')
    assert second.call('TimeTool.get_weekday', {}) == Observation("{'weekday': 'Thursday'}", 'function')
    assert second.call('TimeTool.get_curr_time', {}) == Observation("{'time': '2023-10-19 14:57'}", 'function')


def test_where_a_function_can_only_guess_it_learns_from_elsewhere(bank: Bank) -> None:
    session = Environment(bank, teval_functions, TEVAL_ERRORS).begin('1')
    path = {'file_path': 'data/movies.txt'}
    assert session.call('FileOperation.read_file', path) == Observation("{'text': 'Dune'}", 'other_task', error='')
    assert session.call('FileOperation.write_file', {**path, 'text': 'Alien'}).source == 'function'
    assert session.call('FileOperation.read_file', path) == Observation("{'text': 'Alien'}", 'function')
    session.call('PPT.create_file', {'theme': 'a', 'abs_location': 'outputs/a.ppt'})
    page = {'title': 'a', 'bullet_items': 'b', 'image': 'outputs/1.5.jpg'}
    assert 'No such file' in session.call('PPT.add_text_image_page', page).text
    assert session.call('PPT.get_image', {'keywords': 'sea'}).source == 'other_task'
    assert session.call('PPT.add_text_image_page', page).text == "{'status': 'added page'}"


TEXTS = ['', '\udc80', '\0', '{"a":' * 300, '[' * 5_000, "'; DROP TABLE calls; --", '%s{0}{name}', '١٢:٠٠', '9' * 5_000]
DEEP = [json.loads('[' * depth + ']' * depth) for depth in (90, 500)]
VALUES: list[Any] = ['x' * 1_000_000, *TEXTS, None, True, 1e400, -1, 1 << 9_999, float('nan'), [], {}, [1] * 500, *DEEP]


PARAMETERS = ['q', 'file_path', 'text', 'title', 'room_id', 'start_time', 'end_time', 'input', 'image', 'keywords']


def test_hostile_calls_get_an_answer_each(bank: Bank) -> None:
    draw = random.Random(0)
    functions = lambda: (*teval_functions(), *funcqa_functions())  # noqa: E731
    environment = Environment(bank, functions, TEVAL_ERRORS)
    sessions, sources = [environment.begin(str(task)) for task in range(7)], Counter[str]()
    names = ['search', 'only', *(name for tool in functions() for name in tool.names)]
    for place in range(1_000):
        name = draw.choice([*names, *names, *TEXTS, None, 7, ['a']])
        passed = {draw.choice([*PARAMETERS, *TEXTS]): draw.choice(VALUES) for _ in range(draw.randrange(4))}
        observation = sessions[place % 7].call(name, passed if draw.random() < 0.8 else draw.choice(VALUES))
        sources[observation.source] += 1
        assert len(observation.text) <= MAX_CHARS
        assert bool(observation.fault) == (observation.source == 'error')
        observation.text.encode()
    assert sources['function'] > 20 and sources['error'] > 50
