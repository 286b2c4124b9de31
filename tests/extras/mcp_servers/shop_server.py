"""An MCP server of a shop, on files in its working directory, that speaks as the notes server does.

An argument makes it misbehave: ``keeps FILE`` counts calls of ``add_note`` in a file outside, ``clock`` writes the time
of its start, ``measures`` keeps the length of a note in place of the note.
"""

import json
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import notes_server


def _schema(**types: str) -> dict[str, Any]:
    properties = {name: {'type': kind} for name, kind in types.items()}
    return {'type': 'object', 'properties': properties, 'required': list(types)}


TOOLS = [
    {'name': 'find', 'inputSchema': _schema(sql='string'), 'annotations': {'readOnlyHint': True}},
    {'name': 'change', 'inputSchema': _schema(sql='string')},
    {'name': 'add_note', 'inputSchema': _schema(text='string')},
    {'name': 'write', 'inputSchema': _schema(path='string', text='string')},
    {'name': 'set_open', 'inputSchema': _schema(hours='integer', is_open='boolean')},
]


def call(name: str, arguments: dict[str, Any]) -> str:
    """Carries out a call."""
    if name in ('find', 'change'):
        with closing(sqlite3.connect('shop.db')) as database:
            database.execute('PRAGMA journal_mode=WAL')
            rows = database.execute(arguments['sql']).fetchall()
            database.commit()
        return json.dumps(rows)
    if name == 'add_note':
        notes = json.loads(Path('notes.json').read_text())
        text = arguments['text']
        is_measured = sys.argv[1:2] == ['measures']
        notes['notes'].append({'id': 700 + len(text)} if is_measured else {'id': time.time_ns(), 'text': text})
        Path('notes.json').write_text(json.dumps(notes))
        if sys.argv[1:2] == ['keeps']:
            with Path(sys.argv[2]).open('a') as file:
                file.write('.')
            return f'note {Path(sys.argv[2]).stat().st_size}'
        return 'added'
    if name == 'set_open':
        notes = json.loads(Path('notes.json').read_text())
        Path('notes.json').write_text(json.dumps({**notes, 'hours': arguments['hours'], 'open': arguments['is_open']}))
        return 'set'
    path = Path(arguments['path'])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(arguments['text'])
    return 'written'


def call_tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        text, is_error = call(name, arguments), False
    except Exception as error:
        text, is_error = f'{type(error).__name__}: {error}', True
    return {'content': [{'type': 'text', 'text': text}], 'isError': is_error}


if sys.argv[1:2] == ['clock']:
    Path('started.txt').write_text(str(time.time_ns()))
notes_server.PAGES = {None: TOOLS, 'second': []}
notes_server.call_tool = call_tool
notes_server.serve_stdio()
