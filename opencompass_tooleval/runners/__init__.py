"""Runners for import in configs."""

from typing import TYPE_CHECKING

from opencompass_tooleval.core.lazy_import import lazy_getattr

if TYPE_CHECKING:
    from opencompass_tooleval.runners.local_runner import ToolEvalLocalRunner as ToolEvalLocalRunner
    from opencompass_tooleval.runners.slurm.runner import SlurmArrayRunner as SlurmArrayRunner

__getattr__ = lazy_getattr(
    __name__,
    {
        'SlurmArrayRunner': 'slurm.runner',
        'ToolEvalLocalRunner': 'local_runner',
    },
)
