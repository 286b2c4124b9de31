"""Agents: a loop sends requests to a model, an environment answers its calls, and the trajectory is scored."""

VERSION = '6'
"""Raised when tasks, prompts, loops, scoring or aggregation change."""
