# UltraTool in both languages. Copy this file and add your own models. Plans and created tools need a judge: set
# $OC_JUDGE_MODEL, $OC_JUDGE_API_KEY and $OC_JUDGE_API_BASE, or give the evaluators a judge_cfg.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.datasets.ultratool.tooleval_ultratool_gen import (
        tooleval_ultratool_en_datasets,
        tooleval_ultratool_zh_datasets,
    )
    from opencompass_tooleval.configs.models.tooleval_hf_qwen2_5_7b_instruct import models
    from opencompass_tooleval.configs.summarizers.tooleval_ultratool import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [*tooleval_ultratool_zh_datasets, *tooleval_ultratool_en_datasets]

limit = 0  # number of records; 10 for a first try with the first ten of each data set
for _row in datasets if limit else []:
    _row['reader_cfg']['test_range'] = f'[:{limit}]'  # type: ignore[index]
