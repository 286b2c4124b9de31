"""EasyTool (Yuan et al., 2024): concise tool instructions, and what they gain."""

VERSION = '1'
"""Raised when data, prompts, scoring or aggregation change."""
