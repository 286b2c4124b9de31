# UltraTool's six tasks as the authors asked open models: no system prompt, 512 tokens, temperature 0, lists='last'.
from mmengine.config import read_base

with read_base():
    from .tooleval_ultratool_infer import tooleval_ultratool_preset_infer_cfgs
    from .tooleval_ultratool_zh_rows import tooleval_ultratool_zh_rows

tooleval_ultratool_zh_open_datasets = [
    dict(
        row,
        preset='open',
        infer_cfg=tooleval_ultratool_preset_infer_cfgs['open'],
        eval_cfg=dict(evaluator=dict(row['eval_cfg']['evaluator'], preset='open')),  # type: ignore[index]
    )
    for row in tooleval_ultratool_zh_rows[:6]
]
