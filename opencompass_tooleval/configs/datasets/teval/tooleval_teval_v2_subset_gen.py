# T-Eval's v2_subset: English and Chinese.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.teval.configs import tooleval_teval_rows

tooleval_teval_en_v2_subset_datasets = tooleval_teval_rows['EN_v2_subset']
tooleval_teval_zh_v2_subset_datasets = tooleval_teval_rows['ZH_v2_subset']
