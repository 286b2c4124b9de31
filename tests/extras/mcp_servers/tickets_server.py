"""An MCP server of tickets that generates ids and times, as the notes server speaks; its argument is what it keeps.

``fields``: title, id and time, in ``tickets.json``. ``nothing``: id and time only. ``names``: a file for each ticket,
with its id as name. ``lines``: lines of text in ``tickets.txt``. ``crashes``: as ``fields``, and each second call
crashes. ``elsewhere``: as ``fields``, in the folder of the second argument, and no tool is said to only read.
"""

import json
import os
import sys
import uuid
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import notes_server

KEEPS = sys.argv[1]
if KEEPS == 'elsewhere':
    os.chdir(sys.argv[2])
TITLE = {'type': 'object', 'properties': {'title': {'type': 'string'}}, 'required': ['title']}
calls = 0


def _tool(name: str, reads: bool, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        'name': name,
        'description': f'Tool {name}.',
        'inputSchema': schema,
        'annotations': {'readOnlyHint': reads and KEEPS != 'elsewhere'},
    }


def _text(text: str) -> dict[str, Any]:
    return {'content': [{'type': 'text', 'text': text}]}


def call_tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    global calls
    calls += 1
    if KEEPS == 'crashes' and calls == 2:
        print('out of licences', file=sys.stderr, flush=True)
        os._exit(3)
    if name == 'list_tickets':
        return _text('\n'.join(file.read_text() for file in sorted(Path().iterdir())) or 'none')
    made, now = uuid.uuid4().hex, datetime.now(timezone.utc).isoformat()
    if KEEPS == 'names':
        Path(f'{made}.txt').write_text(arguments['title'])
    elif KEEPS == 'lines':
        with Path('tickets.txt').open('a') as lines:
            lines.write(f'{now} opened "{arguments["title"]}" as {made}\n')
    else:
        file = Path('tickets.json')
        kept = json.loads(file.read_text()) if file.exists() else []
        title = {} if KEEPS == 'nothing' else {'title': arguments['title']}
        file.write_text(json.dumps([*kept, {**title, 'id': made, 'created_at': now}]))
    return _text(f'opened {made} at {now}')


notes_server.PAGES = {
    None: [_tool('list_tickets', True, notes_server.NOTHING)],
    'second': [_tool('open_ticket', False, TITLE)],
}
notes_server.call_tool = call_tool
notes_server.serve_stdio()
