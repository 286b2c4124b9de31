"""ToolBench (Qin et al., 2023) as EasyTool uses it, as far as it goes offline: retrieval, selection, calls, judging."""

VERSION = '3'
"""Raised when data, prompts, scoring or aggregation change."""
