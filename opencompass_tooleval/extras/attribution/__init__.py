"""Finds out whether the server or the model lost a tool call, from what a run stored of each answer."""
