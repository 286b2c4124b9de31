# T-Eval with native function calling: a variable for each language and version of the data.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.teval.configs import tooleval_teval_fc_rows

tooleval_teval_en_v1_fc_datasets = tooleval_teval_fc_rows['EN_v1']
tooleval_teval_zh_v1_fc_datasets = tooleval_teval_fc_rows['ZH_v1']
tooleval_teval_en_v2_fc_datasets = tooleval_teval_fc_rows['EN_v2']
tooleval_teval_zh_v2_fc_datasets = tooleval_teval_fc_rows['ZH_v2']
tooleval_teval_en_v2_subset_fc_datasets = tooleval_teval_fc_rows['EN_v2_subset']
tooleval_teval_zh_v2_subset_fc_datasets = tooleval_teval_fc_rows['ZH_v2_subset']
