# UltraTool's demo records: shipped with this package, judged by a replayed judge.
from mmengine.config import read_base

from opencompass_tooleval.models import ReplayModel

with read_base():
    from ..ultratool.tooleval_ultratool_gen import tooleval_ultratool_en_datasets, tooleval_ultratool_zh_datasets

for _dataset in [*tooleval_ultratool_zh_datasets, *tooleval_ultratool_en_datasets]:
    _dataset['path'] = 'tooleval:demo/ultratool'
    if _dataset['name'] in ['planning', 'tool_creation']:
        _dataset['eval_cfg']['evaluator']['judge_cfg'] = dict(  # type: ignore[index]
            type=ReplayModel,
            abbr='replayed-judge',
            path=f'tooleval:demo/ultratool/judge_{_dataset["name"]}_{_dataset["language"]}.jsonl',
        )
