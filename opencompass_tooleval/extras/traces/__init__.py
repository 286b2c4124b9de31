"""Readers of recorded conversations with tools: chat logs, Inspect's logs, spans of OpenTelemetry."""
