"""T-Eval's stateful tools: Email, FileOperation, PPT, ReserveMeeting, and TimeTool with a fixed clock.

They follow the descriptions of the APIs and the words of recorded responses. Each task starts with new tools in their
initial state.
"""

from __future__ import annotations

from opencompass_tooleval.environments.environment import FunctionTool
from opencompass_tooleval.environments.teval_tools.files import Disk, Files
from opencompass_tooleval.environments.teval_tools.office import Clock, Email, Meetings, Slides


def teval_functions() -> tuple[FunctionTool, ...]:
    """Creates the tools of one task; files and presentations share a disk."""
    disk = Disk()
    return (Email(), Files(disk), Slides(disk), Meetings(), Clock())
