# T-Eval v2, English and Chinese. Copy this file and add your own models.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.datasets.teval.tooleval_teval_gen import (
        tooleval_teval_en_v2_datasets,
        tooleval_teval_zh_v2_datasets,
    )
    from opencompass_tooleval.configs.models.tooleval_hf_qwen2_5_7b_instruct import models
    from opencompass_tooleval.configs.summarizers.tooleval_teval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [*tooleval_teval_en_v2_datasets, *tooleval_teval_zh_v2_datasets]

limit = 0  # number of records; 10 for a first try with the first ten of each data set
for _row in datasets if limit else []:
    _row['reader_cfg']['test_range'] = f'[:{limit}]'  # type: ignore[index]
