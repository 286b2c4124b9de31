"""``tooleval agents bank record`` and ``serve``: records an MCP server to a bank, and serves a bank as an MCP
server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from opencompass_tooleval.cli.output import counts_line
from opencompass_tooleval.core.calls.observation import EXACT, OTHER_TASK
from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.environments.bank import Bank, write_bank
from opencompass_tooleval.environments.call_log import CallLog, read_call_log
from opencompass_tooleval.environments.environment import LIVE_ERRORS, Environment
from opencompass_tooleval.environments.live_source import TOOL_ERROR, ServerError
from opencompass_tooleval.environments.recordings import find_sources, read_sources, read_tools
from opencompass_tooleval.extras.mcp_servers.fixture import on_copies
from opencompass_tooleval.extras.mcp_servers.server import check_sdk, fill_variables, parse_server
from opencompass_tooleval.work_dir.data_files import read_json
from opencompass_tooleval.work_dir.printing import say

_TASK = 'recorded'

ServerOption = Annotated[
    str,
    typer.Option(
        '--input',
        metavar='SERVER',
        help="An MCP server: 'COMMAND ARGS' or a URL. {fixture} stands for the copy.",
    ),
]

FixtureOption = Annotated[
    Path | None,
    typer.Option(metavar='PATH', help='A folder or file that the server works on; each trial gets a copy.'),
]

AllowOption = Annotated[
    list[str] | None,
    typer.Option(metavar='TOOL', help='More tools (git_*) to allow than the read-only ones; repeatable.'),
]

EnvOption = Annotated[
    list[str] | None,
    typer.Option('--env', metavar='NAME[=VALUE]', help='Variables of the server; NAME alone passes yours; repeatable.'),
]


def record_bank(
    server: ServerOption,
    out: Annotated[Path, typer.Option('--out', '-o', metavar='FILE', help='File of the new bank.')],
    *,
    calls: Annotated[
        Path | None,
        typer.Option(
            metavar='FILE',
            help='Calls to make, as JSON lines {"name", "arguments", "task"}; a task is a trial. Without it, the tools '
            'are served over standard input and output, and the calls of any client are recorded.',
        ),
    ] = None,
    fixture: FixtureOption = None,
    allow: AllowOption = None,
    env: EnvOption = None,
) -> None:
    """Records the answers of an MCP server. ``OUT.calls.jsonl`` contains the calls until the bank is written.

    Raises:
        DataError: ``calls`` cannot be read.
        ValueError: The server does not exist, or ``out`` or its log already exists.
        OSError: ``out`` cannot be written.
    """
    from opencompass_tooleval.extras.mcp_servers.live import LiveTools

    named = parse_server(on_copies(server, fixture), fill_variables(read_variables(env)))
    planned = list(read_calls(calls)) if calls else None
    log_file = out.with_name(f'{out.name}.calls.jsonl')
    for file in (out, log_file):
        if file.exists():
            raise ValueError(f'{file} exists already; choose another --out, or remove it')
    out.parent.mkdir(parents=True, exist_ok=True)
    log = CallLog(log_file)
    try:
        with LiveTools(named, fixture, allow=allow or (), log=log) as live:
            if planned is not None:
                _make(live, planned)
            else:
                with live.begin(_TASK) as trial:
                    serve_live(live, trial)
            _write(log, out)  # before processes end, since a client may kill this command then
    finally:
        log.close()
        if not out.exists():
            _drop_if_empty(log_file)


def serve_bank(
    file: Annotated[Path, typer.Argument(metavar='BANK', help='A response bank.')],
    *,
    task: Annotated[
        str | None,
        typer.Option(metavar='ID', help='Task whose recordings come first, in order; default: the only task.'),
    ] = None,
) -> None:
    """Serves a bank over standard input and output; a call without a recorded answer gets an error.

    Raises:
        DataError: The bank is missing or damaged.
        ValueError: The MCP SDK is not installed.
    """
    check_sdk()
    from opencompass_tooleval.extras.mcp_servers.connection import ToolAnswer
    from opencompass_tooleval.extras.mcp_servers.tool_server import serve_stdio

    with Bank(file) as bank:
        listed = bank.tools()
        known = {str(tool.get('name')) for tool in listed}
        unlisted = [{'name': name} for name in bank.names() if name not in known]
        session = Environment(bank, errors=LIVE_ERRORS).begin(bank.only_task() if task is None else task)

        def answer(name: str, arguments: dict[str, Any]) -> ToolAnswer:
            observed = session.call(name, arguments)
            if observed.source in (EXACT, OTHER_TASK):
                return ToolAnswer(observed.text, observed.error or '')
            template = LIVE_ERRORS.unanswered if name in known or bank.knows(name) else LIVE_ERRORS.unknown
            return ToolAnswer(LIVE_ERRORS.text(template, name), TOOL_ERROR)

        serve_stdio(f'tooleval-bank {file.name}', [*listed, *unlisted], answer)


def read_variables(env: Sequence[str] | None) -> dict[str, str]:
    """Parses variables of a server: ``NAME=VALUE``, or ``NAME`` for this process's variable, as ``$NAME``.

    Raises:
        ValueError: A text is neither.
    """
    pairs = [pair.partition('=') for pair in env or ()]
    if wrong := [name + sign for name, sign, _ in pairs if not name]:
        raise ValueError(f'--env takes NAME=VALUE or NAME, not {wrong[0]!r}')
    return {name: value if sign else f'${name}' for name, sign, value in pairs}


def read_calls(file: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yields the calls in a file of JSON or JSON lines: task, tool and arguments.

    Raises:
        DataError: The file cannot be read.
    """
    value = read_json(file)
    for number, row in enumerate(value if isinstance(value, list) else [value]):
        arguments = row.get('arguments', {}) if isinstance(row, dict) else None
        if not isinstance(arguments, dict) or not isinstance(row.get('name'), str):
            raise DataError(file, "a call must be an object with 'name' and an object 'arguments'", str(number))
        yield str(row.get('task', _TASK)), row['name'], arguments


def _make(live: Any, planned: list[tuple[str, str, dict[str, Any]]]) -> None:
    """Makes the calls task by task; each task starts with an unchanged copy of the fixture."""
    for task in dict.fromkeys(task for task, _, _ in planned):
        with live.begin(task) as trial:
            for _, name, arguments in (call for call in planned if call[0] == task):
                trial.call(name, arguments)


def serve_live(live: Any, trial: Any) -> list[tuple[str, dict[str, Any]]]:
    """Serves the tools of a server to a client until it leaves; returns the calls that it made in the trial."""
    from opencompass_tooleval.extras.mcp_servers.connection import ToolAnswer
    from opencompass_tooleval.extras.mcp_servers.tool_server import serve_stdio

    made: list[tuple[str, dict[str, Any]]] = []

    def answer(name: str, arguments: dict[str, Any]) -> ToolAnswer:
        try:
            answered: ToolAnswer = trial.call(name, arguments)
        except ServerError as error:
            return ToolAnswer(str(error), TOOL_ERROR)
        made.append((name, arguments))
        return answered

    serve_stdio(f'{live.name}, recorded', live.listed, answer)
    return made


def _write(log: CallLog, out: Path) -> None:
    log.close()
    sources = find_sources([log.file])
    built = write_bank(read_sources(sources), out, read_tools(sources))
    with Bank(out) as bank:
        errors: Counter[str] = bank.errors()
    log.file.unlink()
    say(f'{out}: {built.calls:,} calls', err=True)
    if failed := {kind: count for kind, count in errors.items() if kind}:
        say(counts_line('errors', failed), err=True)


def _drop_if_empty(log_file: Path) -> None:
    """Removes a log without calls."""
    if next(read_call_log(log_file, ''), None) is None:
        log_file.unlink(missing_ok=True)
