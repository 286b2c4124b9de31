"""T-Eval's tools with a state, compared with recordings if these exist."""

from __future__ import annotations

from typing import Any

import pytest

from opencompass_tooleval.environments.environment import FunctionTool
from opencompass_tooleval.environments.recordings import Source
from opencompass_tooleval.environments.teval_tools import teval_functions
from opencompass_tooleval.environments.teval_tools.described import MAX_THINGS
from tests.instructions.shared_data import real


class World:
    def __init__(self) -> None:
        self.tools: dict[str, FunctionTool] = {name: tool for tool in teval_functions() for name in tool.names}

    def __call__(self, name: str, **arguments: Any) -> str:
        return self.tools[name].call(name, arguments).text


@pytest.fixture
def world() -> World:
    return World()


def test_all_described_apis_are_there(world: World) -> None:
    apis = {
        'Email': ('send', 'show'),
        'FileOperation': ('write_file', 'read_file'),
        'PPT': ('create_file', 'get_image', 'add_text_page', 'add_text_image_page', 'save_file'),
        'ReserveMeeting': ('get_room_status', 'get_empty_room_with_time', 'reserve'),
        'TimeTool': ('get_curr_time', 'get_weekday'),
    }
    assert list(world.tools) == [f'{tool}.{api}' for tool, names in apis.items() for api in names]


def test_files(world: World) -> None:
    missing = """{'text': "Error: [Errno 2] No such file or directory: 'a.txt'"}"""
    assert world('FileOperation.read_file', file_path='a.txt') == missing
    written = world('FileOperation.write_file', file_path='a.txt', text=' x\n')
    assert written == "{'status': 'File written successfully to a.txt.'}"
    assert world('FileOperation.read_file', file_path='./a.txt') == "{'text': ' x\\n'}"
    assert 'successfully' in world('FileOperation.write_file', file_path='new/a.txt', text='')
    assert "directory: 'b/c'" in world('FileOperation.write_file', file_path='b/c/a.txt', text='')
    assert "denied: '/home/documents'" in world('FileOperation.write_file', file_path='/home/documents/a', text='')
    assert "directory: '/path/to'" in world('FileOperation.write_file', file_path='/path/to/a', text='')


def test_slides(world: World) -> None:
    page = {'title': 'a', 'bullet_items': 'b'}
    assert world('PPT.add_text_page', **page) == "'NoneType' object has no attribute 'slides'"
    assert 'NoneType' in world('PPT.save_file')
    assert world('PPT.create_file', theme='x', abs_location='outputs/a.ppt') == "{'status': 'created a ppt file.'}"
    assert world('PPT.add_text_page', **page) == "{'status': 'added page'}"
    assert world('PPT.add_text_image_page', **page, image='i.jpg') == "[Errno 2] No such file or directory: 'i.jpg'"
    picture = world('PPT.get_image', keywords='sea')
    assert picture == world('PPT.get_image', keywords='sea') != world('PPT.get_image', keywords='hill')
    image = picture.partition(': ')[2].strip("'}")
    assert world('PPT.add_text_image_page', **page, image=image) == "{'status': 'added page'}"
    assert world('PPT.save_file') == "{'status': 'submitted. view ppt at outputs/a.ppt'}"
    assert world('FileOperation.read_file', file_path='outputs/a.ppt') == "{'text': '2 pages'}"


def test_meetings(world: World) -> None:
    reserve = {'start_time': '13:00', 'end_time': '14:00'}
    assert world('ReserveMeeting.reserve', room_id=101, **reserve) == "{'state': 'Book this room successfully.'}"
    assert 'not available' in world('ReserveMeeting.reserve', room_id='101', **reserve)
    assert 'not available' in world('ReserveMeeting.reserve', room_id=101.0, start_time='13:30', end_time='14:00')
    assert world('ReserveMeeting.get_empty_room_with_time', **reserve) == "{'rooms': [102, 103]}"
    assert "'10:00-12:00', '13:00-14:00', '14:00-16:00'" in world('ReserveMeeting.get_room_status')
    assert world('ReserveMeeting.reserve', room_id='105', **reserve) == '105'


@pytest.mark.parametrize('time', ['10:0', '25:00', '10:60', '', '١٠:٠٠', '-1:00', '12:00'])
def test_times_that_are_none(world: World, time: str) -> None:
    said = world('ReserveMeeting.get_empty_room_with_time', start_time=time, end_time='11:00')
    assert said == 'Time should be in xx:xx format.'


def test_email(world: World) -> None:
    sent = world('Email.send', address='a@b.c', title='Hi', body='x', attachment='no.txt')
    assert sent == "{'state': 'Send mail successfully.'}"
    assert world('Email.show').count("'sender'") == 2
    assert world('Email.show', only_unread=True).count("'sender'") == 1
    assert world('Email.show', only_unread='false').count("'sender'") == 2
    assert world.tools['Email.send'].call('Email.send', {'address': 'a', 'title': ' '}).is_wrong_call


def test_wrong_arguments_are_said_as_python_says_them(world: World) -> None:
    tool = world.tools['Email.send']
    wrong: list[tuple[Any, str]] = [
        ({}, "send() missing 2 required arguments: 'address' and 'title'"),
        ({'address': 'a', 'title': 'b', 1: 'c'}, "send() got an unexpected keyword argument '1'"),
    ]
    for arguments, said in wrong:
        answer = tool.call('Email.send', arguments)
        assert answer.text == said and answer.is_wrong_call


def test_a_task_fills_no_memory(world: World) -> None:
    said = [world('FileOperation.write_file', file_path=f'{n}.txt', text='x' * 100_000) for n in range(30)]
    assert sum('successfully' in text for text in said) == 20 and 'No space left' in said[-1]
    assert 'No space left' in world('Email.send', address='a', title='b', body='x' * 1_000_000)
    assert [world('Email.send', address='a', title='b') for _ in range(MAX_THINGS + 1)][-1].startswith('[Errno 28]')


def test_meetings_agree_with_what_was_recorded() -> None:
    compared = 0
    for call in Source(real('teval/EN/review_str_v1.json'), 'T-Eval data', 'review').calls():
        if call.name.startswith('ReserveMeeting.') and call.error in ('', 'input'):
            assert World()(call.name, **call.arguments) == call.response, call
            compared += 1
    assert compared == 21
