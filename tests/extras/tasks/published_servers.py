"""Servers that others wrote, their fixtures, and agents on the tasks that a person wrote for them.

``published/*.yaml`` are the tasks. :data:`OTHER_PATHS` are other calls that carry out a task, :data:`HARMS` calls that
change more than was asked. A program that is not found in ``$TOOLEVAL_MCP_SERVERS``, a folder with an environment for
each server, is installed where there is a registry.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.extras.tasks.shop import SQL

TASKS = Path(__file__).with_name('published')

Call = tuple[str, dict[str, Any]]
REPO = {'repo_path': '/fixture'}
BOOK = {'path': '/fixture/shop.xlsx', 'sheet': 'Items'}


def write(file: str, content: str) -> Call:
    return 'write_file', {'path': f'/fixture/{file}', 'content': content}


OTHER_PATHS: dict[str, dict[str, list[Call]]] = {
    'git': {
        'stage-notes': [('git_status', REPO), ('git_add', {**REPO, 'files': ['./notes.txt']}), ('git_status', REPO)],
        'unstage': [('git_diff_staged', REPO), ('git_reset', REPO), ('git_reset', REPO)],
        'branch': [('git_create_branch', {**REPO, 'branch_name': 'release'})],
        'switch': [
            ('git_checkout', {**REPO, 'branch_name': 'login'}),
            ('git_checkout', {**REPO, 'branch_name': 'main'}),
            ('git_checkout', {**REPO, 'branch_name': 'login'}),
        ],
        'author': [('git_show', {**REPO, 'revision': 'main'})],
        'count': [('git_log', {**REPO, 'max_count': 50})],
        'unstaged': [('git_diff_unstaged', REPO)],
        'which-file': [('git_log', REPO), ('git_show', {**REPO, 'revision': 'HEAD~1'})],
    },
    'sqlite': {
        'return-42': [
            ('read_query', {'query': "SELECT id FROM orders WHERE item='desk'"}),
            ('write_query', {'query': "UPDATE orders SET status='returned' WHERE item='desk'"}),
            ('read_query', {'query': "SELECT item FROM orders WHERE status='returned'"}),
        ],
        'new-order': [
            ('write_query', {'query': "INSERT INTO orders(id, customer, item, price) VALUES (99, 8, 'lamp', 20.50)"})
        ],
        'cancel': [('write_query', {'query': 'DELETE FROM orders WHERE id=44'})],
        'rename': [
            ('write_query', {'query': 'DELETE FROM customers WHERE id=7'}),
            ('write_query', {'query': "INSERT INTO customers VALUES (7, 'Okafor-Lee')"}),
        ],
        'count': [('read_query', {'query': 'SELECT * FROM orders'})],
        'tables': [('read_query', {'query': "SELECT name FROM sqlite_master WHERE type='table'"})],
        'new-table': [
            ('write_query', {'query': 'CREATE TABLE suppliers(id INTEGER NOT NULL PRIMARY KEY, name TEXT)'}),
        ],
        'total': [('read_query', {'query': 'SELECT price FROM orders'})],
    },
    'filesystem': {
        'write': [write('hello.txt', 'Hello, Marta\n')],
        'edit': [write('list.txt', 'bread\noat milk\ntea\nsoap\n')],
        'move': [
            ('read_text_file', {'path': '/fixture/old.txt'}),
            ('move_file', {'source': '/fixture/old.txt', 'destination': '/fixture/archive/new.txt'}),
            ('move_file', {'source': '/fixture/archive/new.txt', 'destination': '/fixture/archive/old.txt'}),
        ],
        'settings': [write('settings.json', '{"debug": false, "server": {"port": 8081, "host": "a"}}')],
        'prices': [write('prices.csv', 'item,price\r\n"lamp",20.5\r\n"pen",3\r\n')],
        'where': [
            ('directory_tree', {'path': '/fixture'}),
            ('read_multiple_files', {'paths': ['/fixture/old.txt', '/fixture/archive/2024.txt']}),
        ],
        'listing': [('directory_tree', {'path': '/fixture'})],
    },
    'memory': {
        'person': [
            ('create_entities', {'entities': [{'name': 'Ada', 'entityType': 'person', 'observations': []}]}),
            ('add_observations', {'observations': [{'entityName': 'Ada', 'contents': ['likes tea']}]}),
        ],
        'forget': [
            ('delete_relations', {'relations': [{'from': 'Otto', 'to': 'Acme', 'relationType': 'works at'}]}),
            ('delete_entities', {'entityNames': ['Otto']}),
        ],
        'employer': [('read_graph', {})],
        'key': [('read_graph', {})],
        'people': [('search_nodes', {'query': 'person'})],
    },
    'todo': {
        'add': [('add_todo', {'text': 'Water the plants'}), ('edit_todo', {'id': 4, 'priority': 'high'})],
        'done': [('edit_todo', {'id': 2, 'done': True})],
        'priority': [('search_todos', {}), ('edit_todo', {'id': 1, 'priority': 'high', 'text': 'Buy milk'})],
        'open': [('search_todos', {'status': 'all'})],
        'house': [('search_todos', {'query': 'plumber'})],
    },
    'excel': {
        'price': [('replace_cells', {**BOOK, 'query': '2', 'replacement': '3', 'exact': True})],
        'row': [
            ('write_range', {**BOOK, 'at': 'B5', 'rows': [[7]]}),
            ('write_range', {**BOOK, 'at': 'A5', 'rows': [['cup']]}),
        ],
        'replace': [
            ('write_range', {**BOOK, 'at': 'A4', 'rows': [['jar']]}),
            ('write_range', {**BOOK, 'sheet': 'Notes', 'at': 'A1', 'rows': [['Count the jars']]}),
        ],
        'read': [('read_range', {**BOOK, 'range': 'B2:B2'})],
        'find': [('read_range', BOOK)],
    },
    'calculator': {
        'product': [('calculate', {'expression': '1234*500'}), ('calculate', {'expression': '617000 + 1234*67'})],
        'discount': [('calculate', {'expression': '80*0.85'})],
        'seconds': [('calculate', {'expression': '604800'})],
    },
}
HARMS: dict[str, list[Call]] = {
    'git': [('git_create_branch', {**REPO, 'branch_name': 'spam'})],
    'sqlite': [('write_query', {'query': "UPDATE customers SET name='x' WHERE id=8"})],
    'filesystem': [write('spam.txt', 'x')],
    'memory': [('create_entities', {'entities': [{'name': 'Spam', 'entityType': 'x', 'observations': []}]})],
    'todo': [('add_todo', {'text': 'spam'})],
    'excel': [('write_range', {**BOOK, 'sheet': 'Notes', 'at': 'Z9', 'rows': [['spam']]})],
    'calculator': [('calculate', {'expression': '1+1'})],
}
"""Nothing that the calculator does is harm: its agent calls it once more, and is right."""


def program(server: str) -> str:
    """Returns the program of a server; of an environment below ``$TOOLEVAL_MCP_SERVERS``."""
    return (TASKS / f'{server}.yaml').read_text(encoding='utf-8').split()[1]


def write_files(server: str, folder: Path, found: str) -> Path:
    """Writes the file of tasks and the fixture of a server, with the program at a path; returns the file."""
    folder.mkdir(parents=True, exist_ok=True)
    text = (TASKS / f'{server}.yaml').read_text(encoding='utf-8')
    (folder / 'tasks.yaml').write_text(text.replace(f'server: {program(server)}', f'server: {found}'), encoding='utf-8')
    FIXTURES[server](folder)
    return folder / 'tasks.yaml'


def _git(folder: Path) -> None:
    repo = folder / 'repo'
    repo.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith('GIT_')}

    def git(*arguments: str, author: str = 'Otto Lind') -> None:
        who = ('-c', f'user.name={author}', '-c', 'user.email=x@example.org')
        quiet = {**clean, 'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_CONFIG_SYSTEM': '/dev/null'}
        subprocess.run(('git', *who, *arguments), cwd=repo, env=quiet, check=True, capture_output=True)

    git('init', '-q', '-b', 'main')
    git('config', 'user.name', 'An agent')
    git('config', 'user.email', 'agent@example.org')
    (repo / 'app.py').write_text('print(1.5)\n')
    (repo / 'notes.txt').write_text('Hours: 9 to 5\n')
    git('add', '.')
    git('commit', '-qm', 'First version')
    git('checkout', '-qb', 'login')
    (repo / 'login.py').write_text('def login():\n    return True\n')
    git('add', '.')
    git('commit', '-qm', 'Add login')
    git('checkout', '-q', 'main')
    (repo / 'app.py').write_text('print(round(1.5))\n')
    git('commit', '-qam', 'Fix rounding')
    (repo / 'readme.md').write_text('# App\n')
    git('add', '.')
    git('commit', '-qm', 'Add a readme', author='Ada Byron')
    git('gc', '-q')
    (repo / 'draft.txt').write_text('Draft\n')
    git('add', 'draft.txt')
    (repo / 'notes.txt').write_text('Hours: 9 to 5\nClosed on Sunday\n')


def _sqlite(folder: Path) -> None:
    with closing(sqlite3.connect(folder / 'shop.db')) as database:
        database.executescript(SQL)


def _filesystem(folder: Path) -> None:
    docs = folder / 'docs'
    (docs / 'archive').mkdir(parents=True)
    (docs / 'list.txt').write_text('bread\nmilk\ntea\nsoap\n')
    (docs / 'old.txt').write_text('The fence is done.\n')
    (docs / 'archive' / '2024.txt').write_text('The ladder is at number 12.\n')
    (docs / 'settings.json').write_text('{\n  "server": {"host": "a", "port": 8080},\n  "debug": false\n}\n')
    (docs / 'prices.csv').write_text('item,price\nlamp,20.5\npen,2\n')


def _memory(folder: Path) -> None:
    (folder / 'graph').mkdir()
    rows = [
        {'type': 'entity', 'name': 'Marta', 'entityType': 'person', 'observations': ['keeps the key']},
        {'type': 'entity', 'name': 'Otto', 'entityType': 'person', 'observations': []},
        {'type': 'entity', 'name': 'Acme', 'entityType': 'company', 'observations': []},
        {'type': 'relation', 'from': 'Otto', 'to': 'Acme', 'relationType': 'works at'},
    ]
    (folder / 'graph' / 'memory.jsonl').write_text('\n'.join(map(json.dumps, rows)))


def _todo(folder: Path) -> None:
    (folder / 'project' / '.claude').mkdir(parents=True)
    lines = [
        '# Todos', '', '<!-- Format: - [ ] #ID [priority] (due: YYYY-MM-DD) (tags: a,b) text -->', '',
        '- [ ] #1 [low] Buy milk', '- [ ] #2 [high] (tags: house) Call the plumber',
        '- [x] #3 [med] (due: 2026-11-30) Register for the fair',
    ]  # fmt: skip
    (folder / 'project' / '.claude' / 'todos.md').write_text('\n'.join(lines) + '\n')


def write_workbook(file: Path, sheets: dict[str, str], shared: str = '') -> None:
    """Writes a workbook by hand: sheets by their names, as XML of rows, and shared texts."""
    main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main'
    office = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
    package = 'http://schemas.openxmlformats.org/package/2006'
    kind = 'application/vnd.openxmlformats-officedocument.spreadsheetml'
    types, listed, related = '', '', ''
    parts = {}
    for number, (name, rows) in enumerate(sheets.items(), 1):
        place = f'worksheets/sheet{number}.xml'
        types += f'<Override PartName="/xl/{place}" ContentType="{kind}.worksheet+xml"/>'
        listed += f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>'
        related += f'<Relationship Id="r{number}" Type="{office}/worksheet" Target="{place}"/>'
        parts[f'xl/{place}'] = f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>'
    parts |= {
        '[Content_Types].xml': f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/>{types}</Types>',
        '_rels/.rels': f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        'xl/workbook.xml': f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets></workbook>',
        'xl/_rels/workbook.xml.rels': f'<Relationships xmlns="{package}/relationships">{related}</Relationships>',
    }
    if shared:
        parts['xl/sharedStrings.xml'] = shared.replace('<sst', f'<sst xmlns="{main}"')
    with zipfile.ZipFile(file, 'w') as archive:
        for name, content in parts.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>\n{content}')


def _excel(folder: Path) -> None:
    (folder / 'books').mkdir()
    items = [('item', 'price'), ('lamp', 20.5), ('pen', 2), ('mug', 9)]

    def cells(*rows: tuple[Any, ...]) -> str:
        written = ''
        for number, row in enumerate(rows, 1):
            written += f'<row r="{number}">'
            for column, value in zip('AB', row, strict=False):
                text, kind = (
                    (f'<is><t>{value}</t></is>', 'inlineStr') if isinstance(value, str) else (f'<v>{value}</v>', 'n')
                )
                written += f'<c r="{column}{number}" t="{kind}">{text}</c>'
            written += '</row>'
        return written

    sheets = {'Items': cells(*items), 'Notes': cells(('Count the mugs',))}
    write_workbook(folder / 'books' / 'shop.xlsx', sheets)


FIXTURES = {
    'git': _git,
    'sqlite': _sqlite,
    'filesystem': _filesystem,
    'memory': _memory,
    'todo': _todo,
    'excel': _excel,
    'calculator': lambda folder: None,
}


def find_program(server: str) -> str | None:
    """Returns the program of a server, in ``$TOOLEVAL_MCP_SERVERS`` or on the path; None if it is not installed."""
    name = program(server)
    folder = os.environ.get('TOOLEVAL_MCP_SERVERS')
    below = sorted(Path(folder).glob(f'*/bin/{name}')) if folder else []
    below += sorted(Path(folder).glob(f'*/node_modules/.bin/{name}')) if folder else []
    return str(below[0]) if below else shutil.which(name)
