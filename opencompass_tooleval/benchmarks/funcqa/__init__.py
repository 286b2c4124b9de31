"""FuncQA (Hao et al., 2023) as EasyTool uses it: arithmetic questions and 13 tools (EasyTool, Section 5.3)."""

VERSION = '6'
"""Raised when data, prompts, scoring or aggregation change."""
