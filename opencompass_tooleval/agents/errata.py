"""Faults of the data that agents' tasks are read from. Each is read in the one way that is written here.

* ``unfit_gold``: a gold call that its tool's documentation does not allow (an argument missing or unknown); it stays
  gold. T-Eval, UltraTool.
* ``no_gold``: nothing has to be called; the task stays. UltraTool.
* ``renamed_tool``: the published runs know a tool by another name; the task has it under theirs. ToolBench.
* ``shared_name``: several APIs of a task come to one function name; the first is offered, as ToolBench's agents saw
  but one. ToolBench.
"""

from __future__ import annotations

from dataclasses import dataclass

UNFIT_GOLD, NO_GOLD, RENAMED_TOOL, SHARED_NAME = 'unfit_gold', 'no_gold', 'renamed_tool', 'shared_name'

KINDS = (UNFIT_GOLD, NO_GOLD, RENAMED_TOOL, SHARED_NAME)


@dataclass(frozen=True)
class Erratum:
    """One fault.

    Attributes:
        where: Id of the task.
        what: The tool.
        kind: One of :data:`KINDS`.
    """

    where: str
    what: str
    kind: str
