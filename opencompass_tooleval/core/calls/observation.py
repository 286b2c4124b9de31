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
"""Values of :attr:`Observation.source`."""

UNKNOWN_TOOL = 'unknown_tool'
WRONG_ARGUMENTS = 'wrong_arguments'
UNANSWERED = 'unanswered'

FAULTS = (UNKNOWN_TOOL, WRONG_ARGUMENTS, UNANSWERED)
"""Reasons for an ``error`` observation."""

INJECTED = 'injected'
"""``error`` of an observation for a failure that the task planned."""


@dataclass(frozen=True)
class Observation:
    """The text that a model sees after a call.

    Attributes:
        text: The complete response; a loop cuts it to the length of its method.
        source: One of :data:`SOURCES`: ``exact`` (recorded for this task, this API, these arguments), ``other_task``
            (recorded for another task), ``nearest`` (the task's only recorded call of that API), ``function``
            (emulated in Python), ``simulated`` (by a model), ``live`` (from a running server), ``error`` (no source has
            an answer: the text is the API's error).
        fault: One of :data:`FAULTS` if the source is ``error``, else ``''``.
        error: One word for the error of the recording or the live server; ``''`` for a successful call, None for other
            sources.
    """

    text: str
    source: str
    fault: str = ''
    error: str | None = None
