"""Serves the functions of a Python file as an MCP server, as a separate program: ``python functions.py tools.py``."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys


def main(path: str) -> None:
    """Serves the public functions that a file defines; executes the file and its imports."""
    from mcp.server import MCPServer

    sys.path[0] = os.path.dirname(path)
    spec = importlib.util.spec_from_file_location('tools', path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look up their module
    spec.loader.exec_module(module)
    server = MCPServer('functions')
    for name, function in vars(module).items():
        is_here = inspect.isfunction(function) and function.__module__ == module.__name__
        if is_here and not name.startswith('_'):
            server.add_tool(function)
    server.run()


if __name__ == '__main__':
    main(sys.argv[1])
