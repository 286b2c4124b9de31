"""The tool instruction: what EasyTool gives a model in place of a tool's documentation (paper, Section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Absent:
    """A parameter has no default: None, null and '' are defaults."""


ABSENT = Absent()


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function.

    Attributes:
        name: As the caller must write it.
        type: As the documentation has it (``STRING``, ``integer``, ``List``, ...); '' if it says none.
        description: '' if there is none.
        default: The default or example value of the documentation, or ``ABSENT``.
        extra: What else the source says (enum, format, ...), as JSON values.
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
        name: As the caller must write it; for a REST service ``GET /movie/{movie_id}``.
        description: '' where the tool's own says all.
        required: Required parameters, in the documentation's order.
        optional: Optional ones.
        example: None where none could be made.
        extra: What else a published file says, as JSON values.
    """

    name: str
    description: str = ''
    required: tuple[Parameter, ...] = ()
    optional: tuple[Parameter, ...] = ()
    example: Example | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ToolInstruction:
    """The instruction of one tool: a description and a guideline per function.

    Attributes:
        name: The tool's name; unique within a file.
        description: In one or two sentences what the tool can do.
        functions: In the documentation's order.
        id: The ``ID`` of the published files, or None.
        extra: What else a published file says, as JSON values.
    """

    name: str
    description: str
    functions: tuple[FunctionInstruction, ...] = ()
    id: int | str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
