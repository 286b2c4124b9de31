# FuncQA with the four methods of EasyTool's Table 6. Copy this file and add your own models. ReAct needs lagent:
# pip install 'opencompass-tooleval[agent]'
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.agents.funcqa_config_rows import tooleval_funcqa_rows
    from opencompass_tooleval.configs.models.tooleval_hf_qwen2_5_7b_instruct import models
    from opencompass_tooleval.configs.summarizers.tooleval_funcqa import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [*tooleval_funcqa_rows]

limit = 0  # number of records; 10 for a first try with the first ten of each data set
for _row in datasets if limit else []:
    _row['reader_cfg']['test_range'] = f'[:{limit}]'  # type: ignore[index]
