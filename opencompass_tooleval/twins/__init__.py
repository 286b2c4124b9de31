"""Twins of published records, changed by functions with an exactly known effect on the gold."""

VERSION = '3'
"""Version of the changes; increased when a record gets a different twin."""
