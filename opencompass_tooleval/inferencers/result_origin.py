"""Identifies the answers and the scoring that a result was computed from, to compare with a run's present files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from inspect import isroutine, signature
from pathlib import Path
from typing import Any

from opencompass.registry import ICL_EVALUATORS
from opencompass.utils import model_abbr_from_cfg

from opencompass_tooleval.embedding.locate import ENV as ENCODER
from opencompass_tooleval.judging.judge import canonical, judge_cfg_from_env, judge_settings
from opencompass_tooleval.judging.judgement_files import JudgementFiles
from opencompass_tooleval.work_dir.stored import ANSWERS, SCORING, bytes_digest

_NOT_SCORING = ('num_gpus', 'dump_details')


def origin_of(files: Iterable[Path], model: Mapping[str, Any], dataset: Mapping[str, Any]) -> dict[str, str]:
    """Returns the digests that a result stores: those of its predictions and of its scoring.

    Args:
        files: The predictions, whole or shards.
        model: Config of the model.
        dataset: Config of the dataset.
    """
    return {ANSWERS: bytes_digest(files), SCORING: scoring_digest(model, dataset)}


def scoring_digest(model: Mapping[str, Any], dataset: Mapping[str, Any]) -> str:
    """Returns the SHA-256 of everything in a config that changes scores of given answers. Builds nothing.

    That is the evaluation's config, the model's postprocessor, the judge without its address, key and speed, the
    encoder (both also from the environment), the content of a file of judgements, and the benchmark's ``VERSION``.
    Classes and functions count by name, so that a config and its dumped copy have the same digest.
    """
    evaluation = dataset.get('eval_cfg') or {}
    evaluator = evaluation.get('evaluator') or {}
    kind = evaluator.get('type')
    kind = ICL_EVALUATORS.get(kind) if isinstance(kind, str) else kind
    parts = {
        'evaluation': _plain({name: value for name, value in evaluation.items() if name not in _NOT_SCORING}),
        'postprocessor': _plain(model.get('pred_postprocessor')),
        'version': _version(getattr(kind, '__module__', '')),
        'judgements': list(_judgements(evaluator.get('judgements'), model_abbr_from_cfg(model))),
    }
    if not evaluator.get('encoder') and _takes(kind, 'encoder'):
        parts['encoder'] = os.environ.get(ENCODER, '')
    if not evaluator.get('judgements') and not evaluator.get('judge_cfg') and _takes(kind, 'judge_cfg'):
        parts['judge'] = _plain({'judge_cfg': judge_cfg_from_env()})
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode('utf-8', 'surrogatepass')).hexdigest()


def _plain(value: Any, name: str = '') -> Any:
    """Converts a part of a config to JSON; judges keep only the settings that change their replies."""
    if name == 'type':
        return _name_of(value)
    if isinstance(value, Mapping):
        if name == 'judge_cfg' and 'type' in value:
            return judge_settings(value)
        return {str(key): _plain(content, str(key)) for key, content in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return canonical(value)


def _name_of(kind: Any) -> str:
    """Returns the name of a class or function: of this package's and OpenCompass's, which may move, without module."""
    # Not hasattr, which is true for every attribute of mmengine's lazy objects.
    is_object = isinstance(kind, type) or isroutine(kind)
    name = f'{kind.__module__}.{kind.__qualname__}' if is_object else str(kind)
    package, _, _ = name.partition('.')
    return name.rpartition('.')[2] if package in ('opencompass', 'opencompass_tooleval') else name


def _version(module: str) -> str:
    """Returns the ``VERSION`` of the nearest package around a module, or of its tables; ``''`` if it has none."""
    while module := module.rpartition('.')[0]:
        if version := getattr(getattr(package := import_module(module), 'tables', package), 'VERSION', None):
            return str(version)
    return ''


def _takes(kind: Any, parameter: str) -> bool:
    return isinstance(kind, type) and parameter in signature(kind).parameters


def _judgements(setting: Any, model: str) -> Iterator[str]:
    """Yields the digest of a model's file of judgements; nothing if there is none, which the evaluator reports."""
    if isinstance(setting, (str, Mapping)) and setting:
        try:
            file = JudgementFiles(setting).file_for(model)
        except ValueError:
            return
        if file.is_file():
            yield bytes_digest([file])
