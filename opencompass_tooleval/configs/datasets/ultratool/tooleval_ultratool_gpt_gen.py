# UltraTool's six tasks as the authors ran GPT: a system prompt, 4,096 tokens, temperature 0, list_choice='span'.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.ultratool.configs import tooleval_ultratool_prompt_style_rows

tooleval_ultratool_zh_gpt_datasets = tooleval_ultratool_prompt_style_rows['zh_gpt']
tooleval_ultratool_en_gpt_datasets = tooleval_ultratool_prompt_style_rows['en_gpt']
