"""Recorded answers: scores of the authors' runs and of a user's files, judgements of them, and their agreement."""
