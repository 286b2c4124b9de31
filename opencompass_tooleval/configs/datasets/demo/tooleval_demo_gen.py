# 56 shipped records of five benchmarks for a first run (tooleval run demo): few and easy ones, written for this
# project. Their scores are not the benchmarks' scores, so names begin with demo-. They need no download, judge or
# native calls, and every data set is complete. All demo records: eval_demo.py.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.configs.datasets.demo.tooleval_funcqa_demo_gen import tooleval_funcqa_datasets as _funcqa
    from opencompass_tooleval.configs.datasets.demo.tooleval_restbench_demo_gen import (
        tooleval_restbench_datasets as _restbench,
    )
    from opencompass_tooleval.configs.datasets.demo.tooleval_teval_demo_gen import (
        tooleval_teval_en_v2_datasets as _teval,
    )
    from opencompass_tooleval.configs.datasets.demo.tooleval_toolbench_demo_gen import (
        tooleval_toolbench_datasets as _toolbench,
    )
    from opencompass_tooleval.configs.datasets.demo.tooleval_ultratool_demo_gen import (
        tooleval_ultratool_en_datasets as _ultratool,
    )

_abbrs = [
    *['tooleval-teval-plan_json_v2', 'tooleval-teval-plan_str_v2', 'tooleval-teval-review_str_v2'],
    *['tooleval-ultratool-tool_selection_en', 'tooleval-ultratool-tool_usage_awareness_en'],
    *['tooleval-ultratool-tool_usage_en', 'tooleval-restbench-tmdb', 'tooleval-restbench-tmdb-easytool'],
    *['tooleval-funcqa-multi_hop-zero_shot', 'tooleval-toolbench-selection_5', 'tooleval-toolbench-calls_g2'],
]
tooleval_demo_datasets = [
    dict(row, abbr=f'demo-{row["abbr"][9:]}')
    for row in [*_teval, *_ultratool, *_restbench, *_funcqa, *_toolbench]
    if row['abbr'] in _abbrs
]
