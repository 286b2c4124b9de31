# T-Eval v1, the version of the paper: English and Chinese.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.teval.configs import tooleval_teval_rows

tooleval_teval_en_v1_datasets = tooleval_teval_rows['EN_v1']
tooleval_teval_zh_v1_datasets = tooleval_teval_rows['ZH_v1']
