"""TimeTool: a clock with a fixed time."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from opencompass_tooleval.environments.functions import FunctionAnswer
from opencompass_tooleval.environments.teval_tools.described import DescribedTool, recorded_fields, said

FORMAT = '%Y-%m-%d %H:%M'
START = datetime(2023, 10, 19, 14, 57)
"""A Thursday on which T-Eval's responses were recorded; a task that recorded another time has that one."""

_DAYS = ('Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday')


class Clock(DescribedTool):
    """The time of one task."""

    def __init__(self) -> None:
        super().__init__('TimeTool', {'get_curr_time': (self._time, (), ()), 'get_weekday': (self._weekday, (), ())})
        self._now = START

    def _time(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        return said(time=self._now.strftime(FORMAT))

    def _weekday(self, arguments: Mapping[str, str]) -> FunctionAnswer:
        # Not strftime('%A'), which depends on the locale of the machine.
        return said(weekday=_DAYS[self._now.weekday()])

    def learn(self, name: str, arguments: Mapping[str, Any], response: str) -> None:
        """Sets the recorded time."""
        try:
            self._now = datetime.strptime(str(recorded_fields(response).get('time'))[:20], FORMAT)
        except ValueError:
            return
