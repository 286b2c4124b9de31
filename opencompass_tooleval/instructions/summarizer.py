"""Writes the leaderboard, and compares documentation with EasyTool instructions per benchmark: glue only."""

from __future__ import annotations

from opencompass_tooleval.summarizers.variant_summarizer import ToolEvalVariantSummarizer


class ToolEvalEasyToolSummarizer(ToolEvalVariantSummarizer):
    """:class:`ToolEvalVariantSummarizer` that compares only ``X`` with documentation and ``X-easytool``."""

    kinds = ('easytool',)
