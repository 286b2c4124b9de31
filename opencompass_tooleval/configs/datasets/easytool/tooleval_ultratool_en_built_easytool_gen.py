# UltraTool with EasyTool instructions in place of the toolsets; tooleval_ultratool_en_built_gen has it with those.
from mmengine.config import read_base

with read_base():
    from .tooleval_ultratool_easytool_rows import tooleval_ultratool_easytool_rows

tooleval_ultratool_en_built_easytool_datasets = tooleval_ultratool_easytool_rows['en_built']
