from mmengine.config import read_base

with read_base():
    from .tooleval_teval_fc_rows import tooleval_teval_fc_rows

tooleval_teval_en_v2_fc_datasets = tooleval_teval_fc_rows['EN_v2']
