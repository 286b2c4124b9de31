# UltraTool's six tasks as the authors ran open models: no system prompt, 512 tokens, temperature 0,
# list_choice='last'.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.ultratool.configs import tooleval_ultratool_prompt_style_rows

tooleval_ultratool_zh_open_datasets = tooleval_ultratool_prompt_style_rows['zh_open']
tooleval_ultratool_en_open_datasets = tooleval_ultratool_prompt_style_rows['en_open']
