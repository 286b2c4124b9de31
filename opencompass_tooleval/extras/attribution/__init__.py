"""Tells whose fault a lost tool call is, from what the rows of a run keep of each answer."""
