"""Documentation of tools, and the formats of concise instructions."""
