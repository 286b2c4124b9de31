"""TODO."""

from __future__ import annotations

from mmengine.config import read_base
from opencompass.openicl.icl_retriever import ZeroRetriever

from opencompass_tooleval.benchmarks.ultratool.task import ToolEvalUltraToolDataset, ToolEvalUltraToolEvaluator
from opencompass_tooleval.inferencers import ToolEvalGenInferencer
from opencompass_tooleval.models import ToolEvalConversationTemplate

# UltraTool's data sets by language; configs select from them.


with read_base():
    from opencompass_tooleval.benchmarks.ultratool.tables import DEFAULT_PROMPT_STYLE, PROMPT_STYLES, SUBSETS

# Inference of UltraTool: one user message, the token limit of the prompt style (`open` by default), and the temperature
# of a named style. The published shell script ran open models at 0.7: set the inferencer's temperature.
tooleval_ultratool_reader_cfg = dict(input_columns=['messages'], output_column='record')

tooleval_ultratool_infer_cfg = dict(
    prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
    retriever=dict(type=ZeroRetriever),
    inferencer=dict(
        type=ToolEvalGenInferencer, published_max_out_len=PROMPT_STYLES[DEFAULT_PROMPT_STYLE]['max_out_len']
    ),
)

tooleval_ultratool_prompt_style_infer_cfgs = {
    prompt_style: dict(
        prompt_template=dict(type=ToolEvalConversationTemplate, template='{messages}'),
        retriever=dict(type=ZeroRetriever),
        inferencer=dict(
            type=ToolEvalGenInferencer,
            published_max_out_len=PROMPT_STYLES[prompt_style]['max_out_len'],
            temperature=PROMPT_STYLES[prompt_style]['temperature'],
        ),
    )
    for prompt_style in PROMPT_STYLES
}

# All rows of UltraTool, by language; configs select from them.
tooleval_ultratool_rows = {
    language: [
        dict(
            abbr=f'tooleval-ultratool-{subset["name"]}_{language}',
            type=ToolEvalUltraToolDataset,
            path='data/ultratool',
            name=subset['name'],
            language=language,
            n=1,
            k=1,
            reader_cfg=tooleval_ultratool_reader_cfg,
            infer_cfg=tooleval_ultratool_infer_cfg,
            eval_cfg=dict(evaluator=dict(type=ToolEvalUltraToolEvaluator, name=subset['name'], language=language)),
        )
        for subset in SUBSETS
    ]
    for language in ['zh', 'en']
}

# UltraTool's six tasks as the authors ran GPT (a system prompt, 4,096 tokens, list_choice='span') and open models (no
# system prompt, 512 tokens, list_choice='last'), at temperature 0, by language and prompt style.
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
