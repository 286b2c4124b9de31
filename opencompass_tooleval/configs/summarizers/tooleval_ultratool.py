from mmengine.config import read_base

from opencompass_tooleval.summarizers import ToolEvalSummarizer

with read_base():
    from opencompass_tooleval.benchmarks.ultratool.tables import (
        tooleval_ultratool_rows,
        tooleval_ultratool_summary_groups,
    )

summarizer = dict(
    type=ToolEvalSummarizer,
    dataset_abbrs=tooleval_ultratool_rows,
    summary_groups=tooleval_ultratool_summary_groups,
)
