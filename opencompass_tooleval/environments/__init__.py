"""What answers a tool call: recorded responses, Python functions with state, and the tool's own error."""
