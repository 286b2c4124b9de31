"""Sentence encoders that implement :class:`~opencompass_tooleval.core.scoring.scorer.Similarity`."""
