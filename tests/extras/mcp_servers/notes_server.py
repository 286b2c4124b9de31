"""An MCP server of notes, with tools with forbidden behaviour.

Its notes are ``notes.txt`` in its working directory, or the file that its argument names. ``COUNTER=FILE`` names
another file, which counts starts.
``--http PORT`` serves over streamable HTTP with the SDK. Over standard input and output it speaks the protocol itself:
tests start some hundreds of it, and the SDK takes 900 ms to import. The published servers of the tests are of the SDK.
"""

import json
import mmap
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NOTES = Path(sys.argv[1] if sys.argv[1:2] not in ([], ['--http']) else 'notes.txt')
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


def _tool(name: str, reads: bool | None, schema: dict[str, Any] = NOTHING, **more: Any) -> dict[str, Any]:
    hints = {} if reads is None else {'annotations': {'readOnlyHint': reads}}
    return {'name': name, 'description': f'Tool {name}.', 'inputSchema': schema, **hints, **more}


PAGES = {
    None: [_tool('read_notes', True, outputSchema=LINES), _tool('add_note', False, TEXT)],
    'second': [_tool('clock', True), _tool('folder', True), _tool('starts', True),
     _tool('outside_schema', True, outputSchema=LINES), _tool('no_structure', True, outputSchema=LINES),
     _tool('fail', True), _tool('hang', True), _tool('huge', True), _tool('crash', True), _tool('picture', True),
     _tool('unannotated', None), _tool('hoard', None), _tool('fill', None), _tool('chatter', None)],
}  # fmt: skip


def list_tools(cursor: str | None) -> dict[str, Any]:
    if os.environ.get('ENDLESS'):
        return {'tools': [], 'nextCursor': 'again'}
    return {'tools': PAGES[cursor], **({} if cursor else {'nextCursor': 'second'})}


def _says(text: str, **more: Any) -> dict[str, Any]:
    return {'content': [{'type': 'text', 'text': text}], **more}


def call_tool(name: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """The result of a call; None for one that is never answered."""
    if name == 'read_notes':
        lines = NOTES.read_text().splitlines() if NOTES.exists() else []
        return _says('\n'.join(lines), structuredContent={'lines': lines})
    if name == 'add_note':
        if not isinstance(arguments.get('text'), str):  # as servers of the SDK say it
            return _says('Input validation error', isError=True)
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
        return _says('see the structure', structuredContent={'lines': [1]})
    if name == 'no_structure':
        return _says('none')
    if name == 'fail':
        return _says('there is no such note', isError=True)
    if name == 'hang':
        return None
    if name == 'huge':
        return _says('x' * 20_000_000)
    if name == 'crash':
        print('the disk is full', file=sys.stderr, flush=True)
        os._exit(3)
    if name == 'hoard':
        with mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as reserved:
            return _says(str(len(reserved)))
    if name == 'fill':
        with Path('huge').open('wb') as file:
            file.write(bytes(8 << 20))
        return _says('written')
    if name == 'chatter':
        threading.Thread(target=_chatter, daemon=True).start()
        return _says('begun')
    if name == 'picture':
        return {'content': [{'type': 'image', 'data': 'eA==', 'mimeType': 'image/png'}]}
    raise ValueError(name)


def _chatter() -> None:
    while True:
        os.write(2, b'spam and ' * 4_000)


def _count_start() -> int:
    if 'COUNTER' not in os.environ:
        return 0
    with Path(os.environ['COUNTER']).open('ab') as file:  # a kill may come at any moment, also between two starts
        file.write(b'.')
        file.flush()
        return file.tell()


STARTS = _count_start()


def _answer(method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
    if method == 'server/discover':
        named = {'io.modelcontextprotocol/serverInfo': {'name': 'notes', 'version': '1.0'}}
        return {'supportedVersions': ['2026-07-28'], 'capabilities': {'tools': {}}, '_meta': named}
    if method == 'tools/list':
        return list_tools(params.get('cursor'))
    return call_tool(params['name'], params.get('arguments') or {})


def serve_stdio() -> None:
    """Answers JSON-RPC messages, one a line, until the input ends."""
    print('a log line on standard output', flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        if 'id' not in message:
            continue
        reply: dict[str, Any] = {'jsonrpc': '2.0', 'id': message['id']}
        try:
            result = _answer(message['method'], message.get('params') or {})
        except Exception as error:
            reply['error'] = {'code': -32603, 'message': f'{type(error).__name__}: {error}'}
        else:
            if result is None:
                continue
            reply['result'] = {'resultType': 'complete', 'ttlMs': 0, 'cacheScope': 'private', **result}
        print(json.dumps(reply), flush=True)


def serve_http(port: int) -> None:
    import asyncio

    import mcp_types as types
    import uvicorn
    from mcp.server import Server, ServerRequestContext

    async def listed(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate(list_tools(params.cursor if params else None))

    async def called(context: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        result = call_tool(params.name, params.arguments or {})
        if result is None:
            await asyncio.sleep(3600)
        return types.CallToolResult.model_validate(result)

    server: Server[Any] = Server('notes', version='1.0', on_list_tools=listed, on_call_tool=called)
    uvicorn.run(server.streamable_http_app(json_response=True), port=port, log_level='error')


if __name__ == '__main__':
    if sys.argv[1:2] == ['--http']:
        serve_http(int(sys.argv[2]))
    else:
        serve_stdio()
