# UltraTool's six tasks as the authors asked GPT: a system prompt, 4,096 tokens, temperature 0, lists='span'.
from mmengine.config import read_base

with read_base():
    from .tooleval_ultratool_infer import tooleval_ultratool_preset_infer_cfgs
    from .tooleval_ultratool_zh_rows import tooleval_ultratool_zh_rows

tooleval_ultratool_zh_gpt_datasets = [
    dict(
        row,
        preset='gpt',
        infer_cfg=tooleval_ultratool_preset_infer_cfgs['gpt'],
        eval_cfg=dict(evaluator=dict(row['eval_cfg']['evaluator'], preset='gpt')),  # type: ignore[index]
    )
    for row in tooleval_ultratool_zh_rows[:6]
]
