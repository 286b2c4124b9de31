# RestBench, with documentation and with instructions side by side.
from mmengine.config import read_base

from opencompass_tooleval.host.variant_summarizer import ToolEvalVariantSummarizer

with read_base():
    from .groups.tooleval_restbench_groups import tooleval_restbench_rows

summarizer = dict(type=ToolEvalVariantSummarizer, dataset_abbrs=tooleval_restbench_rows, summary_groups=[])
