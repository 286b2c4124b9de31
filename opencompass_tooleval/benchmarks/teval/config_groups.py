# Metrics of the data sets with native function calling, which are in no table: arguments before the format.
from mmengine.config import read_base

with read_base():
    from opencompass_tooleval.benchmarks.teval.subsets import FUNCTION_CALLING

_first = ['json_args_em_metric', 'args', 'name']
tooleval_teval_fc_rows = [
    [f'tooleval-teval-{_subset["name"]}_{_version}-fc', _metric]
    for _version in ['v1', 'v1_zh', 'v2', 'v2_zh', 'v2_subset', 'v2_subset_zh']
    for _subset in FUNCTION_CALLING
    for _metric in [
        *[_m for _m in _first if _m in _subset['metrics']],
        *[_m for _m in _subset['metrics'] if _m not in _first],
    ]
]
