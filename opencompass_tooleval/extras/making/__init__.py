"""New benchmarks from a user's tools: tasks whose gold was executed, their files, their checks and their review."""

VERSION = 2
"""Raised when the way in which goals are made or checked changes. Sets of version 1, whose goals state no form of a
result, are checked as before."""
