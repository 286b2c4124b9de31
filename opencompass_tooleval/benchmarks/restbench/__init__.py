"""RestBench (Song et al., 2023) as EasyTool uses it: which tools of a web service, in which order."""

VERSION = '3'
"""Raised when data, prompts, scoring or aggregation change."""
