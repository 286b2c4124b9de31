"""The tool instruction, which replaces a tool's documentation in EasyTool's prompts (paper, Section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Absent:
    """Marks a parameter without a default, since None, null and '' are possible defaults."""


ABSENT = Absent()


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function.

    Attributes:
        name: Name in calls.
        type: Type as documented (``STRING``, ``integer``, ``List``, ...); '' if undocumented.
        description: Description; '' if undocumented.
        default: The documented default or example value, or ``ABSENT``.
        extra: Other keys of the source (enum, format, ...), as JSON values.
    """

    name: str
    type: str = ''
    description: str = ''
    default: Any = ABSENT
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Example:
    """A scenario and the parameters that fit it (Table 2, II)."""

    scenario: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class FunctionInstruction:
    """The guideline of one function.

    Attributes:
        name: Name in calls; for a REST service ``GET /movie/{movie_id}``.
        description: Description of the function; '' if the tool's description is enough.
        required: Required parameters, in the documentation's order.
        optional: Optional parameters.
        example: An example; None if no example could be made.
        extra: Other keys of a published file, as JSON values.
    """

    name: str
    description: str = ''
    required: tuple[Parameter, ...] = ()
    optional: tuple[Parameter, ...] = ()
    example: Example | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ToolInstruction:
    """The instruction for one tool: a description and a guideline per function.

    Attributes:
        name: The tool's name; unique within a file.
        description: One or two sentences on what the tool can do.
        functions: Guidelines of its functions, in the documentation's order.
        id: The ``ID`` of the published files, or None.
        extra: Other keys of a published file, as JSON values.
    """

    name: str
    description: str
    functions: tuple[FunctionInstruction, ...] = ()
    id: int | str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
