"""Reads the tools that an MCP server lists; each becomes a tool with one function."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from opencompass_tooleval.core.text.jsonable import beyond_bounds
from opencompass_tooleval.extras.mcp_servers.server import Server, parse_server
from opencompass_tooleval.tool_docs.schema import Resolver, schema_parameters
from opencompass_tooleval.tool_docs.tool_doc import FunctionDoc, ToolDoc

logger = logging.getLogger(__name__)


def tool_doc(raw: Mapping[str, Any]) -> ToolDoc:
    """Converts an entry of ``tools/list``.

    Its keys are ``name``, ``description``, ``inputSchema``, ``outputSchema`` and ``annotations``.

    Raises:
        ValueError: The entry is nested too deeply, or a reference in its schema has no target.
    """
    if beyond_bounds(raw):
        raise ValueError('it is nested too deeply')
    schema = raw['inputSchema']
    resolved = Resolver(schema).resolve({key: schema[key] for key in ('properties', 'required') if key in schema})
    properties = resolved.get('properties')
    if isinstance(properties, Mapping):
        resolved['properties'] = {name: _without_null(value) for name, value in properties.items()}
    required, optional = schema_parameters(resolved)
    name, description = str(raw['name']), str(raw.get('description') or raw.get('title') or '')
    return ToolDoc(name, description, (FunctionDoc(name, description, required, optional, raw),), raw)


def _without_null(schema: Any) -> Any:
    """Replaces ``{"anyOf": [X, {"type": "null"}]}``, Pydantic's optional parameter, by X and the other keys."""
    choices = schema.get('anyOf') if isinstance(schema, Mapping) else None
    if not isinstance(choices, list):
        return schema
    others = [choice for choice in choices if choice != {'type': 'null'}]
    if len(others) == 1 and isinstance(others[0], Mapping):
        return {**others[0], **{key: value for key, value in schema.items() if key != 'anyOf'}}
    return schema


KIND = 'mcp'
"""Name of this source, for ``--source``."""


def name_of(source: str) -> str:
    """Returns the name of a server for messages, without arguments and query, which may contain keys."""
    return str(parse_server(source))


def read(source: str) -> list[ToolDoc]:
    """Reads the tools of a server, without those whose schemas cannot be read.

    Args:
        source: ``'COMMAND ARGS'`` or a URL, as for ``parse_server``.

    Raises:
        ServerError: The server cannot be started or reached, or does not list its tools.
        ValueError: ``source`` is not a command or URL, or the SDK is not installed.
    """
    server = parse_server(source)
    docs = []
    for raw in asyncio.run(_list(server)):
        try:
            docs.append(tool_doc(raw))
        except ValueError as error:
            logger.warning('%s: its tool %r is left out: %s', server, raw['name'], error)
    return docs


async def _list(server: Server) -> list[dict[str, Any]]:
    from opencompass_tooleval.extras.mcp_servers.connection import connect, documentation

    async with connect(server) as connection:
        return [documentation(tool) for tool in await connection.tools()]
