# UltraTool with EasyTool instructions instead of the toolsets: the published tasks, and those built from annotations.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.instructions.config_rows import tooleval_ultratool_easytool_rows

tooleval_ultratool_zh_easytool_datasets = tooleval_ultratool_easytool_rows['zh']
tooleval_ultratool_en_easytool_datasets = tooleval_ultratool_easytool_rows['en']
tooleval_ultratool_zh_built_easytool_datasets = tooleval_ultratool_easytool_rows['zh_built']
tooleval_ultratool_en_built_easytool_datasets = tooleval_ultratool_easytool_rows['en_built']
