"""Grading by a judge model."""
