"""What a tool call gives."""

from __future__ import annotations

from dataclasses import dataclass

EXACT = 'exact'
OTHER_TASK = 'other_task'
NEAREST = 'nearest'
FUNCTION = 'function'
SIMULATED = 'simulated'
LIVE = 'live'
ERROR = 'error'

SOURCES = (EXACT, OTHER_TASK, NEAREST, FUNCTION, SIMULATED, LIVE, ERROR)
"""Where an observation can come from."""

UNKNOWN_TOOL = 'unknown_tool'
WRONG_ARGUMENTS = 'wrong_arguments'
UNANSWERED = 'unanswered'

FAULTS = (UNKNOWN_TOOL, WRONG_ARGUMENTS, UNANSWERED)
"""Why an observation is an ``error``."""

INJECTED = 'injected'
"""``error`` of an observation that stands for a failure which the task has planned."""


@dataclass(frozen=True)
class Observation:
    """What a model is told of a call.

    Attributes:
        text: The response, whole: a loop cuts it to what its method shows.
        source: One of :data:`SOURCES`: ``exact`` (recorded for this task, this API, these arguments), ``other_task``
            (recorded for another task), ``nearest`` (the task's only recorded call of that API), ``function`` (worked
            out in Python), ``simulated`` (a model's), ``live`` (a server's that runs), ``error`` (nothing answers, and
            the API would say so).
        fault: One of :data:`FAULTS` where the source is ``error``, else ``''``.
        error: What the recording or the live server says went wrong, in one word; ``''`` for a call that went well,
            None where neither says.
    """

    text: str
    source: str
    fault: str = ''
    error: str | None = None
