# T-Eval and UltraTool, and comparisons of documentation and instructions. Tokens are counted with each model's
# tokenizer if it is on this machine; set another one with tokenizer='FOLDER'.
from mmengine.config import read_base

from opencompass_tooleval.instructions.adapter import ToolEvalEasyToolSummarizer

with read_base():
    from opencompass_tooleval.benchmarks.teval.tables import tooleval_teval_rows, tooleval_teval_summary_groups
    from opencompass_tooleval.benchmarks.ultratool.tables import (
        tooleval_ultratool_rows,
        tooleval_ultratool_summary_groups,
    )
    from opencompass_tooleval.instructions.config_groups import tooleval_easytool_rows, tooleval_easytool_summary_groups

summarizer = dict(
    type=ToolEvalEasyToolSummarizer,
    dataset_abbrs=[*tooleval_teval_rows, *tooleval_ultratool_rows, *tooleval_easytool_rows],
    summary_groups=[
        *tooleval_teval_summary_groups,
        *tooleval_ultratool_summary_groups,
        *tooleval_easytool_summary_groups,
    ],
)
