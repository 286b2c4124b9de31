from mmengine.config import read_base

with read_base():
    from .tooleval_ultratool_rows import tooleval_ultratool_rows

tooleval_ultratool_en_rows = tooleval_ultratool_rows['en']
