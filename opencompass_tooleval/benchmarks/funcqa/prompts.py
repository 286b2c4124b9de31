"""Prompts of the methods without tools, and of the method with native tools (EasyTool, Section 5.3).

The prompts are ours: the paper names these methods, but neither the paper nor its code has prompts.
"""

from __future__ import annotations

ZERO_SHOT = """Answer the question with a number. Write nothing but one line of the form "Answer: number".

Question: {question}"""

COT = """Answer the question with a number. Think step by step, and end with one line of the form "Answer: number".

Question: {question}
Let's think step by step."""

FUNCTION_CALLING = """Answer the question with a number. Work out with the tools whatever has to be calculated, and end with one line of the form "Answer: number"."""
