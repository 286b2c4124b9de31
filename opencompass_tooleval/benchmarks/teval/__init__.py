"""T-Eval: six abilities of tool use, step by step (arXiv 2312.14033)."""

VERSION = '3'
"""Raised when data handling, prompts, scoring or aggregation change a score."""
