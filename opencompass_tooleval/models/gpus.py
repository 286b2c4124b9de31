"""Checks that the GPUs that a run needs exist, before any request."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import takewhile

from mmengine.device import is_npu_available

_GPU = re.compile(r'\d+|(?:GPU|MIG)-[\w/-]+')


def visible_gpus() -> list[str]:
    """Returns the GPUs for tasks, as ``CUDA_VISIBLE_DEVICES`` names them: numbers, or UUIDs of GPUs and MIG instances.

    GPUs after an invalid one, such as -1, do not count, as in CUDA.
    """
    import torch

    device, variable = ('npu', 'ASCEND_RT') if is_npu_available() else ('cuda', 'CUDA')
    named = os.environ.get(f'{variable}_VISIBLE_DEVICES')
    if named is None:
        return list(map(str, range(getattr(torch, device).device_count())))
    names = (name.strip() for name in named.split(','))
    return list(dict.fromkeys(takewhile(_GPU.fullmatch, names)))


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
        f'{model}{others} needs {gpus} GPU{plural}, {visible} visible; set num_gpus=0 in its run_cfg (--gpus 0 of '
        'tooleval run, --hf-num-gpus 0 with --hf-path) to run it on the CPU, or take a model behind an API, as in '
        'models/tooleval_api.py'
    )
