"""An MCP server of a library, which says of none of its tools that it only reads. Its state is ``books.json``.

Numbers of books are found by an author, shelves by a number, keepers by a shelf; nobody could guess them.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from tests.extras.mcp_servers import notes_server

BOOKS = Path('books.json')
PARAMETERS: dict[str, tuple[str, ...]] = {
    'list_authors': (),
    'find_books': ('author',),
    'open_book': ('isbn',),
    'shelf_keeper': ('shelf',),
    'lend_book': ('isbn', 'reader'),
    'opening_hours': ('day',),
    'now': (),
}


def start_state() -> dict[str, Any]:
    """The library: ten authors with two books each, and who keeps the shelves."""
    names = ('Butler', 'Lem', 'Dick', 'Delany', 'Russ', 'Banks', 'Cherryh', 'Egan', 'Wolfe', 'Strugatsky')
    books = [
        {
            'isbn': f'978-{place * 7919 % 9000 + 1000}',
            'title': f'{word} of {name}',
            'author': name,
            'shelf': f'S{20 + place % 5}',
        }
        for place, (name, word) in enumerate((name, word) for name in names for word in ('Dawn', 'Ruins'))
    ]
    keepers = dict(zip((f'S{20 + place}' for place in range(5)), ('Marta', 'Igor', 'Wen', 'Aino', 'Luis'), strict=True))
    return {'books': books, 'keepers': keepers, 'hours': {'Monday': '9:30 to 17:15', 'Friday': '10:45 to 14:20'}}


def call_tool(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a call; what does not exist is an error."""
    state = json.loads(BOOKS.read_text())
    books, value = state['books'], [arguments[one] for one in PARAMETERS[name]]
    found: Any
    if name == 'list_authors':
        found = sorted({book['author'] for book in books})
    elif name == 'find_books':
        found = [{'isbn': book['isbn'], 'title': book['title']} for book in books if book['author'] == value[0]]
    elif name == 'open_book':
        found = next((book for book in books if book['isbn'] == value[0]), None)
    elif name == 'shelf_keeper':
        found = {'keeper': state['keepers'].get(value[0])} if value[0] in state['keepers'] else None
    elif name == 'opening_hours':
        found = state['hours'].get(value[0])
    elif name == 'now':
        import time

        found = {'now': time.time_ns()}
    else:
        found = [book for book in books if book['isbn'] == value[0]]
        for book in found:
            book['reader'] = value[1]
        BOOKS.write_text(json.dumps(state))
        found = found and 'noted'
    if not found:
        return {'content': [{'type': 'text', 'text': f'there is no such thing: {value}'}], 'isError': True}
    return {'content': [{'type': 'text', 'text': found if isinstance(found, str) else json.dumps(found)}]}


def _tool(name: str) -> dict[str, Any]:
    properties = {one: {'type': 'string'} for one in PARAMETERS[name]}
    schema = {'type': 'object', 'properties': properties, 'required': list(properties)}
    return {'name': name, 'description': f'Tool {name}.', 'inputSchema': schema}


if __name__ == '__main__':
    notes_server.PAGES = {None: [_tool(name) for name in PARAMETERS], 'second': []}
    notes_server.call_tool = call_tool  # type: ignore[assignment]
    notes_server.serve_stdio()
