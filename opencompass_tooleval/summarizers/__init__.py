"""Summarizers, in the module from which configs import them."""

from typing import TYPE_CHECKING

from opencompass_tooleval.core.lazy_import import lazy_getattr

if TYPE_CHECKING:
    from opencompass_tooleval.summarizers.summarizer import ToolEvalSummarizer as ToolEvalSummarizer
    from opencompass_tooleval.summarizers.variant_summarizer import (
        ToolEvalVariantSummarizer as ToolEvalVariantSummarizer,
    )

__getattr__ = lazy_getattr(
    __name__,
    {
        'ToolEvalSummarizer': 'summarizer',
        'ToolEvalVariantSummarizer': 'variant_summarizer',
    },
)
