"""The leaderboard, and each benchmark with documentation and with EasyTool instructions side by side: glue only."""

from __future__ import annotations

from opencompass_tooleval.easytool.variant_kind import EASYTOOL
from opencompass_tooleval.host.variant_summarizer import VariantSummarizer


class ToolEvalEasyToolSummarizer(VariantSummarizer):
    """:class:`VariantSummarizer` of ``X`` with documentation beside ``X-easytool`` with instructions."""

    kind = EASYTOOL
