"""Servers of the Model Context Protocol (MCP): starts, lists and calls them, and serves tools as a server."""
