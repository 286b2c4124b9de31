"""EasyTool (Yuan et al., 2024): makes concise tool instructions, and measures their effect."""

VERSION = '2'
"""Version of the benchmark; raised when data, prompts, scoring or aggregation change."""
