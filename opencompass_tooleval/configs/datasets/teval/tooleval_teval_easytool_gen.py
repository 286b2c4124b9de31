# T-Eval with EasyTool instructions instead of the documentation: a variable for each language and version.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.instructions.config_rows import tooleval_teval_easytool_rows

tooleval_teval_en_v1_easytool_datasets = tooleval_teval_easytool_rows['en_v1']
tooleval_teval_zh_v1_easytool_datasets = tooleval_teval_easytool_rows['zh_v1']
tooleval_teval_en_v2_easytool_datasets = tooleval_teval_easytool_rows['en_v2']
tooleval_teval_zh_v2_easytool_datasets = tooleval_teval_easytool_rows['zh_v2']
