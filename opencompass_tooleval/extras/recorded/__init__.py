"""Recorded answers: scores of the authors' runs and of a user's files, their judgements, and judges' agreement."""
