"""The ``tooleval`` command."""
