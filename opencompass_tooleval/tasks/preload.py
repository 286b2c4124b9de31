"""Imports the modules of every task once, in the process that forks tasks: ``runners/fork_server.py``."""

from __future__ import annotations

import gc
import logging
import os
from importlib import import_module

os.environ.setdefault('PYTORCH_NVML_BASED_CUDA_CHECK', '1')  # counting GPUs through CUDA itself forbids it in forks

try:
    from opencompass_tooleval import plugin

    for _module in plugin.MODULES:
        plugin.load(_module)
    for _name in ('opencompass.cli.main', 'sentence_transformers', 'jsonschema'):
        import_module(_name)
except Exception:  # the task raises the same error and logs it; a report here would not be read
    logging.getLogger(__name__).debug('not everything could be imported beforehand', exc_info=True)

gc.freeze()  # objects that all tasks share are not searched for cycles in each of them
