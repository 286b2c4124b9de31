"""Inferencers for import in configs."""

from typing import TYPE_CHECKING

from opencompass_tooleval.core.lazy_import import lazy_getattr

if TYPE_CHECKING:
    from opencompass_tooleval.inferencers.dialogue_inferencer import (
        ToolEvalDialogueGenInferencer as ToolEvalDialogueGenInferencer,
    )
    from opencompass_tooleval.inferencers.inferencer import ToolEvalGenInferencer as ToolEvalGenInferencer

__getattr__ = lazy_getattr(
    __name__,
    {
        'ToolEvalGenInferencer': 'inferencer',
        'ToolEvalDialogueGenInferencer': 'dialogue_inferencer',
    },
)
