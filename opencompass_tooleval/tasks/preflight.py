"""Checks a config before a sweep for faults that would stop it or its scoring: GPUs, keys, judges."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opencompass.models import OpenAI, OpenAISDK
from opencompass.registry import ICL_EVALUATORS, MODELS, RUNNERS
from opencompass.runners import LocalRunner
from opencompass.utils import dataset_abbr_from_cfg, model_abbr_from_cfg

from opencompass_tooleval.models.api.engine_nodes import lacking_nodes, nodes_of
from opencompass_tooleval.models.gpus import lacking_gpus
from opencompass_tooleval.models.literal_keys import other_models
from opencompass_tooleval.models.served_model import ToolEvalServed
from opencompass_tooleval.models.settings import budget_fault
from opencompass_tooleval.work_dir.causes import SET_KEY

_GIVES_NODES = 'SlurmArrayRunner'
"""The runner whose tasks get the nodes that their engines take."""

WILL_FAIL = ': scoring will fail: '

Pair = tuple[Mapping[str, Any], Mapping[str, Any]]
"""Configs of a model and of a data set."""


def scoring_faults(pairs: Iterable[Pair]) -> Iterator[tuple[str, str]]:
    """Yields data set and fault for requirements of scoring that are missing, such as a judge or an encoder.

    Args:
        pairs: Configs of the models and data sets to score.
    """
    for model_cfg, dataset_cfg in pairs:
        evaluator = dataset_cfg.get('eval_cfg', {}).get('evaluator') or {}
        if 'opencompass_tooleval.' not in str(evaluator.get('type')):
            continue  # evaluators of other packages may load a model when they are built
        try:
            built = ICL_EVALUATORS.build(evaluator)
            built.check_model(model_abbr_from_cfg(model_cfg))
            if built.judge_name() and (fault := budget_fault(model_cfg, built.judge_cfg)):
                raise ValueError(fault)
        except Exception as error:  # scoring will report the same error
            yield dataset_abbr_from_cfg(dataset_cfg), str(error)


def needs_judge(dataset_cfg: Mapping[str, Any]) -> bool:
    """Tests if the evaluator of a data set asks a judge, as soon as it has one."""
    evaluator = {**dataset_cfg['eval_cfg']['evaluator'], 'judge_cfg': {'type': '', 'abbr': 'judge'}}
    try:
        return bool(ICL_EVALUATORS.build(evaluator).judge_name())
    except Exception:  # it takes none, or lacks something else
        return False


def missing_key(cfg: Mapping[str, Any]) -> str:
    """Returns the fault and fix of an API model without a key; '' if it has one, or is not known to need one."""
    kind = cfg.get('type')
    kind = kind if isinstance(kind, type) else MODELS.get(str(kind))
    if not isinstance(kind, type) or not issubclass(kind, (OpenAI, OpenAISDK)) or issubclass(kind, ToolEvalServed):
        return ''  # this package sets the key of an engine that it starts
    key = cfg.get('key', 'ENV')
    if 'ENV' not in (key if isinstance(key, (list, tuple)) else [key]) or os.environ.get('OPENAI_API_KEY'):
        return ''
    return f'its key is read from $OPENAI_API_KEY, which is not set. Fix it with: {SET_KEY}'


def faults(runner: Any, asked: Iterable[Pair], scored: Iterable[Pair]) -> Iterator[str]:
    """Yields a line for each fault that would stop a sweep; a fault of several data sets once, with their number.

    Args:
        runner: ``type`` of the runner of the inference stage; the GPUs of a cluster are not those of this machine.
        asked: Models and data sets that still need answers.
        scored: Models and data sets that still need scores.
    """
    asked, models = list(asked), {}
    for model, _ in asked:
        models[model_abbr_from_cfg(model)] = model
    kind = runner if isinstance(runner, type) else RUNNERS.get(str(runner))
    if isinstance(kind, type) and issubclass(kind, LocalRunner):
        needed = {name: int(model.get('run_cfg', {}).get('num_gpus', 0)) for name, model in models.items()}
        if lacking := lacking_gpus(needed):
            yield lacking
    if str(getattr(runner, '__name__', runner)).rpartition('.')[2] != _GIVES_NODES:
        for name, model in models.items():
            if lacking := lacking_nodes(nodes_of(model)):
                yield f'{name}: {lacking}'
    others = {
        f'{role} {cfg.get("abbr", cfg.get("path", ""))}': cfg
        for role, cfg in other_models([dataset for _, dataset in asked])
        if isinstance(cfg, Mapping)
    }
    for name, cfg in {**models, **others}.items():
        if why := missing_key(cfg):
            yield f'{name}: {why}'
        if name in others and nodes_of(cfg) > 1 and not cfg.get('shared'):
            yield f'{name}: the task of its engine gets one node: leave out nodes, or share the engine (shared=True)'
    datasets: dict[str, dict[str, None]] = {}
    for dataset, why in scoring_faults(scored):
        datasets.setdefault(why, {})[dataset] = None
    for why, names in datasets.items():
        more = f' and {len(names) - 1} more' if len(names) > 1 else ''
        yield f'{next(iter(names))}{more}{WILL_FAIL}{why}'
