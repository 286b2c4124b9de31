"""Requests to OpenAI-compatible servers, and readers of their replies and failures."""
