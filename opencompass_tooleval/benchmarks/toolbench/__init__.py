"""The offline part of ToolBench (Qin et al., 2023) in EasyTool: retrieval, selection, calls, judging."""

VERSION = '4'
"""Raised when data, prompts, scoring or aggregation change."""
