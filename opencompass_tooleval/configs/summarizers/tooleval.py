# Every benchmark of this package; rows that no model has are left out.
from mmengine.config import read_base

from opencompass_tooleval.host.summarizer import ToolEvalSummarizer

with read_base():
    from .groups.tooleval_teval import tooleval_teval_rows, tooleval_teval_summary_groups
    from .groups.tooleval_ultratool import tooleval_ultratool_rows, tooleval_ultratool_summary_groups

summarizer = dict(
    type=ToolEvalSummarizer,
    dataset_abbrs=[*tooleval_teval_rows, *tooleval_ultratool_rows],
    summary_groups=[*tooleval_teval_summary_groups, *tooleval_ultratool_summary_groups],
)
