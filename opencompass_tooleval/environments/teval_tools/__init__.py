"""T-Eval's tools that have a state: Email, FileOperation, PPT, ReserveMeeting, and TimeTool with a fixed clock.

They are written after the descriptions of the APIs and after recorded responses, whose words they use. Each task has
its own, as if it were the first to call them.
"""

from __future__ import annotations

from opencompass_tooleval.environments.functions import FunctionTool
from opencompass_tooleval.environments.teval_tools.clock import Clock
from opencompass_tooleval.environments.teval_tools.disk import Disk
from opencompass_tooleval.environments.teval_tools.email import Email
from opencompass_tooleval.environments.teval_tools.files import Files
from opencompass_tooleval.environments.teval_tools.meetings import Meetings
from opencompass_tooleval.environments.teval_tools.slides import Slides


def teval_functions() -> tuple[FunctionTool, ...]:
    """The tools of one task; files and presentations share a disk."""
    disk = Disk()
    return (Email(), Files(disk), Slides(disk), Meetings(), Clock())
