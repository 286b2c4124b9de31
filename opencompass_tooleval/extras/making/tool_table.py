"""The table for the owner of the tools: how often each was needed, called and failed, and why. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from opencompass_tooleval.core.errors import shorten
from opencompass_tooleval.environments.tally import Tally, ToolCounts
from opencompass_tooleval.extras.making.execution import BROKEN_TOOL, VOLATILE, VOLATILE_EFFECTS

_WORDS = {
    VOLATILE: 'answers the same call differently',
    VOLATILE_EFFECTS: 'leaves other values after the same call',
    BROKEN_TOOL: 'fails again and again',
}
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
        why: Why no task may need it, and its failures with what it or its server said.
    """

    tool: str
    needed: int
    called: int
    failed: int
    why: str


def tool_rows(
    offered: Iterable[str], needed: Mapping[str, int], tally: Tally, faults: Mapping[str, str]
) -> list[ToolRow]:
    """Makes the table: tools with a fault come first, then those that fail most.

    Args:
        offered: The tools.
        needed: Tool -> number of tasks that need it.
        tally: Their calls.
        faults: Tool -> reason for which no task may need it.
    """
    rows = []
    for name in dict.fromkeys([*offered, *faults, *tally.tools]):
        counts = tally.tools.get(name, ToolCounts())
        reason = faults.get(name, '')
        why = '; '.join(filter(None, (_WORDS.get(reason, reason), counts.why)))
        rows.append(ToolRow(name, needed.get(name, 0), counts.called, counts.failed, why))
    return sorted(rows, key=lambda row: (row.tool not in faults, -row.failed))


def table_lines(rows: Iterable[ToolRow]) -> list[str]:
    """Formats the table, one line a tool."""
    cells = [(shorten(row.tool, _MOST_NAME), row.needed, row.called, row.failed, row.why) for row in rows]
    width = max(len(str(name)) for name, *_ in (_HEAD, *cells))
    lines = [
        f'{name:<{width}}  {needed:>6}  {called:>6}  {failed:>6}  {why}'.rstrip()
        for name, needed, called, failed, why in (_HEAD, *cells[:_MOST_ROWS])
    ]
    return [*lines, f'and {len(cells) - _MOST_ROWS} more tools'] if len(cells) > _MOST_ROWS else lines
