from mmengine.config import read_base

with read_base():
    from .tooleval_teval_fc_rows import tooleval_teval_fc_rows

tooleval_teval_zh_v2_subset_fc_datasets = tooleval_teval_fc_rows['ZH_v2_subset']
