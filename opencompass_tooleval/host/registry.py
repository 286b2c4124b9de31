"""What this package registers with OpenCompass."""

from __future__ import annotations

from typing import Any

from opencompass import registry

MODULES = (
    'agents.adapter',
    'agents.judged_adapter',
    'easytool.adapter',
    'easytool.funcqa.adapter',
    'easytool.restbench.adapter',
    'easytool.summarizer',
    'easytool.toolbench.adapter',
    'host.api_model',
    'host.conversation',
    'host.eval_task',
    'host.fixed_models',
    'host.infer_task',
    'host.inferencer',
    'host.local_chat',
    'host.local_runner',
    'host.partitioner',
    'host.rounds_inferencer',
    'host.served_model',
    'slurm.runner',
    'host.summarizer',
    'teval.adapter',
    'ultratool.adapter',
)
"""Modules of this package that register something or that configs name."""

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
    ),
    'ICL_INFERENCERS': ('ToolEvalGenInferencer', 'ToolEvalRoundsGenInferencer'),
    'ICL_PROMPT_TEMPLATES': ('ToolEvalConversationTemplate',),
    'TEXT_POSTPROCESSORS': ('tooleval_teval_v1', 'tooleval_teval_v2', 'tooleval_teval_clean'),
    'PARTITIONERS': ('ToolEvalNumWorkerPartitioner',),
    'TASKS': ('ToolEvalInferTask', 'ToolEvalEvalTask'),
    'RUNNERS': ('SlurmArrayRunner', 'ToolEvalLocalRunner'),
    'MODELS': ('ReplayModel', 'OracleModel', 'ToolEvalOpenAI', 'ToolEvalServed', 'ToolEvalHFChat', 'ToolEvalVLLMChat'),
}
"""Registry -> names. OpenCompass overwrites a name silently, so a test asserts that these were free."""


def snapshot() -> dict[str, dict[str, Any]]:
    """What OpenCompass's registries hold now: registry -> name -> object."""
    return {name: dict(getattr(registry, name).module_dict) for name in REGISTERED}
