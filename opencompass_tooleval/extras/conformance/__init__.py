"""Conformance: fixed requests that show if a served model answers like a reference."""

VERSION = '2'
"""Raised when data, prompts, scoring or aggregation change."""
