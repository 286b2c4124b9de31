# T-Eval with EasyTool instructions in place of the documentation; tooleval_teval_zh_v1_gen has it with.
from mmengine.config import read_base

with read_base():
    from .tooleval_teval_easytool_rows import tooleval_teval_easytool_rows

tooleval_teval_zh_v1_easytool_datasets = tooleval_teval_easytool_rows['zh_v1']
