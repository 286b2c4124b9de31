# All steps in a minute, without download: gold answers for a model, a replayed judge, the encoder of extra `offline`.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_agent_demo_gen import tooleval_agent_datasets
    from opencompass_tooleval.configs.datasets.demo.tooleval_easytool_demo_gen import (
        tooleval_teval_en_v2_easytool_datasets,
        tooleval_ultratool_zh_easytool_datasets,
    )
    from opencompass_tooleval.configs.datasets.demo.tooleval_fc_demo_gen import tooleval_fc_demo_datasets
    from opencompass_tooleval.configs.datasets.demo.tooleval_funcqa_demo_gen import tooleval_funcqa_datasets
    from opencompass_tooleval.configs.datasets.demo.tooleval_restbench_demo_gen import tooleval_restbench_datasets
    from opencompass_tooleval.configs.datasets.demo.tooleval_teval_demo_gen import (
        tooleval_teval_en_v2_datasets,
        tooleval_teval_en_v2_fc_datasets,
        tooleval_teval_zh_v2_datasets,
    )
    from opencompass_tooleval.configs.datasets.demo.tooleval_toolbench_demo_gen import tooleval_toolbench_datasets
    from opencompass_tooleval.configs.datasets.demo.tooleval_ultratool_demo_gen import (
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
    *tooleval_teval_en_v2_easytool_datasets,
    *tooleval_teval_en_v2_fc_datasets,
    *tooleval_ultratool_zh_easytool_datasets,
    *tooleval_restbench_datasets,
    *tooleval_funcqa_datasets,
    *tooleval_toolbench_datasets,
    *tooleval_fc_demo_datasets,
    *tooleval_agent_datasets,
]
