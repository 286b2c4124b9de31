from mmengine.config import read_base

from opencompass_tooleval.summarizers import ToolEvalVariantSummarizer

with read_base():
    from opencompass_tooleval.benchmarks.funcqa.tables import tooleval_funcqa_rows, tooleval_funcqa_summary_groups

summarizer = dict(
    type=ToolEvalVariantSummarizer,
    dataset_abbrs=tooleval_funcqa_rows,
    summary_groups=tooleval_funcqa_summary_groups,
)
