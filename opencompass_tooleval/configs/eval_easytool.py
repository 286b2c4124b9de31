# T-Eval, UltraTool, RestBench and ToolBench with documentation and with EasyTool instructions. Copy this file and add
# your own models. First make instructions, below $COMPASS_DATA_CACHE like the data: for teval with this command, and
# in the same way for ultratool (data/ultratool/Chinese-dataset, ultratool_zh.json) and toolbench
# (toolbench/G1_instruction.json, toolbench_G1.json); `--model template` makes them without a model:
#   tooleval easytool generate --source teval --input data/teval/EN --model MODEL --out data/easytool/teval_en_v2.json
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.restbench.configs import tooleval_restbench_rows
    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_easytool_gen import (
        tooleval_teval_en_v2_easytool_datasets,
    )
    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_gen import tooleval_teval_en_v2_datasets
    from opencompass_tooleval.configs.datasets.toolbench.tooleval_toolbench_easytool_gen import (
        tooleval_toolbench_selection_easytool_datasets,
    )
    from opencompass_tooleval.configs.datasets.toolbench.tooleval_toolbench_gen import (
        tooleval_toolbench_selection_datasets,
    )
    from opencompass_tooleval.configs.datasets.ultratool.tooleval_ultratool_easytool_gen import (
        tooleval_ultratool_zh_easytool_datasets,
    )
    from opencompass_tooleval.configs.datasets.ultratool.tooleval_ultratool_gen import tooleval_ultratool_zh_datasets
    from opencompass_tooleval.configs.models.tooleval_hf_qwen2_5_7b_instruct import models
    from opencompass_tooleval.configs.summarizers.tooleval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

_ultratool = [row['name'] for row in tooleval_ultratool_zh_easytool_datasets]
_restbench = ['tooleval-restbench-tmdb', 'tooleval-restbench-tmdb-easytool']
datasets = [
    *[*tooleval_teval_en_v2_datasets, *tooleval_teval_en_v2_easytool_datasets],
    *[row for row in tooleval_ultratool_zh_datasets if row['name'] in _ultratool],
    *tooleval_ultratool_zh_easytool_datasets,
    *[row for row in tooleval_restbench_rows if row['abbr'] in _restbench],
    *[*tooleval_toolbench_selection_datasets, *tooleval_toolbench_selection_easytool_datasets],
]

limit = 0  # number of records; 10 for a first try with the first ten of each data set
for _row in datasets if limit else []:
    _row['reader_cfg']['test_range'] = f'[:{limit}]'  # type: ignore[index]
