"""The emulated tools of a benchmark, and the error texts of its tools."""

from __future__ import annotations

from dataclasses import dataclass

from opencompass_tooleval.environments.error_texts import TEVAL_ERRORS, TOOLBENCH_ERRORS, ErrorTexts
from opencompass_tooleval.environments.functions import StatefulTools, no_stateful_tools
from opencompass_tooleval.environments.teval_tools import teval_functions


@dataclass(frozen=True)
class BenchmarkTools:
    """Tools of a benchmark for an environment.

    Attributes:
        stateful_tools: Creates the emulated tools of a task.
        errors: Error texts of all its tools.
    """

    stateful_tools: StatefulTools
    errors: ErrorTexts


TOOLS = {
    None: BenchmarkTools(no_stateful_tools, TOOLBENCH_ERRORS),
    'teval': BenchmarkTools(teval_functions, TEVAL_ERRORS),
}
"""``stateful_tools`` of :class:`~opencompass_tooleval.agents.adapter.AgentDialogues` -> the tools and error texts."""


def find_tools(name: str | None) -> BenchmarkTools:
    """Returns the tools of a benchmark.

    Raises:
        ValueError: The benchmark has no such tools.
    """
    if name not in TOOLS:
        raise ValueError(f'stateful_tools is {name!r}; it is one of {", ".join(filter(None, TOOLS))}, or None')
    return TOOLS[name]
