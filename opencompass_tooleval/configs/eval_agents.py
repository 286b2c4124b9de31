# Agents offline: all loops, with documentation and with EasyTool instructions. Copy this file, add your own models,
# whose class must support tools, and a simulator for UltraTool, which has no recordings. ReAct in text needs the extra
# `agent`. First make banks and instructions:
#   tooleval agents bank build --from data/teval/EN --out data/agents/teval.bank
#   tooleval agents bank build --from RUNS_OR_CACHE... --out data/agents/toolbench.bank
#   tooleval easytool generate --source toolbench --input data/toolbench/G3_instruction.json --model my_model.py \
#       --out data/easytool/toolbench_G3.json
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.agents.config_rows import tooleval_agent_rows
    from opencompass_tooleval.configs.models.tooleval_api import models
    from opencompass_tooleval.configs.models.tooleval_api import models as simulators
    from opencompass_tooleval.configs.summarizers.tooleval_agent import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

dataset_abbrs = [  # each must exist
    'tooleval-teval-agent-react',
    'tooleval-teval-agent-fc',
    'tooleval-toolbench_g2-agent-react',
    'tooleval-toolbench_g3-agent-react',
    'tooleval-toolbench_g3-agent-react-easytool',
    'tooleval-toolbench_g3-agent-dfsdt',
    'tooleval-toolbench_g3-agent-easytool',
    'tooleval-ultratool_en-agent-fc',
]
datasets = [row for row in tooleval_agent_rows if row['abbr'] in dataset_abbrs]
for _row in datasets:
    _dialogues = _row['infer_cfg']['inferencer']['dialogues']  # type: ignore[index]
    if not _dialogues['bank']:
        _dialogues['simulator'] = dict(model=simulators[0], system='stabletoolbench')

limit = 0  # number of records; 10 for a first try with the first ten of each data set
for _row in datasets if limit else []:
    _row['reader_cfg']['test_range'] = f'[:{limit}]'  # type: ignore[index]
