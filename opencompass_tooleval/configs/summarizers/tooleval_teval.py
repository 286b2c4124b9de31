from mmengine.config import read_base

from opencompass_tooleval.host.summarizer import ToolEvalSummarizer

with read_base():
    from .groups.tooleval_teval_groups import tooleval_teval_rows, tooleval_teval_summary_groups

summarizer = dict(
    type=ToolEvalSummarizer,
    dataset_abbrs=tooleval_teval_rows,
    summary_groups=tooleval_teval_summary_groups,
)
