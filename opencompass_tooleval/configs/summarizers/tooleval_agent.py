# Agents, loop by loop, and comparisons with the runs with instructions, or with written calls.
from mmengine.config import read_base

from opencompass_tooleval.summarizers import ToolEvalVariantSummarizer

with read_base():
    from opencompass_tooleval.agents.config_groups import tooleval_agent_rows, tooleval_agent_summary_groups

summarizer = dict(
    type=ToolEvalVariantSummarizer,
    dataset_abbrs=tooleval_agent_rows,
    summary_groups=tooleval_agent_summary_groups,
)
