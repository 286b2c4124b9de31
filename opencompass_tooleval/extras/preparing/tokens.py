"""Counts tokens of documentation and of instructions, per tool and in total (paper, Tables 1 and 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from opencompass_tooleval.results.variants import reduction
from opencompass_tooleval.tool_docs.instruction import ToolInstruction
from opencompass_tooleval.tool_docs.render import render_doc, render_instruction
from opencompass_tooleval.tool_docs.tool_doc import ToolDoc


@dataclass(frozen=True)
class ToolTokens:
    """Tokens of one tool: of its documentation (``before``) and of its instruction (``after``)."""

    name: str
    before: int
    after: int

    @property
    def reduction(self) -> float | None:
        """Reduction in percent; None if the documentation has no tokens."""
        return reduction(self.before, self.after)


@dataclass(frozen=True)
class TokenStats:
    """Tokens of all tools.

    Attributes:
        tools: The tools with both, in the documentation's order.
        only_documented: Tools without an instruction; not counted.
        only_instructed: Instructions without documentation; not counted.
    """

    tools: tuple[ToolTokens, ...]
    only_documented: tuple[str, ...]
    only_instructed: tuple[str, ...]

    @property
    def before(self) -> int:
        """Tokens of all documentation."""
        return sum(tool.before for tool in self.tools)

    @property
    def after(self) -> int:
        """Tokens of all instructions."""
        return sum(tool.after for tool in self.tools)

    @property
    def mean_before(self) -> float:
        """Mean tokens of a tool's documentation: ``Token Doc.`` of Table 3."""
        return self.before / len(self.tools)

    @property
    def mean_after(self) -> float:
        """Mean tokens of a tool's instruction: ``Token Ins.`` of Table 3."""
        return self.after / len(self.tools)

    @property
    def reduction(self) -> float | None:
        """Reduction of all tokens in percent: ``Reduce (%)`` of Table 3; None if the documentation has no tokens."""
        return reduction(self.before, self.after)


def token_stats(
    docs: Iterable[ToolDoc], instructions: Mapping[str, ToolInstruction], count: Callable[[str], int]
) -> TokenStats:
    """Counts the tokens of each tool in a prompt, as :mod:`~opencompass_tooleval.tool_docs.render` formats the tool.

    Args:
        docs: The documentation.
        instructions: Tool name -> instruction.
        count: Text -> number of tokens.

    Raises:
        ValueError: No tool has both documentation and instruction.
    """
    documented = {doc.name: doc for doc in docs}
    tools = tuple(
        ToolTokens(name, count(render_doc(doc)), count(render_instruction(instructions[name])))
        for name, doc in documented.items()
        if name in instructions
    )
    if not tools:
        raise ValueError('no tool of the documentation has an instruction; do both belong to the same tools?')
    return TokenStats(
        tools,
        tuple(name for name in documented if name not in instructions),
        tuple(name for name in instructions if name not in documented),
    )
