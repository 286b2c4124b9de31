"""Twins of published records, changed by functions whose effect on the gold is exactly known."""

VERSION = '2'
"""Version of the changes; increased when a twin of a record becomes another."""
