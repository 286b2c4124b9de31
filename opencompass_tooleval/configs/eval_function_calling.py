# The gain of native function calling over calls written as text: T-Eval, ToolBench's calls, RestBench and FuncQA, each
# in both ways. Copy this file and add your own models; their class must support tools (ToolEvalOpenAI, ToolEvalServed,
# ToolEvalHFChat, ToolEvalVLLMChat); `tooleval doctor --endpoint` checks a server.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.datasets.funcqa.tooleval_funcqa_fc_gen import tooleval_funcqa_fc_datasets
    from opencompass_tooleval.configs.datasets.funcqa.tooleval_funcqa_gen import tooleval_funcqa_react_datasets
    from opencompass_tooleval.configs.datasets.restbench.tooleval_restbench_fc_gen import (
        tooleval_restbench_tmdb_fc_datasets,
    )
    from opencompass_tooleval.configs.datasets.restbench.tooleval_restbench_gen import (
        tooleval_restbench_tmdb_datasets,
    )
    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_fc_gen import tooleval_teval_en_v2_fc_datasets
    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_gen import tooleval_teval_en_v2_datasets
    from opencompass_tooleval.configs.datasets.toolbench.tooleval_toolbench_calls_fc_gen import (
        tooleval_toolbench_calls_fc_datasets,
    )
    from opencompass_tooleval.configs.datasets.toolbench.tooleval_toolbench_gen import (
        tooleval_toolbench_calls_datasets,
    )
    from opencompass_tooleval.configs.models.tooleval_api import models
    from opencompass_tooleval.configs.summarizers.tooleval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

_called = [row['name'] for row in tooleval_teval_en_v2_fc_datasets]
datasets = [
    *[row for row in tooleval_teval_en_v2_datasets if row['name'] in _called],
    *tooleval_teval_en_v2_fc_datasets,
    *[*tooleval_toolbench_calls_datasets, *tooleval_toolbench_calls_fc_datasets],
    *[*tooleval_restbench_tmdb_datasets, *tooleval_restbench_tmdb_fc_datasets],
    *[*tooleval_funcqa_react_datasets, *tooleval_funcqa_fc_datasets],
]

limit = 0  # number of records; 10 for a first try with the first ten of each data set
for _row in datasets if limit else []:
    _row['reader_cfg']['test_range'] = f'[:{limit}]'
