"""Registered objects of this package in OpenCompass."""

from __future__ import annotations

from typing import Any

from opencompass import registry

MODULES = (
    'agents.adapter',
    'agents.funcqa',
    'agents.judged_adapter',
    'instructions.adapter',
    'making.adapter',
    'benchmarks.funcqa.adapter',
    'benchmarks.restbench.adapter',
    'benchmarks.toolbench.adapter',
    'models.openai_model',
    'models.conversation',
    'tasks.eval_task',
    'models.fixed_models',
    'tasks.infer_task',
    'inferencers.inferencer',
    'models.local_chat',
    'runners.local_runner',
    'partitioner',
    'inferencers.dialogue_inferencer',
    'models.served_model',
    'runners.slurm.runner',
    'summarizers.summarizer',
    'benchmarks.teval.adapter',
    'benchmarks.ultratool.adapter',
)
"""Modules of this package that register objects or that configs name."""

REGISTERED = {
    'LOAD_DATASET': (
        'ToolEvalTEvalDataset',
        'ToolEvalUltraToolDataset',
        'ToolEvalTEvalEasyToolDataset',
        'ToolEvalTEvalFunctionCallingDataset',
        'ToolEvalUltraToolEasyToolDataset',
        'ToolEvalRestBenchDataset',
        'ToolEvalFuncQADataset',
        'ToolEvalToolBenchDataset',
        'ToolEvalToolBenchTrajectories',
        'ToolEvalAgentDataset',
        'ToolEvalMadeDataset',
    ),
    'ICL_EVALUATORS': (
        'ToolEvalTEvalEvaluator',
        'ToolEvalTEvalFunctionCallingEvaluator',
        'ToolEvalUltraToolEvaluator',
        'ToolEvalRestBenchEvaluator',
        'ToolEvalRestBenchCallsEvaluator',
        'ToolEvalFuncQAEvaluator',
        'ToolEvalToolBenchEvaluator',
        'ToolEvalToolBenchCallsEvaluator',
        'ToolEvalToolBenchSuccessEvaluator',
        'ToolEvalAgentEvaluator',
        'ToolEvalAgentJudgedEvaluator',
        'ToolEvalMadeEvaluator',
    ),
    'ICL_INFERENCERS': ('ToolEvalGenInferencer', 'ToolEvalDialogueGenInferencer'),
    'ICL_PROMPT_TEMPLATES': ('ToolEvalConversationTemplate',),
    'TEXT_POSTPROCESSORS': ('tooleval_teval_v1', 'tooleval_teval_v2', 'tooleval_teval_clean'),
    'PARTITIONERS': ('ToolEvalNumWorkerPartitioner', 'ToolEvalPartitioner'),
    'TASKS': ('ToolEvalInferTask', 'ToolEvalEvalTask'),
    'RUNNERS': ('SlurmArrayRunner', 'ToolEvalLocalRunner'),
    'MODELS': ('ReplayModel', 'OracleModel', 'ToolEvalOpenAI', 'ToolEvalServed', 'ToolEvalHFChat', 'ToolEvalVLLMChat'),
}
"""Registry -> names. OpenCompass overwrites names silently, so a test asserts that these were free."""


def snapshot() -> dict[str, dict[str, Any]]:
    """Returns the current content of OpenCompass's registries: registry -> name -> object."""
    return {name: dict(getattr(registry, name).module_dict) for name in REGISTERED}
