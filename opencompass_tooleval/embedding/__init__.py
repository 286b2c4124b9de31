"""Sentence encoders that implement :class:`~opencompass_tooleval.core.similarity.Similarity`."""
