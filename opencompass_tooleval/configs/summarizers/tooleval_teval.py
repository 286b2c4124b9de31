from mmengine.config import read_base

from opencompass_tooleval.summarizers import ToolEvalVariantSummarizer

with read_base():
    from opencompass_tooleval.benchmarks.teval.configs import tooleval_teval_fc_metrics
    from opencompass_tooleval.benchmarks.teval.tables import tooleval_teval_rows, tooleval_teval_summary_groups

summarizer = dict(
    type=ToolEvalVariantSummarizer,
    dataset_abbrs=[*tooleval_teval_rows, *tooleval_teval_fc_metrics],
    summary_groups=tooleval_teval_summary_groups,
)
