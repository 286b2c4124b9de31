# Every benchmark of this package, and comparisons with runs with instructions or native function calling; rows without
# results are left out.
from mmengine.config import read_base

from opencompass_tooleval.summarizers import ToolEvalVariantSummarizer

with read_base():
    from opencompass_tooleval.agents.config_groups import tooleval_agent_rows, tooleval_agent_summary_groups
    from opencompass_tooleval.benchmarks.funcqa.tables import tooleval_funcqa_rows, tooleval_funcqa_summary_groups
    from opencompass_tooleval.benchmarks.teval.configs import tooleval_teval_fc_metrics
    from opencompass_tooleval.benchmarks.teval.tables import tooleval_teval_rows, tooleval_teval_summary_groups
    from opencompass_tooleval.benchmarks.ultratool.tables import (
        tooleval_ultratool_rows,
        tooleval_ultratool_summary_groups,
    )
    from opencompass_tooleval.instructions.config_groups import tooleval_easytool_rows, tooleval_easytool_summary_groups

    from .tooleval_restbench import tooleval_restbench_rows
    from .tooleval_toolbench import tooleval_toolbench_rows

summarizer = dict(
    type=ToolEvalVariantSummarizer,
    dataset_abbrs=[
        *tooleval_teval_rows,
        *tooleval_teval_fc_metrics,
        *tooleval_ultratool_rows,
        *tooleval_restbench_rows,
        *tooleval_funcqa_rows,
        *tooleval_toolbench_rows,
        *tooleval_agent_rows,
        *tooleval_easytool_rows,
    ],
    summary_groups=[
        *tooleval_teval_summary_groups,
        *tooleval_ultratool_summary_groups,
        *tooleval_funcqa_summary_groups,
        *tooleval_agent_summary_groups,
        *tooleval_easytool_summary_groups,
    ],
)
