"""Effects: what a task wants is right, and anything else that differs is wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from opencompass_tooleval.extras.tasks.differences import changes
from opencompass_tooleval.extras.tasks.effects import effects_gold
from opencompass_tooleval.extras.tasks.gold import wrong_state
from opencompass_tooleval.extras.tasks.leaves import means
from opencompass_tooleval.extras.tasks.state import ANY, Items, State

FILLS = {'id': ANY, 'customer': None, 'item': None, 'status': 'open', 'placed': ANY}


def start() -> State:
    rows = [
        {'id': 41, 'customer': 7, 'item': 'lamp', 'status': 'returned', 'placed': '2026-01-01'},
        {'id': 42, 'customer': 7, 'item': 'desk', 'status': 'shipped', 'placed': '2026-01-02'},
        {'id': 43, 'customer': 8, 'item': None, 'status': 'open', 'placed': '2026-01-03'},
    ]
    return {
        'shop.db': 'database',
        'shop.db:table orders': 'CREATE TABLE orders(...)',
        'shop.db:orders': Items(rows, False, dict(FILLS)),
        'todo.json': 'values',
        'todo.json:tasks': Items([{'id': 1, 'title': 'tea', 'done': False}, {'id': 2, 'title': 'fair', 'done': False}]),
        'todo.json:hours.open': 8,
        'todo.json:hours.note': None,
        'todo.json:tags': Items(['a', 'b']),
        'notes.txt': 'text',
        'notes.txt:': Items(['one', 'two', 'three']),
        'old/': 'folder',
        'old/x.csv': 'values',
        'old/x.csv:': Items([{'k': 'a', 'v': '1'}, {'k': 'b', 'v': '2'}], fills={'k': '', 'v': ''}),
        'old/x.csv:columns': 'k,v',
        'pic.png': 'bytes 12',
    }


def rows_of(state: State, part: str) -> list[Any]:
    found: list[Any] = state[part].items
    return found


def insert_order(state: State, **more: Any) -> None:
    row = {'id': 44, 'customer': 8, 'item': 'mug', 'status': 'open', 'placed': 'now', **more}
    rows_of(state, 'shop.db:orders').append(row)


def new_file(state: State, name: str, *lines: str) -> None:
    state |= {name: 'text', f'{name}:': Items([*lines])}


def drop(state: State, prefix: str) -> None:
    for name in [name for name in state if name.startswith(prefix)]:
        del state[name]


Change = Callable[[State], object]
ORDERS, LIST, NOTES, TABLE = 'shop.db:orders', 'todo.json:tasks', 'notes.txt', 'old/x.csv'


def row(part: str, place: int, **values: Any) -> Change:
    return lambda state: rows_of(state, part)[place].update(values)


def parts(made: State) -> Change:
    return lambda state: state.update(copy.deepcopy(made))


def gone(prefix: str) -> Change:
    return lambda state: drop(state, prefix)


def both(*made: Change) -> Change:
    return lambda state: [change(state) for change in made]


def order(**effect: Any) -> dict[str, Any]:
    return {'table': 'orders', **effect}


def todo(**effect: Any) -> dict[str, Any]:
    return {'file': 'todo.json', **effect}


TODO = {'todo.json:hours.open': 9, 'todo.json:tags': Items(['b', 'c']), 'todo.json:new.one': True}
MOVED = [{'file': NOTES, 'is': 'gone'}, {'file': 'old/n.txt', 'same_as': NOTES}]
CASES: dict[str, tuple[list[dict[str, Any]], Change]] = {
    'a row': ([order(where={'id': '42'}, set={'status': 'returned'})], row(ORDERS, 1, status='returned')),
    'several rows': ([order(where={'customer': '7'}, set={'status': 'returned'})], row(ORDERS, 1, status='returned')),
    'a column with any value': (
        [order(where={'id': '42'}, set={'status': 'lost'}, free=['placed'])],
        row(ORDERS, 1, status='lost', placed='whenever'),
    ),
    'a null': ([order(where={'item': 'null'}, set={'item': 'pen'})], row(ORDERS, 2, item='pen')),
    'a new row': ([order(insert={'customer': '8', 'item': 'mug'})], insert_order),
    'a row that is gone': ([order(delete={'id': '41'})], lambda state: rows_of(state, ORDERS).pop(0)),
    'values of a file': ([todo(set={'hours.open': '9', 'tags': ['b', 'c'], 'new.one': 'true'})], parts(TODO)),
    'a value that is gone': ([todo(unset=['hours'])], gone('todo.json:hours.')),
    'an object of a list': ([todo(at='tasks', where={'title': 'tea'}, set={'done': 'true'})], row(LIST, 0, done=True)),
    'a new object of a list': (
        [todo(at='tasks', insert={'title': 'x', 'done': 'false'}, free=['id'])],
        lambda state: rows_of(state, LIST).append({'id': 99, 'title': 'x', 'done': False}),
    ),
    'lines': (
        [{'file': NOTES, 'remove': ['two'], 'add': ['four']}],
        parts({'notes.txt:': Items(['one', 'four', 'three'])}),
    ),
    'the whole text': ([{'file': NOTES, 'text': ['one', 'four']}], parts({'notes.txt:': Items(['one', 'four'])})),
    'a row of a table in a file': (
        [{'file': TABLE, 'where': {'k': 'b'}, 'set': {'v': '3'}}],
        row(f'{TABLE}:', 1, v='3'),
    ),
    'a new file': (
        [{'file': 'new/a.txt', 'text': ['x']}],
        both(lambda state: new_file(state, 'new/a.txt', 'x'), parts({'new/': 'folder'})),
    ),
    'a file that is gone': ([{'file': 'pic.png', 'is': 'gone'}], gone('pic.png')),
    'a file that moves': (MOVED, both(gone(NOTES), lambda state: new_file(state, 'old/n.txt', 'one', 'two', 'three'))),
    'a folder that is gone': ([{'file': 'old/', 'is': 'gone'}], gone('old/')),
    'a part like another': ([{'part': 'b', 'same_as': 'pic.png'}], parts({'b': 'bytes 12'})),
    'a copy that changes': (
        [{'file': 'b.txt', 'same_as': NOTES}, {'file': 'b.txt', 'remove': ['one'], 'add': ['four']}],
        lambda state: new_file(state, 'b.txt', 'two', 'three', 'four'),
    ),
    'a column with any value in an object': (
        [todo(at='tasks', insert={'title': 'x', 'done': 'false'}, free=['id', 'tags'])],
        lambda state: rows_of(state, LIST).append({'title': 'x', 'done': False, 'tags': ['a', {'b': 1}]}),
    ),
    'a nested value': (
        [todo(at='tasks', where={'title': 'tea'}, set={'done': {'by': ['7', 'x']}})],
        row(LIST, 0, done={'by': [7, 'x']}),
    ),
    'nothing': ([], lambda state: None),
}
HARMS: dict[str, Change] = {
    'another row': lambda state: rows_of(state, ORDERS)[-1].update(status='lost'),
    'a column of every row': lambda state: [one.update(item='x') for one in rows_of(state, ORDERS)],
    'a row too many': lambda state: insert_order(state, item='spam'),
    'a row too few': lambda state: rows_of(state, ORDERS).pop(),
    'the schema': parts({'shop.db:table orders': 'CREATE TABLE orders(other)'}),
    'a value': parts({'todo.json:hours.note': 'hacked'}),
    'a value too many': parts({'todo.json:admin': True}),
    'an object of a list': row(LIST, 1, title='other'),
    'a file too many': lambda state: new_file(state, 'spam.txt', 'x'),
    'the database': gone('shop.db'),
    'a link': parts({'l': 'link to x'}),
}


@pytest.mark.parametrize('name', CASES)
def test_an_effect_is_right_alone_and_wrong_with_anything_else(name: str) -> None:
    effects, change = CASES[name]
    expected = effects_gold(effects, start())
    after = start()
    change(after)
    assert wrong_state([expected], changes(start(), after)) == {}
    if effects:
        assert wrong_state([expected], {}), 'nothing was done'
    for harm, do in HARMS.items():
        harmed = copy.deepcopy(after)
        do(harmed)
        assert wrong_state([expected], changes(start(), harmed)), harm


def test_a_table_that_is_gone() -> None:
    expected, after = effects_gold([order(**{'is': 'gone'})], start()), start()
    both(gone('shop.db:orders'), gone('shop.db:table orders'))(after)
    assert wrong_state([expected], changes(start(), after)) == {}
    emptied = start()
    rows_of(emptied, ORDERS).clear()
    assert wrong_state([expected], changes(start(), emptied)) and wrong_state([expected], {})


def test_a_table_whose_name_has_a_colon_is_gone() -> None:
    state: State = {'x.db': 'database', 'x.db:table a:b': 'CREATE TABLE "a:b"(c)', 'x.db:a:b': Items([{'c': 1}], False)}
    expected = effects_gold([{'table': 'a:b', 'is': 'gone'}], state)
    assert wrong_state([expected], changes(state, {'x.db': 'database'})) == {}
    assert wrong_state([expected], changes(state, {**state, 'x.db:a:b': Items([], False)}))


def test_the_order_of_new_lines_counts_where_all_are_given() -> None:
    def made(*lines: str) -> dict[str, str]:
        after = start()
        new_file(after, 'n.txt', *lines)
        return changes(start(), after)

    expected = effects_gold([{'file': 'n.txt', 'text': ['b', 'a', 'b']}], start())
    assert wrong_state([expected], made('b', 'a', 'b')) == {}
    assert wrong_state([expected], made('b', 'b', 'a')) and wrong_state([expected], made('b', 'a'))
    tags = effects_gold([{'file': 'todo.json', 'set': {'tags': ['c', 'd']}}], start())
    for values, is_right in ((['c', 'd'], True), (['d', 'c'], False)):
        after = start()
        after['todo.json:tags'] = Items(values)
        assert (wrong_state([tags], changes(start(), after)) == {}) is is_right


@pytest.mark.parametrize(
    ('effect', 'says'),
    [
        ({'table': 'order', 'insert': {'id': '1'}}, 'has no table order'),
        ({'table': 'orders', 'where': {'id': '99'}, 'set': {'status': 'x'}}, 'has no row or line'),
        ({'table': 'orders', 'where': {'nr': '42'}, 'set': {'status': 'x'}}, 'has no column nr; it has id, customer'),
        ({'table': 'orders', 'where': {'id': '42'}, 'set': {'stat': 'x'}}, 'has no column stat'),
        ({'table': 'orders', 'insert': {'stat': 'x'}}, 'has no column stat'),
        ({'file': 'n.txt', 'same_as': 'nowhere.txt'}, 'is not there'),
        ({'table': 'orders'}, 'an effect has one of'),
        ({'insert': {'id': '1'}}, 'an effect names one of'),
        ({'file': 'notes.txt', 'remove': ['nine']}, 'has no row or line nine'),
        ({'file': 'nowhere.txt', 'is': 'gone'}, 'is not there'),
        ({'file': 'notes.txt', 'is': 'new'}, 'is: new; it is gone. What is new is given by a solution'),
        ({'file': 'todo.json', 'unset': ['minutes']}, 'todo.json:minutes is not there'),
        ({'table': 'x', 'is': 'gone'}, 'has no table x'),
        ({'table': 'orders', 'where': {'id': '42'}, 'set': 'x'}, 'an effect has one of'),
    ],
)
def test_an_effect_that_cannot_be_is_refused(effect: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        effects_gold([effect], start())


@pytest.mark.parametrize(
    ('words', 'value', 'is_same'),
    [
        ('42', 42, True), ('42', '42', True), ('42', 42.0, True), ('42', 43, False), ('20.50', 20.5, True),
        ('1e3', 1000, True), ('true', True, True), ('1', True, True), ('no', False, False), ('null', None, True),
        ('', None, True), ('', '', True), ('a', 'b', False), ('null', 'null', True), ('4:00', '4:00', True),
        ('4:00', 240, False),
        (['a', '1'], ['a', 1], True), (['a'], ['a', 1], False), ({'a': '1'}, {'a': 1}, True),
        ({'a': '1'}, {'a': 1, 'b': 2}, False), ('1' * 5000, 10, False), ('9e999999999', 1, False),
    ],
)  # fmt: skip
def test_words_mean_values(words: Any, value: Any, is_same: bool) -> None:
    assert means(words, value) is is_same


def test_a_difference_of_somebody_else_is_data() -> None:
    expected = effects_gold([{'table': 'orders', 'insert': {'item': 'x'}}], start())
    for text in ('3', '[]', '{"removed": 3}', '{"added": {}}', '{"removed": []}', '{"removed": [[[]]]}'):
        assert wrong_state([expected], {'shop.db:orders': text})
    with pytest.raises(ValueError, match=r'.'):
        wrong_state([expected], {'shop.db:orders': '{'})


@pytest.mark.parametrize('wrong', [False, True])
def test_effects_on_as_many_rows_as_are_allowed_are_compared(wrong: bool) -> None:
    def table(value: str) -> State:
        rows = [{'id': number, 'name': f'{number}' + 'y' * 120, 'a': value} for number in range(1_900)]
        return {'x.db': 'database', 'x.db:t': Items(rows, False, {'id': ANY, 'name': None, 'a': None})}

    expected = effects_gold([{'table': 't', 'where': {'a': 'x'}, 'set': {'a': 'y'}}], table('x'))
    after = table('y')
    rows_of(after, 'x.db:t')[1_000]['a'] = 'z' if wrong else 'y'
    rows_of(after, 'x.db:t').reverse()
    found = wrong_state([expected], changes(table('x'), after))
    assert ('added {"a": "z"' in found['x.db:t']) if wrong else found == {}


def test_too_many_rows_are_refused_and_more_than_can_be_shown_is_never_right() -> None:
    rows = Items([{'id': number, 'a': 'x'} for number in range(3_000)], False, {'id': ANY, 'a': None})
    with pytest.raises(ValueError, match='more than 2,000 rows'):
        effects_gold([{'table': 't', 'where': {'a': 'x'}, 'set': {'a': 'y'}}], {'x.db': 'database', 'x.db:t': rows})
    many = {f'{number}.txt': 'text' for number in range(3_000)}
    assert wrong_state([{}], changes({}, many))
    state = {'x:t': Items([{'a': number} for number in range(5_000)], False)}
    assert wrong_state([{}], changes({}, state)) == {'x:t': 'changed: {"more": 5000}'}
