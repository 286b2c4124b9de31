"""Effects: what a task wants is right, and anything else that differs is wrong."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from opencompass_tooleval.extras.tasks.effects import changes, expected_changes, means, wrong_changes
from opencompass_tooleval.extras.tasks.state import ANY, Items, State
from opencompass_tooleval.extras.tasks.writing import flow, observed_effects
from opencompass_tooleval.tool_docs.yaml_text import load_yaml

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

CASES: dict[str, tuple[list[dict[str, Any]], Change]] = {
    'a row': (
        [{'table': 'orders', 'where': {'id': '42'}, 'set': {'status': 'returned'}}],
        lambda state: rows_of(state, 'shop.db:orders')[1].update(status='returned'),
    ),
    'several rows': (
        [{'table': 'orders', 'where': {'customer': '7'}, 'set': {'status': 'returned'}}],
        lambda state: rows_of(state, 'shop.db:orders')[1].update(status='returned'),
    ),
    'a column with any value': (
        [{'table': 'orders', 'where': {'id': '42'}, 'set': {'status': 'lost'}, 'free': ['placed']}],
        lambda state: rows_of(state, 'shop.db:orders')[1].update(status='lost', placed='whenever'),
    ),
    'a null': (
        [{'table': 'orders', 'where': {'item': 'null'}, 'set': {'item': 'pen'}}],
        lambda state: rows_of(state, 'shop.db:orders')[2].update(item='pen'),
    ),
    'a new row': ([{'table': 'orders', 'insert': {'customer': '8', 'item': 'mug'}}], insert_order),
    'a row that is gone': (
        [{'table': 'orders', 'delete': {'id': '41'}}],
        lambda state: rows_of(state, 'shop.db:orders').pop(0),
    ),
    'values of a file': (
        [{'file': 'todo.json', 'set': {'hours.open': '9', 'tags': ['b', 'c'], 'new.one': 'true'}}],
        lambda state: state.update(
            {'todo.json:hours.open': 9, 'todo.json:tags': Items(['b', 'c']), 'todo.json:new.one': True}
        ),
    ),
    'a value that is gone': (
        [{'file': 'todo.json', 'unset': ['hours']}],
        lambda state: drop(state, 'todo.json:hours.'),
    ),
    'an object of a list': (
        [{'file': 'todo.json', 'at': 'tasks', 'where': {'title': 'tea'}, 'set': {'done': 'true'}}],
        lambda state: rows_of(state, 'todo.json:tasks')[0].update(done=True),
    ),
    'a new object of a list': (
        [{'file': 'todo.json', 'at': 'tasks', 'insert': {'title': 'x', 'done': 'false'}, 'free': ['id']}],
        lambda state: rows_of(state, 'todo.json:tasks').append({'id': 99, 'title': 'x', 'done': False}),
    ),
    'lines': (
        [{'file': 'notes.txt', 'remove': ['two'], 'add': ['four']}],
        lambda state: state.update({'notes.txt:': Items(['one', 'four', 'three'])}),
    ),
    'the whole text': (
        [{'file': 'notes.txt', 'text': ['one', 'four']}],
        lambda state: state.update({'notes.txt:': Items(['one', 'four'])}),
    ),
    'a row of a table in a file': (
        [{'file': 'old/x.csv', 'where': {'k': 'b'}, 'set': {'v': '3'}}],
        lambda state: rows_of(state, 'old/x.csv:')[1].update(v='3'),
    ),
    'a new file': (
        [{'file': 'new/a.txt', 'text': ['x']}],
        lambda state: (new_file(state, 'new/a.txt', 'x'), state.update({'new/': 'folder'})),
    ),
    'a new file with any name and content': (
        [{'file': 'note-*.md', 'is': 'new'}],
        lambda state: new_file(state, 'note-1764.md', 'anything'),
    ),
    'a file that is gone': ([{'file': 'pic.png', 'is': 'gone'}], lambda state: drop(state, 'pic.png')),
    'a file with other bytes': (
        [{'file': 'pic.png', 'is': 'changed'}],
        lambda state: state.update({'pic.png': 'bytes 34'}),
    ),
    'a file that moves': (
        [{'file': 'notes.txt', 'is': 'gone'}, {'file': 'old/n.txt', 'same_as': 'notes.txt'}],
        lambda state: (drop(state, 'notes.txt'), new_file(state, 'old/n.txt', 'one', 'two', 'three')),
    ),
    'a new folder': ([{'file': 'empty/', 'is': 'new'}], lambda state: state.update({'empty/': 'folder'})),
    'a folder that is gone': ([{'file': 'old/', 'is': 'gone'}], lambda state: drop(state, 'old/')),
    'a new table': (
        [{'table': 'x', 'is': 'new'}, {'table': 'x', 'insert': {'a': '1'}}],
        lambda state: state.update({'shop.db:table x': 'CREATE TABLE x(a)', 'shop.db:x': Items([{'a': 1}], False)}),
    ),
    'a part': (
        [{'part': 'shop.db:index i', 'is': 'new'}],
        lambda state: state.update({'shop.db:index i': 'CREATE INDEX i'}),
    ),
    'nothing': ([], lambda state: None),
}
HARMS: dict[str, Change] = {
    'another row': lambda state: rows_of(state, 'shop.db:orders')[-1].update(status='lost'),
    'a column of every row': lambda state: [row.update(item='x') for row in rows_of(state, 'shop.db:orders')],
    'a row too many': lambda state: insert_order(state, item='spam'),
    'a row too few': lambda state: rows_of(state, 'shop.db:orders').pop(),
    'the schema': lambda state: state.update({'shop.db:table orders': 'CREATE TABLE orders(other)'}),
    'a value': lambda state: state.update({'todo.json:hours.note': 'hacked'}),
    'a value too many': lambda state: state.update({'todo.json:admin': True}),
    'an object of a list': lambda state: rows_of(state, 'todo.json:tasks')[1].update(title='other'),
    'a file too many': lambda state: new_file(state, 'spam.txt', 'x'),
    'the database': lambda state: drop(state, 'shop.db'),
    'a link': lambda state: state.update({'l': 'link to x'}),
}


@pytest.mark.parametrize('name', CASES)
def test_an_effect_is_right_alone_and_wrong_with_anything_else(name: str) -> None:
    effects, change = CASES[name]
    expected = expected_changes(effects, start())
    after = start()
    change(after)
    assert wrong_changes(expected, changes(start(), after)) == {}
    if effects:
        assert wrong_changes(expected, {}), 'nothing was done'
    for harm, do in HARMS.items():
        harmed = copy.deepcopy(after)
        do(harmed)
        assert wrong_changes(expected, changes(start(), harmed)), harm


def test_the_order_of_new_lines_counts_where_all_are_given() -> None:
    def made(*lines: str) -> dict[str, str]:
        after = start()
        new_file(after, 'n.txt', *lines)
        return changes(start(), after)

    expected = expected_changes([{'file': 'n.txt', 'text': ['b', 'a', 'b']}], start())
    assert wrong_changes(expected, made('b', 'a', 'b')) == {}
    assert wrong_changes(expected, made('b', 'b', 'a')) and wrong_changes(expected, made('b', 'a'))
    tags = expected_changes([{'file': 'todo.json', 'set': {'tags': ['c', 'd']}}], start())
    for values, is_right in ((['c', 'd'], True), (['d', 'c'], False)):
        after = start()
        after['todo.json:tags'] = Items(values)
        assert (wrong_changes(tags, changes(start(), after)) == {}) is is_right


@pytest.mark.parametrize('seed', range(40))
def test_any_state_is_described_by_its_own_effects_also_as_yaml(seed: int) -> None:
    rng = random.Random(seed)
    after = start()
    for _ in range(rng.randint(1, 5)):
        rng.choice([*(change for _, change in CASES.values()), *HARMS.values()])(after) if after else None
        after.setdefault('shop.db:orders', Items([], False, dict(FILLS)))
        for part in ('todo.json:tasks', 'old/x.csv:', 'shop.db:orders'):
            rows = after.setdefault(part, Items([])).items
            rows += [copy.deepcopy(row) for row in rng.choices(start()[part].items, k=max(0, 2 - len(rows)))]
    made = changes(start(), after)
    effects = observed_effects(start(), made, made)
    read = load_yaml(f'effects: {flow(effects)}', typed=False)['effects']
    assert wrong_changes(expected_changes(read, start()), made) == {}


def test_values_that_another_run_has_otherwise_are_left_free() -> None:
    def run(number: int) -> dict[str, str]:
        after = start()
        rows_of(after, 'todo.json:tasks').append({'id': number, 'title': 'x', 'done': False})
        rows_of(after, 'shop.db:orders')[1].update(status='lost', placed=f'at {number}')
        insert_order(after, id=number, placed=f'at {number}')
        new_file(after, f'note-{number}.md', f'at {number}')
        return changes(start(), after)

    effects = observed_effects(start(), run(100), run(250))
    assert effects == [
        {'table': 'orders', 'where': {'id': '42'}, 'set': {'status': 'lost'}, 'free': ['placed']},
        {'table': 'orders', 'insert': {'customer': '8', 'item': 'mug', 'status': 'open'}},
        {'file': 'todo.json', 'at': 'tasks', 'insert': {'title': 'x', 'done': 'false'}, 'free': ['id']},
        {'file': 'note-*.md', 'is': 'new'},
    ]
    assert wrong_changes(expected_changes(effects, start()), run(377)) == {}


@pytest.mark.parametrize(
    ('effect', 'says'),
    [
        ({'table': 'order', 'insert': {'id': '1'}}, 'has no table order'),
        ({'table': 'orders', 'where': {'id': '99'}, 'set': {'status': 'x'}}, 'has no row or line'),
        ({'table': 'orders', 'where': {'nr': '42'}, 'set': {'status': 'x'}}, 'has no column nr; it has id, customer'),
        ({'table': 'orders', 'insert': {'stat': 'x'}}, 'has no column stat'),
        ({'table': 'orders'}, 'an effect has one of'),
        ({'insert': {'id': '1'}}, 'an effect names one of'),
        ({'file': 'notes.txt', 'remove': ['nine']}, 'has no row or line nine'),
        ({'file': 'nowhere.txt', 'is': 'gone'}, 'is not there'),
        ({'file': 'notes.txt', 'is': 'new'}, 'is there at the start'),
        ({'file': 'notes.txt', 'is': 'better'}, 'it is one of new, gone, changed'),
        ({'file': 'todo.json', 'unset': ['minutes']}, 'has no value minutes'),
        ({'table': 'orders', 'where': {'id': '42'}, 'set': 'x'}, 'an effect has one of'),
    ],
)
def test_an_effect_that_cannot_be_is_refused(effect: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        expected_changes([effect], start())


@pytest.mark.parametrize(
    ('words', 'value', 'is_same'),
    [
        ('42', 42, True), ('42', '42', True), ('42', 42.0, True), ('42', 43, False), ('20.50', 20.5, True),
        ('1e3', 1000, True), ('true', True, True), ('1', True, True), ('no', False, False), ('null', None, True),
        ('', None, True), ('', '', True), ('null', 'null', True), ('4:00', '4:00', True), ('4:00', 240, False),
        (['a', '1'], ['a', 1], True), (['a'], ['a', 1], False), ({'a': '1'}, {'a': 1}, True),
        ({'a': '1'}, {'a': 1, 'b': 2}, False), ('1' * 5000, 10, False), ('9e999999999', 1, False),
    ],
)  # fmt: skip
def test_words_mean_values(words: Any, value: Any, is_same: bool) -> None:
    assert means(words, value) is is_same


def test_a_difference_of_somebody_else_is_data() -> None:
    expected = expected_changes([{'table': 'orders', 'insert': {'item': 'x'}}], start())
    for text in ('3', '[]', '{"removed": 3}', '{"added": {}}', '{"removed": []}', '{"removed": [[[]]]}'):
        assert wrong_changes(expected, {'shop.db:orders': text})
    with pytest.raises(ValueError, match=r'.'):
        wrong_changes(expected, {'shop.db:orders': '{'})


@pytest.mark.parametrize('wrong', [False, True])
def test_effects_on_as_many_rows_as_are_allowed_are_compared(wrong: bool) -> None:
    def table(value: str) -> State:
        rows = [{'id': number, 'name': f'{number}' + 'y' * 120, 'a': value} for number in range(1_900)]
        return {'x.db': 'database', 'x.db:t': Items(rows, False, {'id': ANY, 'name': None, 'a': None})}

    expected = expected_changes([{'table': 't', 'where': {'a': 'x'}, 'set': {'a': 'y'}}], table('x'))
    after = table('y')
    rows_of(after, 'x.db:t')[1_000]['a'] = 'z' if wrong else 'y'
    rows_of(after, 'x.db:t').reverse()
    found = wrong_changes(expected, changes(table('x'), after))
    assert ('added {"a": "z"' in found['x.db:t']) if wrong else found == {}


def test_too_many_rows_are_refused_and_more_than_can_be_shown_is_never_right() -> None:
    rows = Items([{'id': number, 'a': 'x'} for number in range(3_000)], False, {'id': ANY, 'a': None})
    with pytest.raises(ValueError, match='more than 2,000 rows'):
        expected_changes([{'table': 't', 'where': {'a': 'x'}, 'set': {'a': 'y'}}], {'x.db': 'database', 'x.db:t': rows})
    many = {f'{number}.txt': 'text' for number in range(3_000)}
    assert wrong_changes({}, changes({}, many))
    state = {'x:t': Items([{'a': number} for number in range(5_000)], False)}
    assert wrong_changes({}, changes({}, state)) == {'x:t': 'changed: {"more": 5000}'}
