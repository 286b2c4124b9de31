"""State by meaning: rows, values, lines and commits, whatever their bytes are; and nothing that is read runs."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import subprocess
import zipfile
import zlib
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from opencompass_tooleval.extras.tasks import git_data, state
from opencompass_tooleval.extras.tasks.differences import changes
from opencompass_tooleval.extras.tasks.effects import effects_gold
from opencompass_tooleval.extras.tasks.gold import gold_lines, make_gold, wrong_state
from opencompass_tooleval.extras.tasks.leaves import Given
from opencompass_tooleval.extras.tasks.state import Items, read_state
from tests.extras.tasks.published_servers import write_workbook
from tests.extras.tasks.shop import write_fixture


def items(folder: Path, part: str) -> Any:
    found = read_state(folder)[part]
    assert isinstance(found, Items)
    return found.items


def git(folder: Path, *arguments: str) -> None:
    environment = {**os.environ, 'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_CONFIG_SYSTEM': '/dev/null'}
    who = ('-c', 'user.name=a', '-c', 'user.email=a@example.org')
    subprocess.run(('git', *who, *arguments), cwd=folder, check=True, capture_output=True, env=environment)


def commit(folder: Path, message: str, text: str, file: str = 'a.txt') -> None:
    (folder / file).write_text(text)
    git(folder, 'add', '.')
    git(folder, 'commit', '-qm', message)


def git_folder(repo: Path, reference: str = '') -> Path:
    """The folder of git; writes a reference."""
    if reference:
        (repo / '.git' / 'refs' / 'heads' / 'main').write_text(reference)
    return repo / '.git'


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / 'repo'
    folder.mkdir()
    git(folder, 'init', '-q', '-b', 'main')
    return folder


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return write_fixture(tmp_path / 'shop')


def test_rows_that_are_still_in_the_log_are_read_and_nothing_is_written(shop: Path) -> None:
    before = read_state(shop)
    database = sqlite3.connect(shop / 'shop.db')
    database.execute('PRAGMA journal_mode=WAL')
    database.execute('PRAGMA wal_autocheckpoint=0')
    database.execute("UPDATE orders SET status='lost' WHERE id=44")
    database.commit()
    files = {path.name: path.read_bytes() for path in shop.iterdir() if path.name != 'shop.db-shm'}
    assert 'shop.db-wal' in files
    made = changes(before, read_state(shop))
    assert {path.name: path.read_bytes() for path in shop.iterdir() if path.name != 'shop.db-shm'} == files
    database.close()
    assert list(made) == ['shop.db:orders']
    entry = json.loads(made['shop.db:orders'])
    assert [row['status'] for row in (*entry['removed'], *entry['added'])] == ['open', 'lost']


def test_bytes_that_mean_the_same_are_no_difference(shop: Path) -> None:
    (shop / 'prices.json').write_text('{"lamp": 20.0, "more": [{"pen": 2e0}]}')
    (shop / 'prices.jsonl').write_text('{"lamp": 20.0}\n')
    before = read_state(shop)
    with closing(sqlite3.connect(shop / 'shop.db')) as database:
        database.execute('DELETE FROM orders WHERE id=41')
        database.execute("INSERT INTO orders VALUES (41, 7, 'lamp', 'returned', 20.5, '2026-01-01')")
        database.commit()
        database.execute('VACUUM')
    (shop / 'prices.json').write_text('{"lamp": 20, "more": [{"pen": 2}]}')
    (shop / 'prices.jsonl').write_text('{"lamp":20}')
    notes = json.loads((shop / 'notes.json').read_text())
    (shop / 'notes.json').write_text(json.dumps(dict(reversed(notes.items())), indent=4))
    (shop / 'terms.txt').write_bytes(b'one\r\ntwo\r\nthree')
    assert changes(before, read_state(shop)) == {}


@pytest.mark.parametrize(
    ('sql', 'part'),
    [
        ('CREATE TABLE spam(x)', 'shop.db:table spam'),
        ('CREATE INDEX i ON orders(item)', 'shop.db:index i'),
        ("CREATE TRIGGER t AFTER INSERT ON orders BEGIN SELECT load_extension('x'); END", 'shop.db:trigger t'),
        ('DROP TABLE customers', 'shop.db:table customers'),
        ("CREATE VIEW v AS SELECT load_extension('x') AS a", 'shop.db:view v'),
    ],
)
def test_the_schema_is_state(shop: Path, sql: str, part: str) -> None:
    before = read_state(shop)
    with closing(sqlite3.connect(shop / 'shop.db')) as database:
        database.execute(sql)
    assert part in changes(before, read_state(shop))


def test_values_of_each_format_and_names_that_look_like_parts(shop: Path) -> None:
    before = read_state(shop)
    for name, text in {
        'a.csv': 'id,name\n1,x\n',
        'b.yaml': 'server: {port: 80, debug: no}\n',
        'c.jsonl': '{"a": 1}\n{"a": 2}\n',
        'd.json': '{broken',
        'e.bin': '\0\1',
        'terms.txt:': 'x',
        'flat.json': '{"a.b": 1}',
        'deep.json': '{"a": {"b": 1}}',
    }.items():
        (shop / name).write_text(text)
    (shop / 'empty').mkdir()
    state = read_state(shop)
    assert items(shop, 'a.csv:') == [{'id': '1', 'name': 'x'}]
    assert (state['b.yaml:server.port'], state['b.yaml:server.debug']) == (80, 'no')
    assert items(shop, 'c.jsonl:') == [{'a': 1}, {'a': 2}]
    assert state['d.json'] == 'text' and state['e.bin'].startswith('bytes ') and state['empty/'] == 'folder'
    assert items(shop, 'notes.json:notes') == [{'id': 1, 'text': 'buy tea'}] and state['notes.json:open'] is True
    assert 'terms.txt%3A' in state and state['terms.txt:'] == before['terms.txt:']
    assert state['flat.json:a\\.b'] == state['deep.json:a.b'] == 1


def test_ignored_files_tables_and_columns(shop: Path) -> None:
    state = read_state(shop, ['*.txt', 'shop.db:customers', 'shop.db:orders.placed', 'notes.json:hours'])
    assert 'terms.txt' not in state and 'shop.db:customers' not in state and 'notes.json:hours' not in state
    assert 'placed' not in state['shop.db:orders'].items[0] and 'placed' not in state['shop.db:orders'].fills


def test_an_order_that_counts(shop: Path) -> None:
    before = read_state(shop)
    (shop / 'terms.txt').write_text('two\none\nthree\n')
    assert json.loads(changes(before, read_state(shop))['terms.txt:'])['moved'] is True


@pytest.mark.parametrize('move', [False, True])
def test_an_edit_of_a_long_text_is_right_and_another_order_is_not(shop: Path, move: bool) -> None:
    lines = [f'line {number % 14_000}' for number in range(20_000)]
    (shop / 'long.txt').write_text('\n'.join(lines))
    before = read_state(shop)
    lines[5], lines[19_000] = 'other', 'last'
    (shop / 'long.txt').write_text('\n'.join(lines[10:] + lines[:10] if move else lines))
    effects = [{'file': 'long.txt', 'remove': ['line 5', 'line 5000'], 'add': ['other', 'last']}]
    wrong = wrong_state([effects_gold(effects, before)], changes(before, read_state(shop)))
    assert wrong == ({'long.txt:': 'in another place or order'} if move else {})


def test_git_is_read_as_data(repo: Path) -> None:
    (repo / 'sub').mkdir()
    (repo / 'sub' / 'b.txt').write_text('b\n')
    for number in range(5):  # of which a pack has differences
        commit(repo, f'commit {number}', ''.join(f'line {line}\n' for line in range(500)) + f'end {number}\n')
    git(repo, 'tag', '-a', 'v1', '-m', 'one')
    git(repo, 'branch', 'dev')
    before = read_state(repo)
    assert [commit['message'] for commit in items(repo, '.git:branch main')] == [f'commit {n}' for n in range(5)]
    assert list(items(repo, '.git:branch main')[0]['files']) == ['a.txt', 'sub/b.txt']
    assert list(items(repo, '.git:branch main')[1]['files']) == ['a.txt']
    assert before['.git:HEAD'] == 'main' and items(repo, '.git:staged') == []
    git(repo, 'gc', '-q', '--prune=now')
    assert not list((repo / '.git' / 'objects').glob('??'))
    assert changes(before, read_state(repo)) == {}
    (repo / 'sub' / 'b.txt').write_text('c\n')
    git(repo, 'add', '.')
    git(repo, 'checkout', '-q', 'dev')
    made = changes(before, read_state(repo))
    assert set(made) == {'sub/b.txt:', '.git:staged', '.git:HEAD'}
    git(repo, 'commit', '-qm', 'on dev')
    git(repo, 'checkout', '-q', 'main')
    git(repo, 'merge', '-q', '--no-ff', '-m', 'merged', 'dev')
    assert items(repo, '.git:branch main')[-1]['merges'] == ['on dev']


def test_what_git_did_is_gold(repo: Path) -> None:
    commit(repo, 'first', 'a\n')
    before = read_state(repo)
    git(repo, 'branch', 'dev')
    commit(repo, 'second: b', 'b\n')
    (repo / 'c.txt').write_text('c\n')
    git(repo, 'add', '.')
    made = changes(before, read_state(repo))
    gold = make_gold(before, made, made, Given.of('Commit b.', [], datetime.now().astimezone()))
    blob = hashlib.sha1(b'blob 2\0b\n').hexdigest()[:10]
    lines = list(gold_lines(gold))
    assert f'.git:branch main: new: {{"files": {{"a.txt": "{blob}"}}, "message": "second: b"}}' in lines
    assert wrong_state([gold], made) == {}
    git(repo, 'tag', 'v1')
    assert list(wrong_state([gold], changes(before, read_state(repo)))) == ['.git:tag v1']


def test_a_repository_of_an_agent_runs_nothing(repo: Path, tmp_path: Path) -> None:
    before = read_state(repo)
    (repo / '.git' / 'config').write_text(f'[core]\n\tfsmonitor = touch {tmp_path}/ran\n')
    (repo / '.git' / 'hooks').mkdir(exist_ok=True)
    (repo / '.git' / 'hooks' / 'post-index-change').write_text(f'#!/bin/sh\ntouch {tmp_path}/ran\n')
    made = changes(before, read_state(repo))
    assert not (tmp_path / 'ran').exists()
    assert '.git/config:' in made and '.git/hooks/post-index-change' in made


@pytest.mark.parametrize(
    'damage',
    [
        lambda folder: (folder / 'shop.db').write_bytes(b'SQLite format 3\0' + b'x' * 5000),
        lambda folder: (folder / '.git' / 'HEAD').write_text('ref: refs/heads/main'),
        lambda folder: (folder / '.git' / 'index').write_bytes(b'DIRC\0\0\0\2\xff\xff\xff\xff'),
    ],
)
def test_what_is_damaged_raises_one_kind_of_error(shop: Path, damage: Any) -> None:
    (shop / '.git' / 'objects').mkdir(parents=True)
    (shop / '.git' / 'refs' / 'heads').mkdir(parents=True)
    (shop / '.git' / 'refs' / 'heads' / 'main').write_text('0' * 40)
    (shop / '.git' / 'HEAD').write_text('ref: refs/heads/other')
    damage(shop)
    with pytest.raises(ValueError, match='cannot be read'):
        read_state(shop)


def test_cells_of_a_workbook(tmp_path: Path) -> None:
    cells = (
        '<c r="A1" t="s"><v>0</v></c><c r="B1"><v>2.50</v></c><c r="C1"><f>SUM(B1:B1)</f><v>2.5</v></c>'
        '<c r="D1" s="3"/><c r="E1" t="inlineStr"><is><t>in</t></is></c>'
    )
    write_workbook(tmp_path / 'book.xlsx', {'Q1': cells}, '<sst><si><t>to</t><t>tal</t></si></sst>')
    assert items(tmp_path, 'book.xlsx:Q1') == [
        {'cell': 'A1', 'value': 'total'},
        {'cell': 'B1', 'value': 2.5},
        {'cell': 'C1', 'formula': 'SUM(B1:B1)'},
        {'cell': 'E1', 'value': 'in'},
    ]


def test_sheets_that_name_one_part_count_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = ''.join(f'<c r="A{number}"><v>1</v></c>' for number in range(200))
    write_workbook(tmp_path / 'book.xlsx', {'Q1': cells, 'Q2': cells})
    assert len(items(tmp_path, 'book.xlsx:Q2')) == 200
    monkeypatch.setattr(state, '_MAX_SHEETS', 2 * len(cells) - 100)
    with pytest.raises(ValueError, match='have more than 0 MB'):
        read_state(tmp_path)


@pytest.mark.parametrize(
    ('value', 'says'),
    [
        ('hex(zeroblob(20000000))', 'cannot be read: string or blob too big'),
        ('hex(zeroblob(9000))', '0 MB'),
    ],
)
def test_a_column_that_is_computed_fills_no_memory(
    value: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(tmp_path / 'a.db')) as database:
        database.execute(f'CREATE TABLE t(id INTEGER PRIMARY KEY, big TEXT GENERATED ALWAYS AS ({value}))')
        database.executemany('INSERT INTO t VALUES (?)', [(number,) for number in range(100)])
        database.commit()
    monkeypatch.setattr(state, '_MAX_VALUES', 500_000)
    with pytest.raises(ValueError, match=says):
        read_state(tmp_path)


def test_a_hostile_workbook(tmp_path: Path) -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><sst><si><t>&b;</t></si></sst>'
    write_workbook(tmp_path / 'book.xlsx', {'Q1': ''}, bomb)
    with pytest.raises(ValueError, match='defines entities'):
        read_state(tmp_path)


@pytest.mark.parametrize(
    ('reference', 'has_object', 'says'),
    [
        ('0' * 40, True, 'is corrupt'),
        ('0' * 40, False, 'bad object|bad revision|unknown revision'),
        ('--output=spam', False, 'one that is not a digest'),
        ('../outside', False, 'one that is not a digest'),
    ],
)
def test_a_reference_that_an_agent_wrote_reads_no_file_and_ends(
    repo: Path, reference: str, has_object: bool, says: str
) -> None:
    place = git_folder(repo, reference) / 'objects' / '00'
    place.mkdir()
    if has_object:
        (place / ('0' * 38)).write_bytes(zlib.compress(b'commit 5\0hello'))
    with pytest.raises(ValueError, match=f'the repository cannot be read .*(?:{says})'):
        read_state(repo)


def test_an_object_that_never_ends_ends(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = git_folder(repo, '0' * 40) / 'objects' / '00'
    place.mkdir()
    os.mkfifo(place / ('0' * 38))
    monkeypatch.setattr(git_data, '_SECONDS', 0.5)
    with pytest.raises(ValueError, match='the repository cannot be read'):
        read_state(repo)


def test_objects_of_another_repository_are_refused(repo: Path) -> None:
    (git_folder(repo) / 'objects' / 'info' / 'alternates').write_text('/elsewhere/objects\n')
    with pytest.raises(ValueError, match='objects of another repository'):
        read_state(repo)


@pytest.mark.parametrize('name', ['objects/x', 'refs/heads/x', 'index.lock'])
@pytest.mark.parametrize('is_pipe', [False, True])
def test_a_repository_with_a_link_or_a_pipe_is_refused(repo: Path, name: str, is_pipe: bool) -> None:
    file = repo / '.git' / name
    os.mkfifo(file) if is_pipe else file.symlink_to('/etc/passwd')
    with pytest.raises(ValueError, match=r'it has a link or a pipe: \S+x|index\.lock'):
        read_state(repo)


def test_many_references_share_their_commits(repo: Path) -> None:
    for number in range(20):
        git(repo, 'commit', '-q', '--allow-empty', '-m', f'commit {number}')
    head = (repo / '.git' / 'refs' / 'heads' / 'main').read_text()
    for number in range(500):
        (repo / '.git' / 'refs' / 'tags' / f'v{number}').write_text(head)
    state = read_state(repo)
    assert len(state['.git:tag v7'].items) == 20 and sum(part.startswith('.git:tag') for part in state) == 500


def test_a_shallow_clone_is_a_repository(repo: Path, tmp_path: Path) -> None:
    for number in range(3):
        git(repo, 'commit', '-q', '--allow-empty', '-m', f'commit {number}')
    git(tmp_path, 'clone', '-q', '--depth', '1', f'file://{repo}', 'clone')
    assert [one['message'] for one in items(tmp_path / 'clone', '.git:branch main')] == ['commit 2']


@pytest.mark.parametrize(
    'name',
    ['terms.txt-wal', 'x-wal', '.git', '.git/x', 'sub/.git/a/b'],
)
def test_only_what_belongs_to_a_database_or_a_repository_is_left_out(shop: Path, name: str) -> None:
    before = read_state(shop)
    (shop / name).parent.mkdir(parents=True, exist_ok=True)
    (shop / name).write_text('spam')
    assert name in changes(before, read_state(shop))


def test_columns_stay_where_they_are_beside_a_generated_one(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / 'a.db')) as database:
        database.execute('CREATE TABLE t(id INTEGER PRIMARY KEY, a INT, b INT GENERATED ALWAYS AS (a * 2), c TEXT)')
        database.execute("INSERT INTO t(a, c) VALUES (1, 'x')")
        database.commit()
        before = read_state(tmp_path)
        assert items(tmp_path, 'a.db:t') == [{'id': 1, 'a': 1, 'b': 2, 'c': 'x'}]
        database.execute("UPDATE t SET c='y'")
        database.commit()
    assert list(changes(before, read_state(tmp_path))) == ['a.db:t']


def test_a_damaged_workbook_is_read_by_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / 'a.xlsx'
    with zipfile.ZipFile(file, 'w', zipfile.ZIP_DEFLATED) as archive:
        archive.writestr('xl/workbook.xml', '<workbook>' + 'x' * 4000 + '</workbook>')
    content = bytearray(file.read_bytes())
    content[45:60] = b'\xff' * 15
    file.write_bytes(content)
    before = read_state(tmp_path)
    file.write_bytes(bytes(content) + b'more')
    assert list(changes(before, read_state(tmp_path))) == ['a.xlsx']
