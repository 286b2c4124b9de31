"""New benchmarks from a user's tools: tasks whose gold was executed, their files, their checks and their review."""

VERSION = 1
"""Raised when the way in which goals are made or checked changes."""
