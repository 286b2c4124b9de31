"""Imports the modules that tasks need once, in the process that forks tasks (``runners/fork_server.py``)."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

_OF_EVERY_TASK = (
    'opencompass.cli.main',
    'opencompass_tooleval.tasks.infer_task',
    'opencompass_tooleval.tasks.eval_task',
    'sentence_transformers',
    'jsonschema',
)


def preload(named: Iterable[str] = ()) -> None:
    """Imports the named modules and those that all tasks need. Errors are ignored: the task logs them when it imports.

    Args:
        named: Names of modules, from :func:`named_modules`.
    """
    # Otherwise PyTorch counts GPUs through CUDA, and forks cannot use CUDA after that.
    os.environ.setdefault('PYTORCH_NVML_BASED_CUDA_CHECK', '1')
    for module in (*_OF_EVERY_TASK, *named):
        try:
            import_module(module)
        except (Exception, SystemExit):
            logging.getLogger(__name__).debug('%s could not be imported beforehand', module, exc_info=True)
    gc.freeze()  # the garbage collector of each task skips objects that all tasks share


def named_modules(cfg: Any) -> list[str]:
    """Returns the modules of the classes that a task's config names."""
    return sorted(set(_modules(cfg)))


def _modules(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        named = value.get('type')
        if isinstance(named, str):
            module = named.rpartition('.')[0] if all(part.isidentifier() for part in named.split('.')) else ''
        else:
            module = getattr(named, '__module__', '')
        if module:
            yield module
        for item in value.values():
            yield from _modules(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _modules(item)
