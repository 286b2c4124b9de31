from mmengine.config import read_base

with read_base():
    from .tooleval_teval_rows import tooleval_teval_rows

tooleval_teval_en_v2_subset_datasets = tooleval_teval_rows['EN_v2_subset']
