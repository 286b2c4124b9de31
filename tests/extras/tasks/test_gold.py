"""Golds: an agent's state gets the verdict that a person would give, whatever the bytes, ids and times in it are."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.extras.tasks.differences import changes
from opencompass_tooleval.extras.tasks.gold import Gold, gold_lines, make_gold, wrong_state
from opencompass_tooleval.extras.tasks.leaves import Given, fits
from opencompass_tooleval.extras.tasks.state import State, read_state

Files = Mapping[str, str | Callable[[Path], None]]
NOW = datetime(2026, 5, 4, 9, 30, 1, tzinfo=timezone.utc)


def db(*statements: str) -> Files:
    """A database with a table of parcels, after statements."""

    def write(path: Path) -> None:
        with closing(sqlite3.connect(path)) as database:
            database.executescript(
                'CREATE TABLE parcels(id INTEGER PRIMARY KEY, place TEXT, weight REAL, sent TEXT, van_id INTEGER);'
                'CREATE TABLE log(line TEXT); INSERT INTO log VALUES ("full"), ("full"), ("empty");'
                'CREATE TABLE vans(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO vans VALUES (3, "red"), (4, "blue");'
                'INSERT INTO parcels VALUES (1, "Oslo", 2.3, NULL, 3), (2, "Rome", 4.1, NULL, 3);'
                + ';'.join(statements)
            )

    return {'post.db': write}


OLD = [{'id': 1, 'what': 'oil'}, {'id': 2, 'what': 'rope'}]


def data(**values: Any) -> Files:
    start = {'list': OLD, 'next': 3, 'sum': 1.5, 'open': False}
    return {'data.json': json.dumps({**start, **values})}


def rows(*more: tuple[int, str], after: int = 0) -> Files:
    """A JSON store that counts its ids."""
    return data(list=[*OLD, *({'id': number, 'what': what} for number, what in more)], next=after or 3 + len(more))


def text(content: str, name: str = 'a.txt') -> Files:
    return {name: content}


def state_of(files: Files, folder: Path) -> State:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content) if isinstance(content, str) else content(folder / name)
    return read_state(folder)


INI = '[left]\nspeed = 1\nlamp = off\n[right]\nspeed = 1\n'
CODE = 'def f(x):\n    if x:\n        return 1\n    return 2\n'
NOTE = {'notes/old.txt': 'x\n'}
SENT = "UPDATE parcels SET van_id=4, sent='{}' WHERE id=1"
INSERT = "INSERT INTO parcels(place, weight{0}) VALUES ('Bern', 1.0{1})"
CASES: dict[str, tuple[Files, Sequence[Files], Mapping[str, tuple[Files, bool]]]] = {
    'a line is in its place': (
        text(INI, 'a.ini'),
        [text(INI.replace('speed = 1', 'speed = 9', 1), 'a.ini')],
        {
            'another section': (text('9'.join(INI.rsplit('1', 1)), 'a.ini'), False),
            'no spaces': (text(INI.replace('speed = 1', 'speed=9', 1), 'a.ini'), True),
        },
    ),
    'a new line is in its place': (
        text(CODE),
        [text(CODE.replace('    return 2', '    print(x)\n    return 2'))],
        {'at the end': (text(CODE + '    print(x)\n'), False), 'first': (text('    print(x)\n' + CODE), False)},
    ),
    'variables have no order': (
        text('A=1\nB=2\n', '.env'),
        [text('A=1\nB=3\n', '.env')],
        {'another order': (text('B=3\nA=1\n', '.env'), True), 'both': (text('A=1\nB=2\nB=3\n', '.env'), False)},
    ),
    'the last digits of a float': (
        data(),
        [data(sum=0.3)],
        {'computed': (data(sum=0.1 + 0.2), True), 'near': (data(sum=0.3001), False), 'text': (data(sum='0.3'), False)},
    ),
    'whole numbers count exactly': (
        data(),
        [data(sum=12_345_678_901)],
        {'one more': (data(sum=12_345_678_902), False), 'as a float': (data(sum=12_345_678_901.0), True)},
    ),
    'types of values': (
        data(),
        [data(open=True)],
        {'a number': (data(open=1), False), 'a text': (data(open='true'), False)},
    ),
    'null': (data(), [data(sum=None)], {'an empty text': (data(sum=''), False)}),
    'words for a boolean in YAML': (
        text('a: yes\nb: 7:00\n', 'a.yaml'),
        [text('a: no\nb: 8:00\n', 'a.yaml')],
        {
            'false': (text('a: false\nb: 08:00\n', 'a.yaml'), True),
            'true': (text('a: true\nb: 8:00\n', 'a.yaml'), False),
            'another time': (text('a: no\nb: 08:01\n', 'a.yaml'), False),
        },
    ),
    'decimals and order of rows in CSV': (
        text('k,v\na,1.50\nb,2\n', 'a.csv'),
        [text('k,v\na,2.50\nb,2\n', 'a.csv')],
        {
            'without a zero': (text('k,v\na,2.5\nb,2.00\n', 'a.csv'), True),
            'another value': (text('k,v\na,2.51\nb,2\n', 'a.csv'), False),
            'another row': (text('k,v\na,1.50\nb,2.5\n', 'a.csv'), False),
            'sorted otherwise': (text('k,v\nb,2\na,2.5\n', 'a.csv'), True),
        },
    ),
    'whole numbers in CSV are texts': (
        text('k,v\na,007\n', 'a.csv'),
        [text('k,v\na,008\n', 'a.csv')],
        {'8': (text('k,v\na,8\n', 'a.csv'), False)},
    ),
    'an empty new file': (
        text('x'),
        [{'a.txt': 'x', 'b.txt': ''}],
        {'with a text': ({'a.txt': 'x', 'b.txt': 'y'}, False), 'none': (text('x'), False)},
    ),
    'a file that is named by its time': (
        NOTE,
        [{**NOTE, f'notes/2026-05-04_0930{name}.txt': 'Call Otto.\n'} for name in ('01-1', '03-7')],
        {
            'tomorrow': ({**NOTE, 'notes/2026-05-05_120000-4.txt': 'Call Otto.\n'}, True),
            'another text': ({**NOTE, 'notes/2026-05-04_093105-2.txt': 'Sleep.\n'}, False),
            'twice': ({**NOTE, **{f'notes/2026-05-04_09310{n}-2.txt': 'Call Otto.\n' for n in '12'}}, False),
            'another name': ({**NOTE, 'notes/otto.txt': 'Call Otto.\n'}, False),
        },
    ),
    'a line with the time': (
        text('start\n'),
        [text(f'start\n[2026-05-04 09:30:0{second}] tea 5\n') for second in '13'],
        {
            'tomorrow': (text('start\n[2026-05-05 18:00:00] tea 5\n'), True),
            'another text': (text('start\n[2026-05-05 18:00:00] tea 6\n'), False),
            'long ago': (text('start\n[1999-01-01 18:00:00] tea 5\n'), False),
            'in another place': (text('[2026-05-05 18:00:00] tea 5\nstart\n'), False),
        },
    ),
    'the time of now in a row': (
        db(),
        [db(SENT.format(f'2026-05-04 09:30:0{second}')) for second in '13'],
        {
            'later': (db(SENT.format('2026-05-07T00:00:00Z')), True),
            'null': (db('UPDATE parcels SET van_id=4 WHERE id=1'), False),
            'long ago': (db(SENT.format('1999-01-01')), False),
            'no time': (db(SENT.format('now')), False),
        },
    ),
    'the day, in a run of one day': (
        db(),
        [db(SENT.format('2026-05-04'))],
        {'tomorrow': (db(SENT.format('2026-05-05')), True), 'a week ago': (db(SENT.format('2026-04-27')), False)},
    ),
    'prices of all rows': (
        db(),
        [db('UPDATE parcels SET weight=round(weight*1.1, 2)')],
        {
            'not rounded': (db('UPDATE parcels SET weight=weight*1.1'), True),
            'six percent': (db('UPDATE parcels SET weight=weight*1.06'), False),
        },
    ),
    'one of two equal rows': (
        db(),
        [db("UPDATE log SET line='half' WHERE rowid=1")],
        {
            'the other one': (db("UPDATE log SET line='half' WHERE rowid=2"), True),
            'both': (db("UPDATE log SET line='half' WHERE line='full'"), False),
        },
    ),
    'a new row has an id of the database': (
        db(),
        [db(INSERT.format('', ''))],
        {
            'given': (db(INSERT.format(', id', ', 99')), True),
            'with another place': (db(INSERT.format('', '').replace('Bern', 'Bonn')), False),
        },
    ),
    'an id of another table counts': (
        db(),
        [db(INSERT.format(', van_id', ', 4'))],
        {
            'another van': (db(INSERT.format(', van_id', ', 3')), False),
            'an unknown van': (db(INSERT.format(', van_id', ', 9')), False),
        },
    ),
    'an index by what it indexes': (
        db(),
        [db('CREATE INDEX i ON parcels(place)')],
        {
            'another name': (db('create index by_place on parcels (place)'), True),
            'another column': (db('CREATE INDEX i ON parcels(weight)'), False),
        },
    ),
    'a new table by its columns': (
        db(),
        [db('CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT)')],
        {
            'other words': (db('create table if not exists "t" (id integer not null primary key , name text)'), True),
            'another type': (db('CREATE TABLE t(id INTEGER PRIMARY KEY, name REAL)'), False),
            'another column': (db('CREATE TABLE t(id INTEGER PRIMARY KEY, title TEXT)'), False),
        },
    ),
    'a new column': (
        db(),
        [db('ALTER TABLE vans ADD COLUMN seats INTEGER')],
        {
            'in other words': (db('alter table vans add seats integer'), True),
            'another type': (db('ALTER TABLE vans ADD COLUMN seats TEXT'), False),
        },
    ),
    'a table with another name': (
        db(),
        [db('ALTER TABLE vans RENAME TO cars')],
        {'without its rows': (db('ALTER TABLE vans RENAME TO cars', 'DELETE FROM cars'), False)},
    ),
    'ids that a store counts': (
        rows(),
        [rows((3, 'tea'), (4, 'jam'))],
        {
            'the other order': (rows((3, 'jam'), (4, 'tea')), True),
            'deleted and added again': (rows((4, 'jam'), (5, 'tea'), after=6), True),
            'one only': (rows((3, 'tea')), False),
            'another one': (rows((3, 'tea'), (4, 'ham')), False),
            'an id of nobody': (
                data(list=[*OLD, {'what': 'tea'}], next=4),
                False,
            ),
        },
    ),
    'an object in its place': (
        rows(),
        [rows((3, 'tea'))],
        {
            'first': (
                data(list=[{'id': 3, 'what': 'tea'}, *OLD], next=4),
                False,
            )
        },
    ),
    'nothing': (db(), [db()], {'anything': (db('DELETE FROM vans'), False)}),
    'what two files say': (
        {'a.txt': '1', 'b.txt': '2'},
        [{'a.txt': '2', 'b.txt': '1'}],
        {'half of it': ({'a.txt': '2', 'b.txt': '2'}, False)},
    ),
    'more rows than are shown': (
        text('\n'.join(f'line {n}' for n in range(3_000))),
        [text('\n'.join(f'row {n}' for n in range(3_000)))],
        {'one is another': (text('\n'.join(f'row {n}' for n in range(2_999)) + '\nrow x'), False)},
    ),
}


def made(start: State, files: Files, folder: Path) -> dict[str, str]:
    return changes(start, state_of(files, folder))


def golds(start: Files, runs: Sequence[Files], folder: Path, **more: Any) -> tuple[State, Gold]:
    """The state at the start and the gold of a solution; one run stands for two that are equal."""
    before = state_of(start, folder / 'start')
    first, second = (made(before, run, folder / f'run {number}') for number, run in enumerate((runs[0], runs[-1])))
    given = Given.of(more.get('request', 'Do it.'), more.get('calls', ()), NOW)
    gold = make_gold(before, first, second, given, more.get('free', ()))
    return before, json.loads(json.dumps(gold))


@pytest.mark.parametrize('empty', [None, '', [], {}], ids=repr)
def test_an_empty_value_is_never_free(empty: Any) -> None:
    assert not fits(empty, empty, {'kind': 'text'}) and fits('a', 'b', {'kind': 'text'})


@pytest.mark.parametrize('name', CASES)
def test_an_agent_gets_the_verdict_of_a_person(name: str, tmp_path: Path) -> None:
    start, runs, agents = CASES[name]
    before, gold = golds(start, runs, tmp_path)
    for number, run in enumerate(runs):
        assert wrong_state([gold], made(before, run, tmp_path / f'again {number}')) == {}
    if name != 'nothing':
        assert wrong_state([gold], {}), 'nothing was done'
    for agent, (files, is_right) in agents.items():
        wrong = wrong_state([gold], made(before, files, tmp_path / f'agent {agent}'))
        assert (not wrong) is is_right, (agent, wrong)
        assert all('\n' not in words for words in wrong.values())


def test_what_the_request_gives_is_not_free(tmp_path: Path) -> None:
    runs = [db(SENT.format('2026-05-04'))]
    before, gold = golds(db(), runs, tmp_path / 'a', request='Parcel 1 went out on 2026-05-04 with the blue van.')
    tomorrow = made(before, db(SENT.format('2026-05-05')), tmp_path / 'b')
    assert list(wrong_state([gold], tomorrow)) == ['post.db:parcels']
    before, gold = golds(rows(), [rows((3, 'tea'))], tmp_path / 'c', calls=[{'id': 3, 'what': 'tea'}])
    assert list(wrong_state([gold], made(before, rows((4, 'tea'), after=4), tmp_path / 'd'))) == ['data.json:list']


def test_the_name_of_an_index_counts_if_the_request_gives_it(tmp_path: Path) -> None:
    other = db('CREATE INDEX other ON parcels(place)')
    for number, request in enumerate(('Index the places.', 'Index the places as by_place.')):
        folder = tmp_path / str(number)
        before, gold = golds(db(), [db('CREATE INDEX by_place ON parcels(place)')], folder, request=request)
        assert bool(wrong_state([gold], made(before, other, folder / 'x'))) is bool(number)


def test_many_rows_with_ids_are_read_once(tmp_path: Path) -> None:
    def many(*more: int) -> Files:
        return data(list=[{'number': number, 'what': 'oil'} for number in (*range(20_000), *more)])

    before, gold = golds(many(), [many(*range(20_000, 21_000))], tmp_path, calls=[{'what': 'oil ' * 20_000}])
    parts = gold['data.json:list']
    assert all([*free] == ['number'] for free in parts['free'])
    assert before


def test_fewer_rows_than_the_solution_adds_are_wrong(tmp_path: Path) -> None:
    def parcels(*weights: str) -> Files:
        return db(*(f'INSERT INTO parcels VALUES (NULL, "Bonn", {weight}, NULL, 3)' for weight in weights))

    before, gold = golds(db(), [parcels('1.0', '1.0', '2.0')], tmp_path)
    assert wrong_state([gold], made(before, parcels('1.0', '2.0', '1.0'), tmp_path / 'all')) == {}
    for weights in (('1.0',), ('2.0',), ('1.0', '1.0'), ('1.0', '1.0', '1.0')):
        assert 'post.db:parcels' in wrong_state(
            [gold], made(before, parcels(*weights), tmp_path / str(len(weights)) / weights[0])
        )


def test_a_number_that_is_no_id_explains_an_argument(tmp_path: Path) -> None:
    def shelf(number: int, count: int) -> Files:
        return data(list=[{'id': 1, 'count': 9}, {'id': 2, 'count': 9}, {'id': number, 'count': count}])

    before, gold = golds(data(), [shelf(3, 3)], tmp_path, calls=[{'count': 3}])
    assert wrong_state([gold], made(before, shelf(8, 3), tmp_path / 'x')) == {}
    assert wrong_state([gold], made(before, shelf(3, 8), tmp_path / 'y'))


@pytest.mark.parametrize(
    ('free', 'agents'),
    [
        (['mail.txt:'], {'Dear all\n': True, '\n': False, 'x\n': False}),
        (['*.txt:'], {'Hello!\nBye.\n': True}),
        ([], {'Dear all\n': False}),
    ],
)
def test_an_owner_leaves_words_to_the_agent(free: list[str], agents: dict[str, bool], tmp_path: Path) -> None:
    before, gold = golds(text('x\n', 'mail.txt'), [text('Hello\n', 'mail.txt')], tmp_path, free=free)
    for number, (content, is_right) in enumerate(agents.items()):
        found = made(before, text(content, 'mail.txt'), tmp_path / str(number))
        assert (wrong_state([gold], found) == {}) is is_right, content


def test_a_column_and_the_order_of_a_list_are_left_to_the_agent(tmp_path: Path) -> None:
    def mail(who: str, body: str, *tags: str) -> Files:
        return {'m.jsonl': '{"to": "nobody"}\n' + json.dumps({'to': who, 'body': body, 'tags': tags})}

    start = {'m.jsonl': '{"to": "nobody"}\n'}
    before, gold = golds(start, [mail('Ada', 'Hi', 'a', 'b')], tmp_path, free=['m.jsonl:.body', 'm.jsonl:.tags[]'])
    agents = {
        'words': (mail('Ada', 'Dear Ada', 'b', 'a'), True),
        'no words': (mail('Ada', '', 'a', 'b'), False),
        'other tags': (mail('Ada', 'Hi', 'a', 'c'), False),
        'another person': (mail('Bob', 'Hi', 'a', 'b'), False),
    }
    for name, (files, is_right) in agents.items():
        assert (wrong_state([gold], made(before, files, tmp_path / name)) == {}) is is_right, name
    assert '; free: body (any words), tags (any order)' in next(gold_lines(gold))
    with pytest.raises(ValueError, match='free has nowhere, which its solution does not change'):
        golds(start, [mail('Ada', 'Hi')], tmp_path / 'other', free=['nowhere'])


@pytest.mark.parametrize(
    ('runs', 'says'),
    [
        ([text('a\nb\n'), text('a\n')], 'a.txt: differs in more than values'),
        ([{'a.txt': 'x', 'b.txt': 'y'}, text('x')], 'b.txt differs in more than values'),
        ([text('x'), {'a.txt': 'x', 'b.txt': 'y'}], 'b.txt differs in more than values'),
        ([text('\n'.join(f'{run} {n}' for n in range(3_000))) for run in 'ab'], 'changes too much to compare values'),
    ],
)
def test_runs_that_differ_in_more_than_values_make_no_gold(runs: list[Files], says: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=says):
        golds(text('x'), runs, tmp_path)


def test_any_of_several_solutions_is_right_and_the_nearest_is_shown(tmp_path: Path) -> None:
    before, red = golds(db(), [db("UPDATE vans SET name='green' WHERE id=3")], tmp_path / 'a')
    _, blue = golds(db(), [db("UPDATE vans SET name='green' WHERE id=4", 'DELETE FROM log')], tmp_path / 'b')
    for number, name in ((3, 'green'), (4, 'green'), (4, 'pink')):
        found = made(before, db(f"UPDATE vans SET name='{name}' WHERE id={number}"), tmp_path / f'{number} {name}')
        assert len(wrong_state([red, blue], found)) == (number == 4)


def test_a_gold_in_words(tmp_path: Path) -> None:
    runs = [db(SENT.format(f'2026-05-04 09:30:0{second}'), 'DROP TABLE log') for second in '13']
    _, gold = golds(db(), runs, tmp_path)
    assert sorted(gold_lines(gold)) == [
        'post.db:log: gone: {"line": "empty"}',
        'post.db:log: gone: {"line": "full"}',
        'post.db:log: gone: {"line": "full"}',
        'post.db:parcels: gone: {"id": 1, "place": "Oslo", "sent": null, "van_id": 3, "weight": 2.3}',
        'post.db:parcels: new: {"id": 1, "place": "Oslo", "sent": "2026-05-04 09:30:01", "van_id": 4, "weight": 2.3}; '
        'free: sent (any time)',
        'post.db:table log: gone',
    ]


def test_a_difference_of_somebody_else_is_data(tmp_path: Path) -> None:
    before, gold = golds(db(), [db(INSERT.format('', ''))], tmp_path)
    part, deep = 'post.db:parcels', '[' * 900 + ']' * 900
    for found in ('3', '[]', '{"removed": 3}', '{"removed": []}', '{"removed": [[[]]], "added": [3], "at": 7}'):
        assert list(wrong_state([gold], {part: found})) == [part]
    for found in ('{', f'{{"removed": [], "added": [{deep}]}}'):
        with pytest.raises(ValueError, match=r'.'):
            wrong_state([gold], {part: found})
    assert before
