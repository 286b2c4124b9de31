"""Base classes of the benchmarks' evaluators."""

from typing import TYPE_CHECKING

from opencompass_tooleval.core.lazy_import import lazy_getattr

if TYPE_CHECKING:
    from opencompass_tooleval.evaluators.evaluator import ToolEvalCallsEvaluator as ToolEvalCallsEvaluator
    from opencompass_tooleval.evaluators.evaluator import ToolEvalEvaluator as ToolEvalEvaluator

__getattr__ = lazy_getattr(
    __name__,
    {
        'ToolEvalEvaluator': 'evaluator',
        'ToolEvalCallsEvaluator': 'evaluator',
    },
)
