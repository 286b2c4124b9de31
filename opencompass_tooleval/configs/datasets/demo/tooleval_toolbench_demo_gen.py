# Demo records in ToolBench's format: shipped with this package, with documentation and with instructions; the packaged
# encoder finds the candidates, and a replayed judge judges stored trajectories. The tools suffice for five candidates.
from mmengine.config import read_base

from opencompass_tooleval.models import ReplayModel

with read_base():
    from opencompass_tooleval.benchmarks.toolbench.configs import tooleval_toolbench_rows

    from ..toolbench.tooleval_toolbench_success_gen import tooleval_toolbench_success_datasets as _success

tooleval_toolbench_datasets = [
    row
    for row in tooleval_toolbench_rows
    if row['name'] in ['selection_5', 'calls_g2', 'calls_g3'] and 'method' not in row
]
for _dataset in tooleval_toolbench_datasets:
    _dataset['path'] = 'tooleval:demo/toolbench'
    _dataset['encoder'] = 'offline'
    if 'instructions' in _dataset:
        _dataset['instructions'] = 'tooleval:demo/toolbench/instructions.json'
for _dataset in _success:
    _dataset['path'] = 'tooleval:demo/toolbench/trajectories.jsonl'
    _dataset['eval_cfg']['evaluator']['judge_cfg'] = dict(  # type: ignore[index]
        type=ReplayModel, abbr='replayed-judge', path='tooleval:demo/toolbench/judge_success.jsonl'
    )
    tooleval_toolbench_datasets.append(_dataset)
