"""Tasks on a user's own tools: reads, checks and scores them."""

VERSION = 6
"""Version of the goal check; increase it when scores can change."""
