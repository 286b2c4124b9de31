"""Opens live servers from settings in configs and task files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from opencompass_tooleval.data_path import resolve_data_path

if TYPE_CHECKING:
    from opencompass_tooleval.environments.call_log import CallLog
    from opencompass_tooleval.extras.mcp_servers.live import LiveTools


def open_live(
    server: str,
    fixture: str | None = None,
    allow: Sequence[str] = (),
    leave_out: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    ahead: int = 0,
    most: int = 64,
    log: CallLog | None = None,
) -> LiveTools:
    """Opens the tools of a server.

    Args:
        server: ``'COMMAND ARGS'`` or a URL.
        fixture: The folder or file to copy for each trial; its path is resolved like that of a data file.
        allow: Argument of :class:`~opencompass_tooleval.extras.mcp_servers.live.LiveTools`.
        leave_out: Argument of :class:`~opencompass_tooleval.extras.mcp_servers.live.LiveTools`.
        env: Variables of the server. The value ``$NAME`` stands for the variable ``NAME`` of this process, so that
            files need not contain keys.
        ahead: Argument of :class:`~opencompass_tooleval.extras.mcp_servers.live.LiveTools`.
        most: Argument of :class:`~opencompass_tooleval.extras.mcp_servers.live.LiveTools`.
        log: Argument of :class:`~opencompass_tooleval.extras.mcp_servers.live.LiveTools`.

    Raises:
        DataError: The fixture does not exist.
        ValueError: ``server`` is not a command or URL, a variable is not set, or the MCP SDK is not installed.
    """
    from opencompass_tooleval.extras.mcp_servers.server import check_sdk, fill_variables, parse_server

    check_sdk()
    from opencompass_tooleval.extras.mcp_servers.live import LiveTools

    parsed = parse_server(server, fill_variables(env or {}))
    folder = resolve_data_path(fixture, 'correct `fixture` of `live` in the config') if fixture else None
    return LiveTools(parsed, folder, allow=allow, leave_out=leave_out, ahead=ahead, most=most, log=log)
