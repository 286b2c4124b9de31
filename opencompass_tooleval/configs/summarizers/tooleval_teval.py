from mmengine.config import read_base

from opencompass_tooleval.summarizers import ToolEvalVariantSummarizer

with read_base():
    from opencompass_tooleval.benchmarks.teval.config_groups import tooleval_teval_fc_rows
    from opencompass_tooleval.benchmarks.teval.groups import tooleval_teval_rows, tooleval_teval_summary_groups

summarizer = dict(
    type=ToolEvalVariantSummarizer,
    dataset_abbrs=[*tooleval_teval_rows, *tooleval_teval_fc_rows],
    summary_groups=tooleval_teval_summary_groups,
)
