# Success rate of stored trajectories (EasyTool, Appendix B.1). The oracle model returns the stored answers; the judge
# is judge_cfg of the evaluator, or OC_JUDGE_MODEL, OC_JUDGE_API_KEY and OC_JUDGE_API_BASE.
from mmengine.config import read_base

from opencompass_tooleval.benchmarks.toolbench.task import (
    ToolEvalToolBenchSuccessEvaluator,
    ToolEvalToolBenchTrajectories,
)

with read_base():
    from opencompass_tooleval.benchmarks.toolbench.configs import (
        tooleval_toolbench_infer_cfg,
        tooleval_toolbench_reader_cfg,
    )

tooleval_toolbench_success_datasets = [
    dict(
        abbr='tooleval-toolbench-success',
        type=ToolEvalToolBenchTrajectories,
        path='data/toolbench/trajectories.jsonl',
        name='success',
        n=1,
        k=1,
        reader_cfg=tooleval_toolbench_reader_cfg,
        infer_cfg=tooleval_toolbench_infer_cfg,
        eval_cfg=dict(evaluator=dict(type=ToolEvalToolBenchSuccessEvaluator)),
    )
]
