# FuncQA: a variable for each of the four methods of Table 6. ReAct needs the extra `agent`.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.agents.funcqa_config_rows import tooleval_funcqa_rows

tooleval_funcqa_zero_shot_datasets = tooleval_funcqa_rows[0:2]
tooleval_funcqa_cot_datasets = tooleval_funcqa_rows[2:4]
tooleval_funcqa_react_datasets = tooleval_funcqa_rows[4:6]
tooleval_funcqa_easytool_datasets = tooleval_funcqa_rows[6:8]
