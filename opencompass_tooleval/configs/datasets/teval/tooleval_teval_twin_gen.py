# Twins of T-Eval's records: a variable for each language and version of the data, with all kinds.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.twins.config_rows import tooleval_teval_twin_rows

tooleval_teval_en_v1_twin_datasets = tooleval_teval_twin_rows['EN_v1']
tooleval_teval_zh_v1_twin_datasets = tooleval_teval_twin_rows['ZH_v1']
tooleval_teval_en_v2_twin_datasets = tooleval_teval_twin_rows['EN_v2']
tooleval_teval_zh_v2_twin_datasets = tooleval_teval_twin_rows['ZH_v2']
