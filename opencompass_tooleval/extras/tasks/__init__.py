"""Tasks on a user's own tools: their goals, the agents that are scored on them, and their check."""

VERSION = 3
"""Raised when the way in which goals are checked changes."""
