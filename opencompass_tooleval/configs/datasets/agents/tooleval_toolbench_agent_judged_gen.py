# ToolBench's queries, each loop, judged by ToolBench's rules: the solved rate comes after the scores without a judge;
# `judgement_kinds` may also name pass, win (with reference=...) and success. The judge is judge_cfg, or
# OC_JUDGE_MODEL, OC_JUDGE_API_KEY and OC_JUDGE_API_BASE. `opencompass ... -m eval -r TIME` judges an existing run.
from mmengine.config import read_base

from opencompass_tooleval.agents.judged_adapter import ToolEvalAgentJudgedEvaluator

with read_base():
    from opencompass_tooleval.agents.config_rows import tooleval_agent_rows

tooleval_toolbench_agent_judged_datasets = [row for row in tooleval_agent_rows if row['path'] == 'data/toolbench']
for _row in tooleval_toolbench_agent_judged_datasets:
    _row['eval_cfg'] = dict(
        evaluator=dict(
            type=ToolEvalAgentJudgedEvaluator, name=_row['name'], judgement_kinds=['solved'], judgements_per_answer=4
        )
    )
