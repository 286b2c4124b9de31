"""Everything that a judge model grades."""
