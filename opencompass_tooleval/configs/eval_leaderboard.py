# A leaderboard sweep on one machine: every model on T-Eval and UltraTool in both languages, and with EasyTool
# instructions (`tooleval easytool generate` makes them). Copy this file and add your own models. `tooleval plan`
# estimates the run, `tooleval status` shows its progress. Plans and created tools need a judge: set $OC_JUDGE_MODEL,
# $OC_JUDGE_API_KEY and $OC_JUDGE_API_BASE, or give the evaluators a judge_cfg.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_easytool_gen import (
        tooleval_teval_en_v2_easytool_datasets,
        tooleval_teval_zh_v2_easytool_datasets,
    )
    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_gen import (
        tooleval_teval_en_v2_datasets,
        tooleval_teval_zh_v2_datasets,
    )
    from opencompass_tooleval.configs.datasets.ultratool.tooleval_ultratool_easytool_gen import (
        tooleval_ultratool_en_easytool_datasets,
        tooleval_ultratool_zh_easytool_datasets,
    )
    from opencompass_tooleval.configs.datasets.ultratool.tooleval_ultratool_gen import (
        tooleval_ultratool_en_datasets,
        tooleval_ultratool_zh_datasets,
    )
    from opencompass_tooleval.configs.models.tooleval_api import models as api_models
    from opencompass_tooleval.configs.models.tooleval_hf_qwen2_5_7b_instruct import models as hf_models
    from opencompass_tooleval.configs.summarizers.tooleval_easytool import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

models = [*hf_models, *api_models]
datasets = [
    *[*tooleval_teval_en_v2_datasets, *tooleval_teval_zh_v2_datasets],
    *[*tooleval_ultratool_zh_datasets, *tooleval_ultratool_en_datasets],
    *[*tooleval_teval_en_v2_easytool_datasets, *tooleval_teval_zh_v2_easytool_datasets],
    *[*tooleval_ultratool_zh_easytool_datasets, *tooleval_ultratool_en_easytool_datasets],
]
work_dir = 'outputs/leaderboard'

limit = 0  # number of records; 10 for a first try with the first ten of each data set
for _row in datasets if limit else []:
    _row['reader_cfg']['test_range'] = f'[:{limit}]'  # type: ignore[index]
