"""Parses calls that a chat model writes as text, in the formats of chat templates, like a server's tool parser."""
