"""Checks that the GPUs that a run needs exist, before any request."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from pathlib import Path

from mmengine.device import is_npu_available
from opencompass.datasets.base import BaseDataset
from opencompass.utils import model_abbr_from_cfg

from opencompass_tooleval.core.errors import DataError
from opencompass_tooleval.work_dir.dumped_config import read_dumped


def visible_gpus() -> list[int]:
    """Returns the GPUs that OpenCompass's ``LocalRunner`` gives to tasks."""
    import torch

    device, variable = ('npu', 'ASCEND_RT') if is_npu_available() else ('cuda', 'CUDA')
    named = os.environ.get(f'{variable}_VISIBLE_DEVICES')
    if named is None:
        return list(range(getattr(torch, device).device_count()))
    return list(dict.fromkeys(map(int, re.findall(r'(?<!-)\d+', named))))


def lacking_gpus(needed: Mapping[str, int]) -> str:
    """Returns the model that cannot run here, and a fix; '' if all can.

    Args:
        needed: Abbr of a model -> GPUs of each of its tasks.
    """
    visible = len(visible_gpus()) if any(needed.values()) else 0
    lacking = {model: gpus for model, gpus in needed.items() if gpus > visible}
    if not lacking:
        return ''
    model, gpus = max(lacking.items(), key=lambda row: row[1])
    others = f' (and {len(lacking) - 1} more models)' if len(lacking) > 1 else ''
    plural = '' if gpus == 1 else 's'
    return (
        f'{model}{others} needs {gpus} GPU{plural}, {visible} visible; set num_gpus=0 in its run_cfg (--hf-num-gpus 0 '
        'with --hf-path) to run it on the CPU, or take a model behind an API, as in models/tooleval_api.py'
    )


def _dumped_models(arguments: Sequence[str]) -> Mapping[str, int]:
    """Returns models and GPUs of the run that this process starts, from the config that OpenCompass just wrote.

    None for another program, a run on a cluster, or a run without inference.
    """
    parser = ArgumentParser(add_help=False, exit_on_error=False)
    parser.add_argument('-w', '--work-dir', default='outputs/default')
    parser.add_argument('-m', '--mode', default='all')
    for elsewhere in ('--slurm', '--dlc', '--dry-run'):
        parser.add_argument(elsewhere, action='store_true')
    given, _ = parser.parse_known_args(arguments)
    if given.slurm or given.dlc or given.dry_run or given.mode not in ('all', 'infer'):
        return {}
    files = Path(given.work_dir).glob(f'*/configs/*_{os.getpid()}.py')
    latest = max(files, key=lambda file: file.stat().st_mtime, default=None)
    try:
        config = read_dumped(latest) if latest else {}
        models = [] if 'infer' in config else config.get('models', [])  # those with a custom runner are not checked
        return {model_abbr_from_cfg(model): int(model.get('run_cfg', {}).get('num_gpus', 0)) for model in models}
    except (DataError, AttributeError, KeyError, TypeError, ValueError):
        return {}


class ToolEvalDataset(BaseDataset):
    """Base of this package's data sets. Ends a run that OpenCompass's runner would end with a bare ``AssertionError``.

    In ``opencompass --hf-path MODEL --datasets ...`` the data sets are this package's only code before the first task.
    """

    def __init__(self, *arguments: object, **options: object) -> None:
        if lacking := lacking_gpus(_dumped_models(sys.argv[1:])):
            raise SystemExit(f'tooleval: {lacking}')
        super().__init__(*arguments, **options)
