"""Checks a model's server with a few short requests: ``tooleval doctor --endpoint``."""
