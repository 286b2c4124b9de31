"""Servers that others wrote, their fixtures, and agents on the tasks that a person wrote for them.

``published/*.yaml`` are the tasks. :data:`OTHER_PATHS` are other calls that carry out a task, :data:`HARMS` calls that
change more than was asked. A program that is not found in ``$TOOLEVAL_MCP_SERVERS``, a folder with an environment for
each server, is installed where there is a registry.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

TASKS = Path(__file__).with_name('published')

Call = tuple[str, dict[str, Any]]
REPO = {'repo_path': '/fixture'}


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
}
HARMS: dict[str, list[Call]] = {
    'git': [('git_create_branch', {**REPO, 'branch_name': 'spam'})],
    'filesystem': [write('spam.txt', 'x')],
    'memory': [('create_entities', {'entities': [{'name': 'Spam', 'entityType': 'x', 'observations': []}]})],
}


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


FIXTURES = {
    'git': _git,
    'filesystem': _filesystem,
    'memory': _memory,
}


def find_program(server: str) -> str | None:
    """Returns the program of a server, in ``$TOOLEVAL_MCP_SERVERS`` or on the path; None if it is not installed."""
    name = program(server)
    folder = os.environ.get('TOOLEVAL_MCP_SERVERS')
    below = sorted(Path(folder).glob(f'*/bin/{name}')) if folder else []
    below += sorted(Path(folder).glob(f'*/node_modules/.bin/{name}')) if folder else []
    return str(below[0]) if below else shutil.which(name)
