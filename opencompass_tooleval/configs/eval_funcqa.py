# FuncQA with the four methods of EasyTool's Table 6. Copy this file and put your own models in. ReAct needs lagent:
# pip install 'opencompass-tooleval[agent]'
from mmengine.config import read_base

with read_base():
    from .datasets.easytool.tooleval_funcqa_gen import tooleval_funcqa_datasets
    from .models.tooleval_hf_qwen2_5_7b_instruct import models
    from .summarizers.tooleval_funcqa import summarizer
    from .tooleval_local import eval, infer

datasets = [*tooleval_funcqa_datasets]
