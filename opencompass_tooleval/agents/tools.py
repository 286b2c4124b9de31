"""The tools of a benchmark that are worked out, and how its tools speak of errors."""

from __future__ import annotations

from dataclasses import dataclass

from opencompass_tooleval.environments.error_texts import TEVAL_ERRORS, TOOLBENCH_ERRORS, ErrorTexts
from opencompass_tooleval.environments.functions import StatefulTools, no_stateful_tools
from opencompass_tooleval.environments.teval_tools import teval_functions


@dataclass(frozen=True)
class BenchmarkTools:
    """What an environment needs to know of a benchmark.

    Attributes:
        stateful_tools: Makes the tools of a task that are worked out.
        errors: How all of its tools speak of errors.
    """

    stateful_tools: StatefulTools
    errors: ErrorTexts


TOOLS = {
    None: BenchmarkTools(no_stateful_tools, TOOLBENCH_ERRORS),
    'teval': BenchmarkTools(teval_functions, TEVAL_ERRORS),
}
"""``stateful_tools`` of :class:`~opencompass_tooleval.agents.adapter.AgentDialogues` -> the tools."""


def find_tools(name: str | None) -> BenchmarkTools:
    """The tools of a benchmark.

    Raises:
        ValueError: It has none.
    """
    if name not in TOOLS:
        raise ValueError(f'stateful_tools are those of {", ".join(filter(None, TOOLS))}, or None, not {name!r}')
    return TOOLS[name]
