"""``tooleval make`` finds out what exists before it writes: a real server without hints, a maker that knows nothing."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.core.calls.tool_set import ToolSchema
from opencompass_tooleval.core.scoring.similarity import ExactSimilarity
from opencompass_tooleval.environments.environment import Environment
from opencompass_tooleval.extras.making.dependencies import Dependency, count_dependent, find_dependencies
from opencompass_tooleval.extras.making.drafts import Drawing, Quotas
from opencompass_tooleval.extras.making.exploration import Exploration, Explored
from opencompass_tooleval.extras.making.grounding import MAX_SHOWN_CHARS, show_what_exists
from opencompass_tooleval.extras.making.made_set import load_set
from opencompass_tooleval.extras.making.made_task import SolvedCall
from opencompass_tooleval.extras.making.tool_source import SourceTool, ToolSource
from opencompass_tooleval.extras.mcp_servers.live import LiveTools
from opencompass_tooleval.extras.mcp_servers.server import parse_server
from tests.conftest import ModelServer, start_server
from tests.extras.making.library_server import start_state
from tests.extras.making.test_make import run
from tests.extras.making.worlds import write_model_config

LIBRARY = shlex.join([sys.executable, str(Path(__file__).with_name('library_server.py'))])
MAKER = Path(__file__).with_name('library_maker.py')


class Maker:
    """A scripted maker that has its prompts written down."""

    def __init__(self, folder: Path, function: str, number: int) -> None:
        self._log = folder / f'prompts{number}.jsonl'
        os.environ['MAKER_LOG'] = str(self._log)
        try:
            self.server: ModelServer = start_server('--script', f'{MAKER}:{function}')
        finally:
            del os.environ['MAKER_LOG']
        self.config = write_model_config(folder / 'model.py', self.server)

    def prompts(self, beginning: str) -> list[str]:
        """The messages that begin so."""
        rows = [json.loads(line) for line in self._log.read_text(encoding='utf-8').splitlines()]
        return [text for row in rows for text in row[:2] if str(text).startswith(beginning)]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Maker]]:
    """Makes a set of the library in ``made`` with a scripted maker, whose prompts are returned."""
    started: list[Maker] = []

    def begin(function: str = 'right', tasks: int = 6, status: int = 0, fault: str = '', **options: Any) -> Maker:
        fixture = tmp_path / 'books.json'
        fixture.write_text(json.dumps(start_state()), encoding='utf-8')
        before = fixture.read_bytes()
        started.append(Maker(tmp_path, function, len(started)))
        started[-1].server.reset(*filter(None, [fault]))
        settings = {'kinds': ['ordinary=1'], 'allow': ['*'], 'leave_out': ['now'], 'trials': 2, **options}
        done, _ = run(
            tmp_path / 'made', started[-1].config, tasks, source='mcp', input_=LIBRARY, fixture=fixture, **settings
        )
        assert done == status and fixture.read_bytes() == before
        return started[-1]

    yield begin
    for maker in started:
        maker.server.stop()


def report(folder: Path) -> dict[str, Any]:
    """The report of the run."""
    read: dict[str, Any] = json.loads((folder / 'made_report.json').read_text(encoding='utf-8'))
    return read


def test_queries_are_written_from_answers_along_dependencies(
    make: Callable[..., Maker], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maker = make()
    made = load_set(tmp_path / 'made')
    assert made.settings['explored'] == {
        'calls': 11,
        'tools': 6,
        'dependencies': [
            'find_books -> lend_book (isbn)',
            'find_books -> open_book (isbn)',
            'list_authors -> find_books (author)',
            'open_book -> find_books (author)',
            'open_book -> shelf_keeper (shelf)',
        ],
    }
    assert 'queries were written from 11 calls of 6 tools, 5 dependencies' in capsys.readouterr().out
    (looking,) = maker.prompts('Find out what exists')[:1]
    assert 'File /fixture/books.json' in looking
    written = maker.prompts('You write requests')
    assert all(len(prompt) < 3 * MAX_SHOWN_CHARS for prompt in written)
    chains = [prompt for prompt in written if 'shelf_keeper takes what open_book returns' in prompt]
    assert chains and all('open_book {"isbn": "978-' in prompt for prompt in chains)
    # The agent lent a book before it opened it; the writer sees the entry as a task's start has it.
    opened = [line for prompt in written for line in prompt.splitlines() if line.startswith('{"isbn"')]
    assert opened and not any('"reader"' in line for line in opened)
    for task in made.tasks:
        query, calls = task.task.query, task.solutions[0].calls
        found = [one for one in calls if any(value not in query for value in one.arguments.values())]
        assert count_dependent(calls, query) == len(found) >= (len(calls) > 1), query
    assert sum(len(task.goal.calls) > 1 for task in made.tasks) >= len(made.tasks) / 2


def test_what_fails_is_tried_again_and_not_shown(make: Callable[..., Maker], tmp_path: Path) -> None:
    maker = make(leave_out=['list_authors', 'now'], tasks=2)
    first, second = [prompt for prompt in maker.prompts('Find out what exists') if '"Monday"' not in prompt][:2]
    assert first == second
    assert report(tmp_path)['explored'] == {'calls': 1, 'tools': 1, 'dependencies': []}
    written = '\n'.join(maker.prompts('You write requests'))
    assert 'opening_hours {"day": "Monday"} returns:\n9:30' in written and '{"author": "Smith"} returns' not in written


def test_nothing_is_explored_where_no_call_is_allowed_for_it(make: Callable[..., Maker], tmp_path: Path) -> None:
    maker = make(explore=0, tasks=2)
    assert not maker.prompts('Find out what exists')
    assert report(tmp_path)['explored'] == {'calls': 0, 'tools': 0, 'dependencies': []}
    # It knows the beginning of the file, and invents the rest.
    assert report(tmp_path)['dropped']['solution reviewer:refused'] >= 3


def test_a_writer_sees_earlier_queries_and_why_its_own_failed(make: Callable[..., Maker], tmp_path: Path) -> None:
    maker = make('learns', tasks=5)
    written = maker.prompts('You write requests')
    first = [prompt for prompt in written if 'it was of no use' not in prompt]
    again = [prompt for prompt in written if 'it was of no use' in prompt]
    alike = report(tmp_path)['dropped'].get('duplicate query:duplicate', 0)
    assert len(load_set(tmp_path / 'made').tasks) == 5 and len(again) == len(first) - alike >= 5
    for prompt in again:
        assert 'A reviewer refused the solutions. 2 of 2 attempts; it does not exist;' in prompt
        assert '978-none' in prompt and '-> there is no such thing' in prompt
    # The first four see none, the next see these.
    earlier = [prompt.count('\n- For ') for prompt in first]
    assert earlier[:4] == [0] * 4 and 4 - alike <= max(earlier[4:]) == min(earlier[4:]) <= 4
    # A draft has one line, of its last query.
    assert 'solution reviewer:refused' not in report(tmp_path)['dropped']


@pytest.mark.long
def test_after_a_kill_nothing_is_explored_again(make: Callable[..., Maker], tmp_path: Path) -> None:
    whole = make(leave_out=[], tasks=2)
    lines = (tmp_path / 'made' / 'tasks.jsonl').read_bytes()
    for file in ('set.json', 'tasks.jsonl', 'dropped.jsonl'):
        (tmp_path / 'made' / file).unlink()
    killed = make(fault='500@~You plan', leave_out=[], tasks=2, status=1)
    explored = list((tmp_path / 'made' / 'journal').glob('explored-*.json'))
    assert len(explored) == 1 and killed.prompts('Find out what exists')
    resumed = make(leave_out=[], tasks=2)
    # The clock tells another time now. What was found out is kept, so that no prompt of a query differs; the clock's
    # answer is not shown.
    assert not any('now {} returns' in prompt for prompt in whole.prompts('You write requests'))
    assert not resumed.prompts('Find out what exists') and not resumed.prompts('You write requests')
    assert (tmp_path / 'made' / 'tasks.jsonl').read_bytes() == lines


def test_of_a_shared_server_only_readings_are_explored(tmp_path: Path) -> None:
    names = {'reads': True, 'writes': False, 'silent': None}
    tools = {name: SourceTool(ToolSchema(name, '', {}), '', {}, reads) for name, reads in names.items()}
    asked: list[str] = []

    def run_nothing(dialogues: Mapping[str, Any]) -> dict[str, Any]:
        for dialogue in dialogues.values():
            asked.extend(tool.name for tool in next(dialogue).tools.tools)
        return {}

    for server, expected in (('http://127.0.0.1:9/mcp', {'reads'}), ('no-such-program', set(names))):
        asked.clear()
        source = ToolSource(tools, Environment(live=LiveTools(parse_server(server))), {})
        exploration = Exploration(source, 'function_calling', 0, 4, run_nothing)
        assert exploration.explore(tmp_path, server) == Explored() and set(asked) == expected


def call(name: str, answer: str, **arguments: Any) -> SolvedCall:
    """A call with its answer."""
    return SolvedCall(name, arguments, answer)


def schemas(*calls: SolvedCall, **more: Mapping[str, Any]) -> dict[str, ToolSchema]:
    """Tools with the parameters of these calls."""
    return {
        one.name: ToolSchema(
            one.name, '', {'type': 'object', 'properties': {name: more.get(name, {}) for name in one.arguments}}
        )
        for one in calls
    }


FIND = call('find', '[{"id": 7, "name": "Dawn of Lem"}]', author='Lem', order='desc')


@pytest.mark.parametrize(
    ('calls', 'expected'),
    [
        ([FIND, call('open', 'yes', title='Dawn of Lem')], {'find -> open (title)'}),
        # A short value counts under a name like the parameter's: a 7 stands in many answers.
        ([FIND, call('open', 'yes', book_id=7)], {'find -> open (book_id)'}),
        ([FIND, call('open', 'yes', pages=7)], set()),
        # What a tool was given it does not return.
        ([FIND, call('other', '{"author": "Lem"}', author='Lem')], set()),
        ([call('list', 'Authors: Lem, Dick'), FIND], {'list -> find (author)'}),
        ([call('list', '[FILE] tax.txt\n[DIR] old'), call('read', 'x', path='/fixture/old')], {'list -> read (path)'}),
        ([call('list', 'tax 2024.txt'), call('read', 'x', paths=['/fixture/tax 2024.txt'])], {'list -> read (paths)'}),
        ([call('list', 'desc /fixture'), FIND, call('read', 'x', path='/fixture')], set()),
        ([call('log', 'Commit: 4f2a91c\nBy: Ada'), call('show', 'x', target='4f2a91c')], {'log -> show (target)'}),
        ([call('log', '{"a": "Kind'), call('show', 'x', revision='')], set()),
    ],
)  # fmt: skip
def test_dependencies(calls: Sequence[SolvedCall], expected: set[str]) -> None:
    tools = schemas(*calls, order={'enum': ['asc', 'desc']})
    assert set(map(str, find_dependencies(calls, tools))) == expected


def test_calls_that_depend_on_earlier_ones_are_counted() -> None:
    calls = [
        call('list', '["Lem", "Dick"]'),
        call('find', '[{"isbn": "978-1"}]', author='Dick'),
        call('open', 'x', isbn='978-1'),
    ]
    assert count_dependent(calls, 'Open a book by Lem.') == 2
    assert count_dependent(calls, 'Open a book by DICK.') == 1
    assert count_dependent(calls[::-1], 'Open a book.') == 0


def test_chains_are_drawn_along_dependencies() -> None:
    names = ('a', 'b', 'c', 'd', 'alone')
    tools = {name: SourceTool(ToolSchema(name, '', {}), '', {}) for name in names}
    drawing = Drawing(tools, Quotas({'ordinary': 1.0}), 0, ExactSimilarity())
    together = [draft.needed for draft in drawing.draw({'ordinary': 50})]
    assert any('alone' in needed and len(needed) > 1 for needed in together)
    pairs = [('a', 'b'), ('b', 'c'), ('c', 'd'), ('d', 'a')]
    drawing.follow([Dependency(*pair, 'x', 'y') for pair in pairs])
    chains = list(drawing.draw({'ordinary': 50}))
    for draft in chains:
        assert draft.needed == ('alone',) or 'alone' not in draft.needed
        for place, name in enumerate(draft.needed[1:], 1):
            assert any((producer, name) in pairs for producer in draft.needed[:place]), draft.needed
    assert max(len(draft.needed) for draft in chains) == 4
    assert [draft.needed for draft in chains].count(('alone',)) in (5, 6)  # half as many as begin with another


def test_what_is_shown_is_bounded() -> None:
    calls = [call(f'tool{number % 30}', 'x' * 50_000, text='y' * 20_000) for number in range(300)]
    shown = show_what_exists(calls, ['z' * 600] * 400, ['tool1', 'tool2'], 'seed')
    assert len(shown) <= MAX_SHOWN_CHARS + 100 and 'tool1 {' in shown and 'zzz' in shown
    assert shown == show_what_exists(calls, ['z' * 600] * 400, ['tool1', 'tool2'], 'seed')
