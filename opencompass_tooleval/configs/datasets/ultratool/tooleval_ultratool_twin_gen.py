# Twins of UltraTool's records: a variable for each language, with all kinds.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.twins.config_rows import tooleval_ultratool_twin_rows

tooleval_ultratool_zh_twin_datasets = tooleval_ultratool_twin_rows['zh']
tooleval_ultratool_en_twin_datasets = tooleval_ultratool_twin_rows['en']
