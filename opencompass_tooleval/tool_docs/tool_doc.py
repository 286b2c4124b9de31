"""A tool's documentation, whatever the source (see :mod:`opencompass_tooleval.tool_docs.sources`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opencompass_tooleval.tool_docs.instruction import Parameter


@dataclass(frozen=True)
class FunctionDoc:
    """One function of a tool.

    Attributes:
        name: As the caller must write it; for a REST service ``GET /movie/{movie_id}``.
        description: As documented, however long.
        required: Required parameters.
        optional: Optional ones.
        raw: The function's documentation as the source has it, JSON values: what a model reads, and what is counted
            when tokens are.
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
        name: Unique within a source.
        description: As documented; '' if the source has none for the tool as a whole.
        functions: In the source's order; at least one.
        raw: The whole documentation as the source has it, functions included.
    """

    name: str
    description: str
    functions: tuple[FunctionDoc, ...]
    raw: Mapping[str, Any] | str = field(default_factory=dict)
