# ToolBench's rows, and those that ran with instructions too side by side.
from mmengine.config import read_base

from opencompass_tooleval.host.variant_summarizer import ToolEvalVariantSummarizer

with read_base():
    from .groups.tooleval_toolbench_groups import tooleval_toolbench_rows

summarizer = dict(type=ToolEvalVariantSummarizer, dataset_abbrs=tooleval_toolbench_rows, summary_groups=[])
