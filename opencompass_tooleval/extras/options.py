"""Arguments and options that several commands of the extras share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MadeSetArgument = Annotated[Path, typer.Argument(metavar='DIR', help='The folder of a made set.')]

ToolsOption = Annotated[
    str,
    typer.Option(
        '--input',
        metavar='FILE',
        help='The documentation; of mcp a server: its command with arguments, or its URL. {fixture} is the copy.',
    ),
]

ServerOption = Annotated[
    str,
    typer.Option(
        '--input',
        metavar='SERVER',
        help="An MCP server: its command with arguments, 'python my_server.py', or its URL. {fixture} is the copy.",
    ),
]

FixtureOption = Annotated[
    Path | None,
    typer.Option(metavar='PATH', help='A folder or file that the server works on; each trial gets a copy.'),
]

AllowOption = Annotated[
    list[str] | None,
    typer.Option(metavar='TOOL', help='Tools (git_*) to be called beside those that say they only read; several.'),
]

EnvOption = Annotated[
    list[str] | None,
    typer.Option('--env', metavar='NAME[=VALUE]', help='Variables of the server; NAME alone passes yours; several.'),
]
