"""A small made set: T-Eval's tools with a state and a bank, tasks in two languages, and executed solutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opencompass_tooleval.agents.scoring.waste import error_of
from opencompass_tooleval.agents.tasks.goal import FORBIDDEN, NO_TOOL, ORDINARY, RECOVERY, SIBLINGS, Goal
from opencompass_tooleval.agents.tasks.task import Task
from opencompass_tooleval.agents.tasks.tools import find_tools
from opencompass_tooleval.benchmarks.teval.function_calling import tool_schema
from opencompass_tooleval.core.calls.tool_calls import GoldCall
from opencompass_tooleval.core.calls.trajectory import AnsweredCall
from opencompass_tooleval.environments.bank import Bank, RecordedCall, write_bank
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.extras.making.made_set import BANK_FILE, Dropped, MadeSet
from opencompass_tooleval.extras.making.made_task import MadeTask, Solution, SolvedCall

NAME = 'office'
Call = tuple[str, dict[str, Any], str]
"""Tool, arguments, thought."""


def _api(name: str, description: str, returned: str, **parameters: str) -> dict[str, Any]:
    required = [{'name': key, 'type': 'STRING', 'description': text} for key, text in parameters.items()]
    return {
        'name': name,
        'description': description,
        'required_parameters': required,
        'optional_parameters': [],
        'return_data': [{'name': returned, 'description': f'The {returned}.'}],
    }


TOOLS = {
    api['name']: api
    for api in [
        _api(
            'ReserveMeeting.get_empty_room_with_time',
            'Lists rooms without bookings in a span of time.',
            'rooms',
            start_time='Begin of the span, hh:mm.',
            end_time='End of the span, hh:mm.',
        ),
        _api(
            'ReserveMeeting.reserve',
            'Books a room.',
            'state',
            room_id='Number of the room.',
            start_time='Begin of the meeting, hh:mm.',
            end_time='End of the meeting, hh:mm.',
        ),
        _api('TimeTool.get_curr_time', 'Says what time it is now.', 'time'),
        _api('TimeTool.get_weekday', 'Says which day of the week it is.', 'weekday'),
        _api('FileOperation.write_file', 'Stores text on disk.', 'status', file_path='Where to.', text='The text.'),
        _api('FileOperation.read_file', 'Gives the content of a document.', 'text', file_path='Which one.'),
        _api(
            'Email.send',
            'Mails somebody.',
            'status',
            address='Who gets it.',
            title='The subject.',
        ),
        _api('Weather.forecast', 'Predicts rain and temperature of a city.', 'forecast', city='Name of the city.'),
        _api('Canteen.menu', 'Tells the dishes that are cooked today.', 'dishes', kitchen='Name of the kitchen.'),
        _api('Parking.free_spots', 'Counts unused spots of a garage.', 'spots', garage='Letter of the garage.'),
    ]
}

RECORDED = (
    RecordedCall('by hand', '', 'Weather.forecast', {'city': 'Ghent'}, "{'forecast': 'rain, 12 degrees'}"),
    RecordedCall('by hand', '', 'Weather.forecast', {'city': 'Atlantis'}, "{'text': 'no such city'}", 'input'),
    RecordedCall('by hand', '', 'Canteen.menu', {'kitchen': 'north'}, "{'dishes': ['waterzooi', 'leek soup']}"),
)

_ROOMS = ('ReserveMeeting.get_empty_room_with_time', {'start_time': '10:00', 'end_time': '11:00'})
_BOOK = ('ReserveMeeting.reserve', {'room_id': '102', 'start_time': '10:00', 'end_time': '11:00'})


def _solution(environment: Environment, task: Task, model: str, calls: Sequence[Call], answer: str) -> Solution:
    """What the environment says to these calls, from a fresh state."""
    failing = task.goal.fails_first if task.goal else ''
    session = environment.begin(task.id, task.schemas, task.documents, failing)
    solved = []
    for name, arguments, thought in calls:
        seen = session.call(name, arguments)
        answered = AnsweredCall(name, arguments, seen.text, seen.source, seen.fault, error=seen.error)
        solved.append(SolvedCall(name, arguments, seen.text, thought, seen.source, error_of(answered)))
    session.close()
    return Solution(model, tuple(solved), answer)


def make_task(
    environment: Environment,
    number: int,
    query: str,
    calls: Sequence[Call],
    answer: str,
    tools: Sequence[str],
    kind: str = ORDINARY,
    failed: Sequence[Call] = (),
    language: str = 'EN',
    **goal: Any,
) -> MadeTask:
    """A task that two models solved; the second also made the calls that failed, of recovery both did."""
    gold = tuple(GoldCall(name, arguments) for name, arguments, _ in calls)
    task = Task(
        f'office_{number}',
        NAME,
        query,
        tuple(tool_schema(TOOLS[name]) for name in tools),
        gold,
        {name: TOOLS[name] for name in tools},
        language=language,
        goal=Goal(
            kind,
            tuple((call,) for call in gold),
            tuple((place, place + 1) for place in range(len(gold) - 1)),
            answer=answer,
            is_single_path=not failed,
            **goal,
        ),
    )
    solutions = (
        _solution(environment, task, 'maker', [*(failed if kind == RECOVERY else ()), *calls], answer),
        _solution(environment, task, 'second', [*failed, *calls], answer),
    )
    return MadeTask(task, solutions, made_by={'query': 'maker', 'solution': 'maker', 'second': 'second'})


def small_tasks(environment: Environment) -> tuple[MadeTask, ...]:
    """Nine tasks: six with one possible path, one of them Chinese; and one of each kind of some others."""
    rooms, book, now, weekday, write, read, send, weather, menu, _ = TOOLS
    return (
        make_task(
            environment,
            1,
            'Is a room free from 10:00 to 11:00? If so, take the first one for us.',
            [(*_ROOMS, 'First find out which rooms are free.'), (*_BOOK, 'Room 102 is free, so take it.')],
            'Room 102 is yours from 10:00 to 11:00.',
            [rooms, book, weather],
            facts=('102',),
        ),
        make_task(
            environment,
            2,
            "Put the words 'bring cake' into party.txt and show me what is in it then.",
            [
                (write, {'file_path': 'party.txt', 'text': 'bring cake'}, 'Store the words first.'),
                (read, {'file_path': 'party.txt'}, 'Look at the result.'),
            ],
            'party.txt says: bring cake.',
            [write, read, now],
            facts=('bring cake',),
        ),
        make_task(
            environment,
            3,
            'Do I need an umbrella in Ghent?',
            [(weather, {'city': 'Ghent'}, 'Check the forecast for Ghent.')],
            'Yes: rain, 12 degrees.',
            [weather, menu],
            kind=SIBLINGS,
            facts=('rain',),
        ),
        make_task(
            environment,
            4,
            'Which day of the week is it?',
            [(weekday, {}, 'Ask for the day of the week.')],
            'It is the day that the clock says.',
            [weekday, now, send],
        ),
        make_task(
            environment,
            5,
            'Mail bo@example.com what the north kitchen cooks.',
            [
                (menu, {'kitchen': 'north'}, 'See what is cooked.'),
                (send, {'address': 'bo@example.com', 'title': 'waterzooi, leek soup'}, 'Mail the dishes to Bo.'),
            ],
            'Bo knows about waterzooi and leek soup.',
            [menu, send, 'Parking.free_spots'],
            facts=('waterzooi',),
        ),
        make_task(
            environment,
            6,
            '请问根特的天气怎么样？',
            [(weather, {'city': 'Ghent'}, '先查询根特的天气预报。')],
            '有雨，12 degrees。',
            [weather, menu],
            language='ZH',
        ),
        make_task(
            environment,
            7,
            'Thank you, that was all.',
            [],
            'You are welcome.',
            [now],
            kind=NO_TOOL,
        ),
        make_task(
            environment,
            8,
            'What is the weather in Ghent?',
            [(weather, {'city': 'Ghent'}, 'Ask for the forecast.')],
            'Rain.',
            [weather, menu],
            failed=[(weather, {'city': 'Atlantis'}, 'Try another city.'), (weather, {}, 'Ask for no city.')],
            kind=FORBIDDEN,
            forbidden=(menu,),
        ),
        make_task(
            environment,
            9,
            'What does the north kitchen cook?',
            [(menu, {'kitchen': 'north'}, 'Look at the menu.')],
            'Waterzooi and leek soup.',
            [menu],
            failed=[(menu, {'kitchen': 'north'}, 'Open the menu.')],
            kind=RECOVERY,
            fails_first=menu,
            facts=('waterzooi',),
        ),
    )


def small_set(folder: Path, tasks: Sequence[MadeTask] | None = None, **settings: Any) -> MadeSet:
    """The set, with its bank; not yet written."""
    folder.mkdir(parents=True, exist_ok=True)
    write_bank(RECORDED, folder / BANK_FILE)
    environment: Mapping[str, Any] = {'loop': 'function_calling', 'bank': BANK_FILE, 'stateful_tools': 'teval'}
    if tasks is None:
        known = find_tools('teval')
        with Bank(folder / BANK_FILE) as bank:
            tasks = small_tasks(Environment(bank, known.stateful_tools, known.errors))
    return MadeSet(
        folder,
        NAME,
        {'kind': 'teval', 'input': 'office.json', 'tools': len(TOOLS)},
        environment,
        {'query': 'maker', 'solution': 'maker', 'second': 'second'},
        {'seed': 7, 'trials': 1, **settings},
        tuple(tasks),
        (
            Dropped('d1', 'query', 'query:leak', 'the tool is named'),
            Dropped('d2', 'query', 'query:leak', 'the tool is named'),
            Dropped('d3', 'agreement', 'agreement:facts', 'two and three'),
        ),
    )
