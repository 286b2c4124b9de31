"""Answers tool calls, from recorded responses, with Python functions with state, or with the tool's own error."""
