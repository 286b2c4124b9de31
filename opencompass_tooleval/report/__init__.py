"""The report of a sweep: pure functions that build the figures' data, templates, and what writes them."""
