# UltraTool's six tasks one by one, in the paper's order: a variable for each task and language.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.ultratool.configs import tooleval_ultratool_rows

tooleval_ultratool_zh_planning_datasets = tooleval_ultratool_rows['zh'][0:1]
tooleval_ultratool_zh_tool_creation_awareness_datasets = tooleval_ultratool_rows['zh'][1:2]
tooleval_ultratool_zh_tool_creation_datasets = tooleval_ultratool_rows['zh'][2:3]
tooleval_ultratool_zh_tool_usage_awareness_datasets = tooleval_ultratool_rows['zh'][3:4]
tooleval_ultratool_zh_tool_selection_datasets = tooleval_ultratool_rows['zh'][4:5]
tooleval_ultratool_zh_tool_usage_datasets = tooleval_ultratool_rows['zh'][5:6]
tooleval_ultratool_en_planning_datasets = tooleval_ultratool_rows['en'][0:1]
tooleval_ultratool_en_tool_creation_awareness_datasets = tooleval_ultratool_rows['en'][1:2]
tooleval_ultratool_en_tool_creation_datasets = tooleval_ultratool_rows['en'][2:3]
tooleval_ultratool_en_tool_usage_awareness_datasets = tooleval_ultratool_rows['en'][3:4]
tooleval_ultratool_en_tool_selection_datasets = tooleval_ultratool_rows['en'][4:5]
tooleval_ultratool_en_tool_usage_datasets = tooleval_ultratool_rows['en'][5:6]
