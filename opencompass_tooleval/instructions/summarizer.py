"""The leaderboard, and each benchmark with documentation and with EasyTool instructions side by side: glue only."""

from __future__ import annotations

from opencompass_tooleval.summarizers.variant_summarizer import ToolEvalVariantSummarizer


class ToolEvalEasyToolSummarizer(ToolEvalVariantSummarizer):
    """:class:`ToolEvalVariantSummarizer` of nothing but ``X`` with documentation beside ``X-easytool``."""

    kinds = ('easytool',)
