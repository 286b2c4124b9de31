"""A tool's documentation, from any of :mod:`opencompass_tooleval.tool_docs.sources`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.tool_docs.instruction import Parameter


@dataclass(frozen=True)
class FunctionDoc:
    """One function of a tool.

    Attributes:
        name: Its name in calls; for a REST service ``GET /movie/{movie_id}``.
        description: Its description as documented, of any length.
        required: Required parameters.
        optional: Optional parameters.
        raw: The function's documentation as in the source, as JSON values; prompts and token counts use it.
    """

    name: str
    description: str = ''
    required: tuple[Parameter, ...] = ()
    optional: tuple[Parameter, ...] = ()
    raw: Mapping[str, Any] | str = field(default_factory=dict)


@dataclass(frozen=True)
class ToolDoc:
    """One tool.

    Attributes:
        name: Its name, unique within a source.
        description: Its description as documented; '' if the source has none for the tool as a whole.
        functions: Its functions in the source's order; at least one.
        raw: The whole documentation as in the source, functions included.
    """

    name: str
    description: str
    functions: tuple[FunctionDoc, ...]
    raw: Mapping[str, Any] | str = field(default_factory=dict)
