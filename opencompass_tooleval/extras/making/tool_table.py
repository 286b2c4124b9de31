"""The table for the owner of the tools: how often each was needed, called and failed, and why. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from opencompass_tooleval.core.errors import shorten
from opencompass_tooleval.environments.tally import Tally, ToolCounts

_MOST_ROWS = 40
_MOST_NAME = 40
_HEAD = ('tool', 'needed', 'called', 'failed', 'why')


@dataclass(frozen=True)
class ToolRow:
    """One tool.

    Attributes:
        tool: Its name.
        needed: Number of tasks whose gold calls it.
        called: Number of calls that reached it.
        failed: Number of these that failed through no planned failure.
        why: The failures with what the tool or its server said, and why no task may need it.
    """

    tool: str
    needed: int
    called: int
    failed: int
    why: str


def tool_rows(
    offered: Iterable[str], needed: Mapping[str, int], tally: Tally, left_out: Mapping[str, str]
) -> list[ToolRow]:
    """Makes the table: tools that are left out come first, then those that fail most.

    Args:
        offered: The tools.
        needed: Tool -> number of tasks that need it.
        tally: Their calls.
        left_out: Tool -> reason for which no task may need it.
    """
    rows = []
    for name in dict.fromkeys([*offered, *left_out, *tally.tools]):
        counts = tally.tools.get(name, ToolCounts())
        reason = f'left out: {left_out[name]}' if name in left_out else ''
        why = '; '.join(filter(None, (reason, counts.why)))
        rows.append(ToolRow(name, needed.get(name, 0), counts.called, counts.failed, why))
    return sorted(rows, key=lambda row: (row.tool not in left_out, -row.failed))


def table_lines(rows: Iterable[ToolRow]) -> list[str]:
    """Formats the table, one line a tool."""
    cells = [(shorten(row.tool, _MOST_NAME), row.needed, row.called, row.failed, row.why) for row in rows]
    width = max(len(str(name)) for name, *_ in (_HEAD, *cells))
    lines = [
        f'{name:<{width}}  {needed:>6}  {called:>6}  {failed:>6}  {why}'.rstrip()
        for name, needed, called, failed, why in (_HEAD, *cells[:_MOST_ROWS])
    ]
    return [*lines, f'and {len(cells) - _MOST_ROWS} more tools'] if len(cells) > _MOST_ROWS else lines
