"""EasyTool (Yuan et al., 2024): concise tool instructions, and what they gain."""

VERSION = '2'
"""Raised when data, prompts, scoring or aggregation change."""
