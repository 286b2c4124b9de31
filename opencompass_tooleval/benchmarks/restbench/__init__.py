"""RestBench (Song et al., 2023) as EasyTool uses it: the model chooses the tools of a web service, in order."""

VERSION = '5'
"""Raised when data, prompts, scoring or aggregation change."""
