# UltraTool's six tasks as the authors asked GPT (a system prompt, 4,096 tokens, lists='span') and open models (no
# system prompt, 512 tokens, lists='last'), at temperature 0, by language and preset.
from mmengine.config import read_base

with read_base():
    from .tooleval_ultratool_infer import tooleval_ultratool_preset_infer_cfgs
    from .tooleval_ultratool_rows import tooleval_ultratool_rows

tooleval_ultratool_preset_rows = {
    f'{language}_{preset}': [
        dict(
            row,
            preset=preset,
            infer_cfg=tooleval_ultratool_preset_infer_cfgs[preset],
            eval_cfg=dict(evaluator=dict(row['eval_cfg']['evaluator'], preset=preset)),  # type: ignore[index]
        )
        for row in tooleval_ultratool_rows[language][:6]
    ]
    for language in tooleval_ultratool_rows
    for preset in tooleval_ultratool_preset_infer_cfgs
}
