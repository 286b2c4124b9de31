# Data that the authors do not have, from `tooleval build ultratool`: larger toolsets, tool_usage with repaired gold.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.ultratool.configs import tooleval_ultratool_rows

tooleval_ultratool_zh_built_datasets = tooleval_ultratool_rows['zh'][6:]
tooleval_ultratool_en_built_datasets = tooleval_ultratool_rows['en'][6:]
