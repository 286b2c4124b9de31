"""Error texts for calls that no source answers, in the words of recorded errors."""

from __future__ import annotations

import json
from dataclasses import dataclass

from opencompass_tooleval.core.text.jsonable import bounded_text

_MOST_NAME = 200


@dataclass(frozen=True)
class ErrorTexts:
    """The error texts of one benchmark's tools.

    Attributes:
        unknown: For an unknown tool; with ``{name}``.
        missing: For a missing parameter; with ``{name}`` and ``{parameter}``.
        unexpected: For an unknown parameter; with ``{name}`` and ``{parameter}``.
        no_object: For arguments that are not an object; may have ``{name}``.
        unanswered: For a call without an answer; with ``{name}``.
        is_wrapped: True if errors are sent as ``{"error": TEXT, "response": ""}``.
    """

    unknown: str
    missing: str
    unexpected: str
    no_object: str
    unanswered: str
    is_wrapped: bool = False

    def text(self, template: str, name: str, parameter: str = '') -> str:
        """Returns a template with the names filled in."""
        # Not str.format, which in a second pass would treat a name such as '{name.__class__}' as a field.
        filled = template.replace('{parameter}', bounded_text(parameter, _MOST_NAME), 1)
        filled = filled.replace('{name}', bounded_text(name, _MOST_NAME), 1)
        return json.dumps({'error': filled, 'response': ''}) if self.is_wrapped else filled


TOOLBENCH_ERRORS = ErrorTexts(
    unknown='No such function name: {name}',
    missing="Function executing error...\n{name}() missing 1 required positional argument: '{parameter}'",
    unexpected="Function executing error...\n{name}() got an unexpected keyword argument '{parameter}'",
    no_object='Tool input parse error...\n',
    unanswered='API not working error...',
    is_wrapped=True,
)
"""Errors of ToolBench's server."""

TEVAL_ERRORS = ErrorTexts(
    unknown='The action is invalid, please check the action name: {name}',
    missing="{name}() missing 1 required positional argument: '{parameter}'",
    unexpected="{name}() got an unexpected keyword argument '{parameter}'",
    no_object='{name}() the arguments are no JSON object',
    unanswered='{name}: 500 Internal Server Error',
)
"""Errors of T-Eval's tools, which are Python functions, and of lagent."""

LIVE_ERRORS = ErrorTexts(
    unknown='Unknown tool: {name}',
    missing="{name}: missing required argument '{parameter}'",
    unexpected="{name}: unexpected argument '{parameter}'",
    no_object='{name}: the arguments are no JSON object',
    unanswered='{name}: nothing is recorded for these arguments',
)
"""Errors of live servers."""
