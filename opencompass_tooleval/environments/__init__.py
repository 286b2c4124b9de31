"""Answers tool calls: from recorded responses, Python functions with state, or with the tool's own error."""
