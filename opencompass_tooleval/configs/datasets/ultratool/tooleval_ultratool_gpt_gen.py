# UltraTool's six tasks as the authors asked GPT: a system prompt, 4,096 tokens, temperature 0, lists='span'.
from mmengine.config import read_base

with read_base():
    from .tooleval_ultratool_preset_rows import tooleval_ultratool_preset_rows

tooleval_ultratool_zh_gpt_datasets = tooleval_ultratool_preset_rows['zh_gpt']
tooleval_ultratool_en_gpt_datasets = tooleval_ultratool_preset_rows['en_gpt']
