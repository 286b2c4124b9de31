# FuncQA with the four methods of EasyTool's Table 6. Copy this file and put your own models in. ReAct needs lagent:
# pip install 'opencompass-tooleval[agent]'
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.datasets.easytool.tooleval_funcqa_gen import tooleval_funcqa_datasets
    from opencompass_tooleval.configs.models.tooleval_hf_qwen2_5_7b_instruct import models
    from opencompass_tooleval.configs.summarizers.tooleval_funcqa import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [*tooleval_funcqa_datasets]
