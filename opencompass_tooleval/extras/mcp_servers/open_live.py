"""Opens live servers and parses their probes from values of configs and made benchmarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opencompass_tooleval.data_path import resolve_data_path

if TYPE_CHECKING:
    from opencompass_tooleval.environments.call_log import CallLog
    from opencompass_tooleval.extras.mcp_servers.live import LiveTools
    from opencompass_tooleval.extras.mcp_servers.state import Probe, TrialState


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
        fixture: The folder or file that is copied for each trial, found like a data file.
        allow: Argument of :class:`~opencompass_tooleval.extras.mcp_servers.live.LiveTools`.
        leave_out: Argument of :class:`~opencompass_tooleval.extras.mcp_servers.live.LiveTools`.
        env: Variables of the server. The value ``$NAME`` is that of the variable ``NAME`` of this process, so that
            files need not hold keys.
        ahead: Argument of :class:`~opencompass_tooleval.extras.mcp_servers.live.LiveTools`.
        most: Argument of :class:`~opencompass_tooleval.extras.mcp_servers.live.LiveTools`.
        log: Argument of :class:`~opencompass_tooleval.extras.mcp_servers.live.LiveTools`.

    Raises:
        DataError: There is no such fixture.
        ValueError: ``server`` is no command or URL, a variable is not set, or the MCP SDK is not installed.
    """
    from opencompass_tooleval.extras.mcp_servers.server import check_sdk, fill_variables, parse_server

    check_sdk()
    from opencompass_tooleval.extras.mcp_servers.live import LiveTools

    parsed = parse_server(server, fill_variables(env or {}))
    folder = resolve_data_path(fixture, 'the fixture that the set was made with') if fixture else None
    return LiveTools(parsed, folder, allow=allow, leave_out=leave_out, ahead=ahead, most=most, log=log)


def parse_probes(probes: Sequence[Mapping[str, Any]]) -> tuple[Probe, ...]:
    """Converts probes: ``{"tool": NAME, "arguments": {...}}``, or ``{"leave_out": [PATTERN, ...]}`` for the files.

    Both may have a ``mask``: fields of the answer, or file -> fields.

    Raises:
        ValueError: One is neither.
    """
    from opencompass_tooleval.extras.mcp_servers.state import CallProbe, FolderProbe

    parsed: list[Probe] = []
    for probe in probes:
        mask = probe.get('mask')
        if isinstance(probe.get('tool'), str) and isinstance(mask, list | None):
            parsed.append(CallProbe(probe['tool'], dict(probe.get('arguments') or {}), tuple(map(str, mask or ()))))
        elif isinstance(probe.get('leave_out'), list) and _is_mask_of_files(mask):
            masks = {str(file): tuple(map(str, fields)) for file, fields in (mask or {}).items()}
            parsed.append(FolderProbe(tuple(map(str, probe['leave_out'])), masks))
        else:
            raise ValueError(
                f'a probe is {{"tool": NAME, "arguments": {{...}}}} or {{"leave_out": [...]}}, not {probe}'
            )
    return tuple(parsed)


def _is_mask_of_files(mask: Any) -> bool:
    return mask is None or (isinstance(mask, dict) and all(isinstance(fields, list) for fields in mask.values()))


KEYWORDS = (open_live, parse_probes)
"""Functions whose parameters are the settings of :func:`open_environment`."""


def open_environment(settings: Mapping[str, Any]) -> tuple[LiveTools, TrialState | None]:
    """Opens a server for an environment, and what reads its state.

    Args:
        settings: Arguments of :func:`open_live`, and ``probes`` for :func:`parse_probes`.

    Raises:
        DataError: There is no such fixture.
        ValueError: A setting is wrong, or the MCP SDK is not installed.
    """
    live = open_live(**{name: value for name, value in settings.items() if name != 'probes'})
    probes = parse_probes(settings.get('probes', ()))
    if not probes:
        return live, None
    from opencompass_tooleval.extras.mcp_servers.state import TrialState

    return live, TrialState(live, probes)
