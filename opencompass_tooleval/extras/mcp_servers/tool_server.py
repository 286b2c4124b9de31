"""Serves tools as an MCP server over standard input and output; a function answers the calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from opencompass_tooleval.extras.mcp_servers.connection import ToolAnswer

_PAGE = 200
_ANY_OBJECT: dict[str, Any] = {'type': 'object'}


def serve_stdio(
    name: str, tools: Sequence[Mapping[str, Any]], answer: Callable[[str, dict[str, Any]], ToolAnswer]
) -> None:
    """Serves tools until standard input ends.

    Answers are text, so the tools are listed without ``outputSchema``.

    Args:
        name: Name of the server.
        tools: Tools in the format of ``tools/list``; ``inputSchema`` may be missing.
        answer: Answers calls one after the other, in a separate thread; its errors are errors of the tool.
    """
    listed = [_tool(tool) for tool in tools]
    one_by_one = asyncio.Lock()

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        cursor = params.cursor if params else None
        start = int(cursor) if cursor and cursor.isdecimal() and len(cursor) < 9 else 0
        end = start + _PAGE
        return types.ListToolsResult(tools=listed[start:end], next_cursor=str(end) if end < len(listed) else None)

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        async with one_by_one:
            answered = await asyncio.to_thread(answer, params.name, params.arguments or {})
        content: list[types.ContentBlock] = [types.TextContent(text=answered.text)]
        return types.CallToolResult(content=content, is_error=bool(answered.error))

    server: Server[Any] = Server(name, on_list_tools=list_tools, on_call_tool=call_tool)

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    asyncio.run(serve())


def _tool(raw: Mapping[str, Any]) -> types.Tool:
    kept = {key: raw[key] for key in ('name', 'title', 'description', 'inputSchema', 'annotations') if key in raw}
    return types.Tool.model_validate({'inputSchema': _ANY_OBJECT, **kept})
