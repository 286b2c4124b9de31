"""What the server of the tutorial uses of the MCP SDK, without the SDK, which takes 900 ms to import.

``test_tutorials.py`` starts that server some dozens of times, and compares it with the same server on the SDK.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import notes_server


def ToolAnnotations(read_only_hint: bool) -> dict[str, Any]:
    """What a server says of a tool."""
    return {'readOnlyHint': read_only_hint}


class MCPServer:
    """A server of functions whose parameters and results are strings."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.functions: dict[str, Callable[..., str]] = {}
        self.listed: list[dict[str, Any]] = []

    def tool(self, annotations: dict[str, Any]) -> Callable[[Callable[..., str]], Callable[..., str]]:
        """Registers a function."""

        def register(function: Callable[..., str]) -> Callable[..., str]:
            name, parameters = function.__name__, list(inspect.signature(function).parameters)
            self.functions[name] = function
            self.listed.append(
                {
                    'name': name,
                    'description': function.__doc__,
                    'inputSchema': _schema(f'{name}Arguments', parameters),
                    'outputSchema': _schema(f'{name}Output', ['result']),
                    'annotations': annotations,
                }
            )
            return function

        return register

    def run(self) -> None:
        """Answers until its input ends."""
        notes_server.list_tools = lambda cursor: {'tools': self.listed}
        notes_server.call_tool = self._call
        notes_server.serve_stdio()

    def _call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        result = self.functions[name](**arguments)
        return {'content': [{'type': 'text', 'text': result}], 'structuredContent': {'result': result}}


def _schema(title: str, names: list[str]) -> dict[str, Any]:
    properties = {name: {'title': name.capitalize(), 'type': 'string'} for name in names}
    return {'properties': properties, 'required': names, 'title': title, 'type': 'object'}
