"""Readers of tool documentation, and the formats of concise instructions."""
