from mmengine.config import read_base

from opencompass_tooleval.summarizers import ToolEvalVariantSummarizer

with read_base():
    from .groups.tooleval_fc_groups import tooleval_teval_fc_rows
    from .groups.tooleval_teval_groups import tooleval_teval_rows, tooleval_teval_summary_groups

summarizer = dict(
    type=ToolEvalVariantSummarizer,
    dataset_abbrs=[*tooleval_teval_rows, *tooleval_teval_fc_rows],
    summary_groups=tooleval_teval_summary_groups,
)
