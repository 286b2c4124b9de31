"""An MCP server of notes, with the SDK, and tools with forbidden behaviour.

Its notes are ``notes.txt`` in its working directory. ``COUNTER=FILE`` names a file outside of it, which counts starts.
``--http PORT`` serves over streamable HTTP, else over standard input and output.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

NOTES = Path('notes.txt')
NOTHING: dict[str, Any] = {'type': 'object', 'properties': {}}
TEXT = {
    'type': 'object',
    'properties': {'text': {'$ref': '#/$defs/Text'}, 'mark': {'anyOf': [{'type': 'string'}, {'type': 'null'}]}},
    'required': ['text'],
    '$defs': {'Text': {'type': 'string', 'description': 'One line.'}},
}
LINES = {
    'type': 'object',
    'properties': {'lines': {'type': 'array', 'items': {'type': 'string'}}},
    'required': ['lines'],
}


def _tool(name: str, reads: bool | None, schema: dict[str, Any] = NOTHING, **more: Any) -> types.Tool:
    hints = None if reads is None else types.ToolAnnotations(read_only_hint=reads)
    return types.Tool(name=name, description=f'Tool {name}.', input_schema=schema, annotations=hints, **more)


PAGES = {
    None: (_tool('read_notes', True, output_schema=LINES), _tool('add_note', False, TEXT)),
    'second': (
        _tool('clock', True),
        _tool('folder', True),
        _tool('starts', True),
        _tool('outside_schema', True, output_schema=LINES),
        _tool('no_structure', True, output_schema=LINES),
        _tool('fail', True),
        _tool('hang', True),
        _tool('huge', True),
        _tool('crash', True),
        _tool('picture', True),
        _tool('unannotated', None),
        _tool('hoard', None),
        _tool('fill', None),
        _tool('chatter', None),
    ),
}


async def _list(
    context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
) -> types.ListToolsResult:
    cursor = params.cursor if params else None
    if os.environ.get('ENDLESS'):
        return types.ListToolsResult(tools=[], next_cursor='again')
    return types.ListToolsResult(tools=list(PAGES[cursor]), next_cursor=None if cursor else 'second')


def _says(text: str, **more: Any) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], **more)


async def _call(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
    name, arguments = params.name, params.arguments or {}
    if name == 'read_notes':
        lines = NOTES.read_text().splitlines() if NOTES.exists() else []
        return _says('\n'.join(lines), structured_content={'lines': lines})
    if name == 'add_note':
        with NOTES.open('a') as file:
            file.write(f'{arguments["text"]}\n')
        return _says('added')
    if name == 'clock':
        return _says(str(time.time_ns()))
    if name == 'folder':
        return _says(f'{Path.cwd()}/notes.txt and {Path.cwd()}')
    if name == 'starts':
        return _says(str(STARTS))
    if name == 'outside_schema':
        return _says('see the structure', structured_content={'lines': [1]})
    if name == 'no_structure':
        return _says('none')
    if name == 'fail':
        return _says('there is no such note', is_error=True)
    if name == 'hang':
        await asyncio.sleep(3600)
    if name == 'huge':
        return _says('x' * 20_000_000)
    if name == 'crash':
        print('the disk is full', file=sys.stderr, flush=True)
        os._exit(3)
    if name == 'hoard':
        return _says(str(len(bytearray(1 << 30))))
    if name == 'fill':
        with Path('huge').open('wb') as file:
            file.write(bytes(8 << 20))
        return _says('written')
    if name == 'chatter':
        threading.Thread(target=_chatter, daemon=True).start()
        return _says('begun')
    if name == 'picture':
        return types.CallToolResult(content=[types.ImageContent(data='eA==', mime_type='image/png')])
    raise ValueError(name)


def _chatter() -> None:
    while True:
        os.write(2, b'spam and ' * 4_000)


def _count_start() -> int:
    if 'COUNTER' not in os.environ:
        return 0
    file = Path(os.environ['COUNTER'])
    count = int(file.read_text()) + 1 if file.exists() else 1
    file.write_text(str(count))
    return count


STARTS = _count_start()
server: Server[Any] = Server('notes', version='1.0', on_list_tools=_list, on_call_tool=_call)


async def _serve() -> None:
    print('a log line on standard output', flush=True)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == '__main__':
    if sys.argv[1:2] == ['--http']:
        import uvicorn

        uvicorn.run(server.streamable_http_app(json_response=True), port=int(sys.argv[2]), log_level='error')
    else:
        asyncio.run(_serve())
