# UltraTool's six tasks.
from mmengine.config import read_base

with read_base():
    from .tooleval_ultratool_en_rows import tooleval_ultratool_en_rows

tooleval_ultratool_en_datasets = tooleval_ultratool_en_rows[:6]
