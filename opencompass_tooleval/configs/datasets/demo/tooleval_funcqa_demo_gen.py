# Demo questions in FuncQA's format: shipped with this package. ReAct has its own variable: it needs the extra `agent`.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.agents.funcqa_config_rows import tooleval_funcqa_rows

for _dataset in tooleval_funcqa_rows:
    _dataset['path'] = 'tooleval:demo/funcqa'
    if _dataset['infer_cfg']['inferencer']['dialogues']['method'] == 'easytool':  # type: ignore[index]
        _dataset['infer_cfg']['inferencer']['dialogues']['instructions'] = (  # type: ignore[index]
            'tooleval:demo/funcqa/functions_data.json'
        )

tooleval_funcqa_react_datasets = tooleval_funcqa_rows[4:6]
tooleval_funcqa_datasets = [*tooleval_funcqa_rows[:4], *tooleval_funcqa_rows[6:]]
