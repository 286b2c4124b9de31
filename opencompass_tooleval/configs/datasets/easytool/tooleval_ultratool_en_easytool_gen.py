# UltraTool with EasyTool instructions in place of the toolsets; tooleval_ultratool_en_gen has it with those.
from mmengine.config import read_base

with read_base():
    from .tooleval_ultratool_easytool_rows import tooleval_ultratool_easytool_rows

tooleval_ultratool_en_easytool_datasets = tooleval_ultratool_easytool_rows['en']
