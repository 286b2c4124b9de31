# All steps in a minute, without download: gold answers for a model, a replayed judge, the encoder of extra `offline`.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_demo_gen import (
        tooleval_agent_datasets,
        tooleval_easytool_teval_en_datasets,
        tooleval_easytool_ultratool_zh_datasets,
        tooleval_fc_demo_datasets,
        tooleval_funcqa_datasets,
        tooleval_restbench_datasets,
        tooleval_teval_en_v2_datasets,
        tooleval_teval_en_v2_fc_datasets,
        tooleval_teval_zh_v2_datasets,
        tooleval_toolbench_datasets,
        tooleval_ultratool_en_datasets,
        tooleval_ultratool_zh_datasets,
    )
    from opencompass_tooleval.configs.models.tooleval_oracle import models
    from opencompass_tooleval.configs.summarizers.tooleval import summarizer
    from opencompass_tooleval.configs.tooleval_local import eval, infer

datasets = [
    *tooleval_teval_en_v2_datasets,
    *tooleval_teval_zh_v2_datasets,
    *tooleval_ultratool_zh_datasets,
    *tooleval_ultratool_en_datasets,
    *tooleval_easytool_teval_en_datasets,
    *tooleval_teval_en_v2_fc_datasets,
    *tooleval_easytool_ultratool_zh_datasets,
    *tooleval_restbench_datasets,
    *tooleval_funcqa_datasets,
    *tooleval_toolbench_datasets,
    *tooleval_fc_demo_datasets,
    *tooleval_agent_datasets,
]
