from mmengine.config import read_base

with read_base():
    from .tooleval_ultratool_en_rows import tooleval_ultratool_en_rows

tooleval_ultratool_en_tool_usage_datasets = [row for row in tooleval_ultratool_en_rows if row['name'] == 'tool_usage']
