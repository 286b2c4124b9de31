"""The observation after a tool call, with its source."""

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
"""Sources of an observation."""

UNKNOWN_TOOL = 'unknown_tool'
WRONG_ARGUMENTS = 'wrong_arguments'
UNANSWERED = 'unanswered'

FAULTS = (UNKNOWN_TOOL, WRONG_ARGUMENTS, UNANSWERED)
"""Reasons for an ``error`` observation."""

INJECTED = 'injected'
"""``error`` of an observation that stands for a failure which the task has planned."""


@dataclass(frozen=True)
class Observation:
    """The text that a model is shown after a call.

    Attributes:
        text: The complete response; a loop cuts it to the length that its method shows.
        source: One of :data:`SOURCES`: ``exact`` (recorded for this task, this API, these arguments), ``other_task``
            (recorded for another task), ``nearest`` (the task's only recorded call of that API), ``function``
            (emulated in Python), ``simulated`` (by a model), ``live`` (from a running server), ``error`` (no source
            answers: the text is that of the API's error).
        fault: One of :data:`FAULTS` if the source is ``error``, else ``''``.
        error: The error of the recording or the live server, in one word; ``''`` for a successful call, None for other
            sources.
    """

    text: str
    source: str
    fault: str = ''
    error: str | None = None
