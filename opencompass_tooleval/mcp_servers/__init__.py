"""Servers of the Model Context Protocol (MCP): naming, starting, listing and calling them; and being one."""
