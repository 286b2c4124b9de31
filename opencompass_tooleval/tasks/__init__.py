"""Tasks for import in configs."""

from typing import TYPE_CHECKING

from opencompass_tooleval.core.lazy_import import lazy_getattr

if TYPE_CHECKING:
    from opencompass_tooleval.tasks.eval_task import ToolEvalEvalTask as ToolEvalEvalTask
    from opencompass_tooleval.tasks.infer_task import ToolEvalInferTask as ToolEvalInferTask

__getattr__ = lazy_getattr(
    __name__,
    {
        'ToolEvalEvalTask': 'eval_task',
        'ToolEvalInferTask': 'infer_task',
    },
)
