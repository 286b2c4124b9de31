# UltraTool's six tasks, in Chinese and in English.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.ultratool.configs import tooleval_ultratool_rows

tooleval_ultratool_zh_datasets = tooleval_ultratool_rows['zh'][:6]
tooleval_ultratool_en_datasets = tooleval_ultratool_rows['en'][:6]
