"""Faults of configs and machines, and caveats of results, as one kind of row."""
