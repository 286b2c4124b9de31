# UltraTool's six tasks as the authors ran GPT (a system prompt, 4,096 tokens, list_choice='span') and open models (no
# system prompt, 512 tokens, list_choice='last'), at temperature 0, by language and prompt style.
from mmengine.config import read_base

with read_base():
    from .tooleval_ultratool_infer import tooleval_ultratool_prompt_style_infer_cfgs
    from .tooleval_ultratool_rows import tooleval_ultratool_rows

tooleval_ultratool_prompt_style_rows = {
    f'{language}_{prompt_style}': [
        dict(
            row,
            prompt_style=prompt_style,
            infer_cfg=tooleval_ultratool_prompt_style_infer_cfgs[prompt_style],
            eval_cfg=dict(evaluator=dict(row['eval_cfg']['evaluator'], prompt_style=prompt_style)),  # type: ignore[index]
        )
        for row in tooleval_ultratool_rows[language][:6]
    ]
    for language in tooleval_ultratool_rows
    for prompt_style in tooleval_ultratool_prompt_style_infer_cfgs
}
