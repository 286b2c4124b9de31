"""UltraTool: planning, tool creation and tool usage in real-world scenarios (arXiv 2401.17167)."""

VERSION = '5'
"""Raised when data handling, prompts, scoring or aggregation change a score."""
