"""Sentence encoders as a :class:`~opencompass_tooleval.core.similarity.Similarity`."""
